// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Selection of the NVMe controller or NIC that is nearest to a GPU, based on sysfs.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/topology/devices.hpp>
#include <xio/host/topology/place.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Result of a selection by distance.
struct Nearest {
  const MachineDevice* device;
  const MachineDevice* origin;  ///< the nearest GPU; null: the CPUs
  Distance distance;
  std::string why;  ///< human-readable: origin, distance, and the distance of the runner-up
};

/// Snapshot of the devices of a machine.
class Topology {
 public:
  /// @param sysfs       root of sysfs
  /// @param processors  numbers of the usable CPUs
  explicit Topology(const std::string& sysfs = "/sys", const std::vector<uint32_t>& processors = usable_processors())
      : numa_(NumaNodes::read(sysfs)),
        devices_(machine_devices(sysfs, numa_)),
        processors_(place_of_processors(processors, numa_)) {}

  const std::vector<MachineDevice>& devices() const { return devices_; }
  std::vector<const MachineDevice*> devices(DeviceKind kind) const {
    std::vector<const MachineDevice*> some;
    for (const MachineDevice& one : devices_)
      if (one.kind == kind) some.push_back(&one);
    return some;
  }
  const NumaNodes& numa() const { return numa_; }
  /// Place of the usable CPUs; the NUMA node is known if they share one.
  const Place& processors() const { return processors_; }

  /// Distance from a GPU, or from the CPUs if `origin` is null.
  Distance distance_to(const MachineDevice* origin, const MachineDevice& device) const {
    return distance(origin == nullptr ? processors_ : origin->place, device.place, numa_);
  }

  /// Returns the candidate nearest to any GPU, or to the CPUs if there is no GPU; the first one of equally near ones.
  /// Empty if there are no candidates.
  /// @param candidates  devices of this object
  std::optional<Nearest> nearest(const std::vector<const MachineDevice*>& candidates) const {
    std::vector<const MachineDevice*> origins = devices(DeviceKind::gpu);
    if (origins.empty()) origins.push_back(nullptr);
    std::vector<Nearest> ranking;
    for (const MachineDevice* candidate : candidates) ranking.push_back(best_origin(*candidate, origins));
    if (ranking.empty()) return std::nullopt;
    std::sort(ranking.begin(), ranking.end(), [](const Nearest& a, const Nearest& b) {
      return a.distance < b.distance || (a.distance == b.distance && std::less<>()(a.device, b.device));
    });
    ranking.front().why = reason(ranking);
    return ranking.front();
  }

 private:
  Nearest best_origin(const MachineDevice& device, const std::vector<const MachineDevice*>& origins) const {
    Nearest best{&device, origins.front(), distance_to(origins.front(), device), {}};
    for (const MachineDevice* origin : origins) {
      const Distance here = distance_to(origin, device);
      if (here < best.distance) best = {&device, origin, here, {}};
    }
    return best;
  }

  std::string name_of_origin(const MachineDevice* origin) const {
    if (origin != nullptr) return "GPU " + origin->label();
    if (processors_.numa_node >= 0) return "the processors (NUMA node " + std::to_string(processors_.numa_node) + ")";
    return "the processors (of several NUMA nodes, or of one that is not known)";
  }

  std::string reason(const std::vector<Nearest>& ranking) const {
    const Nearest& first = ranking.front();
    std::string text =
        first.device->label() + " with " + name_of_origin(first.origin) + ": " + describe(first.distance);
    if (ranking.size() == 1) return text + "; there is no other";
    const Nearest& second = ranking[1];
    if (first.distance == second.distance) {
      const auto as_near = std::count_if(ranking.begin(), ranking.end(),
                                         [&first](const Nearest& one) { return one.distance == first.distance; });
      return text + "; the first of " + std::to_string(as_near) + " that are as near";
    }
    return text + "; the next one, " + second.device->label() +
           (second.origin == first.origin ? std::string() : " with " + name_of_origin(second.origin)) + ": " +
           describe(second.distance);
  }

  NumaNodes numa_;
  std::vector<MachineDevice> devices_;
  Place processors_;
};

}  // namespace host

XIO_NAMESPACE_END
