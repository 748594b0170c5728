// SPDX-License-Identifier: MIT
#include "tester/cli/nearest.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>

namespace tester {

namespace {

using Json = nlohmann::ordered_json;
using xio::host::DeviceKind;
using xio::host::Distance;
using xio::host::MachineDevice;
using xio::host::Topology;

constexpr const char* vfio = "vfio:";

std::string node_text(int node) { return node < 0 ? "NUMA node not known" : "NUMA node " + std::to_string(node); }

Json place_json(const MachineDevice& device, const Topology& topology) {
  Json json = {{"address", device.address}, {"driver", device.driver}, {"names", device.names}};
  if (device.kind == DeviceKind::nic) json["interfaces"] = device.nets;
  json["numa_node"] = device.place.numa_node < 0 ? Json(nullptr) : Json(device.place.numa_node);
  json["path"] = device.place.path;
  json["virtual_function"] = device.is_virtual_function;
  json["removable"] = device.place.removable;
  if (device.kind == DeviceKind::gpu) return json;
  json["distances"] = Json::array();
  for (const MachineDevice* gpu : topology.devices(DeviceKind::gpu)) {
    const Distance distance = topology.distance_to(gpu, device);
    json["distances"].push_back({{"gpu", gpu->address},
                                 {"proximity", name_of(distance.proximity)},
                                 {"hops", distance.hops},
                                 {"node_distance", distance.node_distance}});
  }
  return json;
}

/// "NUMA node 0; with GPU 0000:03:00.0: below one host bridge, 4 hops".
std::string place_text(const MachineDevice& device, const Topology& topology) {
  std::string text = node_text(device.place.numa_node);
  if (device.is_virtual_function) text += ", virtual function";
  if (device.place.removable) text += ", behind a removable connection";
  if (device.kind == DeviceKind::gpu || topology.devices(DeviceKind::gpu).empty()) return text;
  const auto near = topology.nearest({&device});
  return text + "; with GPU " + near->origin->label() + ": " + describe(near->distance);
}

Json other_json(const MachineDevice& device, const Topology& topology) {
  Json json = place_json(device, topology);
  std::string text = device.driver.empty() ? "no driver" : device.driver;
  for (const std::string& net : device.nets) text += ", " + net;
  json["description"] = text + "; " + place_text(device, topology);
  return json;
}

std::string title_of(const Json& device) {
  std::string names;
  for (const Json& name : device["names"]) names += (names.empty() ? "" : ", ") + name.get<std::string>();
  const std::string address = device["address"];
  if (names.empty() || address.empty()) return names + address;
  return address + " (" + names + ")";
}

std::vector<const MachineDevice*> those(const Topology& topology, DeviceKind kind, bool named) {
  std::vector<const MachineDevice*> all = topology.devices(kind);
  all.erase(
      std::remove_if(all.begin(), all.end(), [named](const MachineDevice* one) { return named && one->names.empty(); }),
      all.end());
  return all;
}

void add_nearest(Json& json, const char* what, const std::optional<xio::host::Nearest>& nearest) {
  if (nearest) json[what] = {{"device", nearest->device->label()}, {"why", nearest->why}};
}

}  // namespace

Choice choose_controller(const Topology& topology) {
  std::vector<const MachineDevice*> offered;
  for (const MachineDevice* one : topology.devices(DeviceKind::nvme))
    if (one->driver == "vfio-pci") offered.push_back(one);
  const auto nearest = topology.nearest(offered);
  if (!nearest) return {};
  return {vfio + nearest->device->address, nearest->why};
}

Choice choose_rdma_device(const Topology& topology, const std::string& sysfs) {
  std::vector<const MachineDevice*> offered;
  for (const MachineDevice* one : topology.devices(DeviceKind::nic)) {
    if (one->driver != "rdma_rxe") continue;
    const std::string state =
        xio::host::detail::first_word(sysfs + "/class/infiniband/" + one->names.front() + "/ports/1/state");
    if (state == "4:") offered.push_back(one);
  }
  const auto nearest = topology.nearest(offered);
  if (!nearest) return {};
  return {nearest->device->names.front(), nearest->why};
}

void announce(const std::string& flag, const Choice& choice) {
  std::fprintf(stderr, "xio-tester: %s %s is taken: %s\n", flag.c_str(), choice.name.c_str(), choice.why.c_str());
}

void add_places(Json& list, const Topology& topology) {
  for (Json& controller : list["controllers"]) {
    const std::string spec = controller["controller"];
    for (const MachineDevice* one : topology.devices(DeviceKind::nvme)) {
      if (spec != vfio + one->address) continue;
      controller["description"] = controller["description"].get<std::string>() + "; " + place_text(*one, topology);
      controller["place"] = place_json(*one, topology);
    }
  }
  list["gpus"] = Json::array();
  for (const MachineDevice* one : topology.devices(DeviceKind::gpu)) list["gpus"].push_back(other_json(*one, topology));
  list["nics"] = Json::array();
  for (const MachineDevice* one : topology.devices(DeviceKind::nic)) list["nics"].push_back(other_json(*one, topology));
  list["nearest"] = Json::object();
  add_nearest(list["nearest"], "controller", topology.nearest(those(topology, DeviceKind::nvme, false)));
  // Only NICs with verbs.
  add_nearest(list["nearest"], "nic", topology.nearest(those(topology, DeviceKind::nic, true)));
}

void print_places(const Json& list) {
  for (const auto& [key, title] : {std::pair<const char*, const char*>{"gpus", "GPU"}, {"nics", "NIC"}})
    for (const Json& one : list[key])
      std::printf("%s %s  %s\n", title, title_of(one).c_str(), one["description"].get<std::string>().c_str());
  for (const auto& [key, title] :
       {std::pair<const char*, const char*>{"controller", "nearest controller"}, {"nic", "nearest NIC with verbs"}})
    if (list["nearest"].contains(key))
      std::printf("%s: %s\n", title, list["nearest"][key]["why"].get<std::string>().c_str());
}

}  // namespace tester
