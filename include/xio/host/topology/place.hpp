// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Place of a device in the machine, and the distance between two devices: by PCI hierarchy, then by NUMA node.

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Parses a list of numbers in kernel format: `0-3,8,10-11`. Sorted; empty if the text is malformed.
inline std::vector<uint32_t> parse_number_list(const std::string& text) {
  std::vector<uint32_t> all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t dash = part.find('-');
    const std::optional<uint64_t> first = parse_number(part.substr(0, dash));
    const std::optional<uint64_t> last = dash == std::string::npos ? first : parse_number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 0xfffff) return {};
    for (uint64_t i = *first; i <= *last; ++i) all.push_back(static_cast<uint32_t>(i));
    at = end + 1;
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The NUMA nodes of a machine, from sysfs.
struct NumaNodes {
  struct Node {
    std::vector<uint32_t> cpus;
    std::map<uint32_t, uint32_t> distances;  ///< to each node, including itself; 10 is local
  };
  std::map<uint32_t, Node> nodes;

  /// Reads the nodes; there are none if the kernel was built without NUMA support.
  static NumaNodes read(const std::string& sysfs) {
    NumaNodes all;
    const std::string folder = sysfs + "/devices/system/node";
    const std::vector<uint32_t> online = parse_number_list(detail::first_word(folder + "/online"));
    for (const uint32_t number : online) {
      const std::string of_node = folder + "/node" + std::to_string(number);
      Node& node = all.nodes[number];
      node.cpus = parse_number_list(detail::first_word(of_node + "/cpulist"));
      // One distance per online node, in ascending order of node numbers.
      const std::string distances = detail::contents_of(of_node + "/distance").value_or(std::string());
      size_t at = 0;
      for (const std::string& word : pieces_of(distances, detail::blanks)) {
        const std::optional<uint64_t> distance = parse_number(word);
        if (at == online.size() || !distance) break;
        node.distances[online[at++]] = static_cast<uint32_t>(*distance);
      }
    }
    return all;
  }

  /// Returns `node` if firmware reports it, else the only node of a single-node machine, else -1.
  int resolve(int node) const {
    if (node >= 0) return node;
    return nodes.size() == 1 ? static_cast<int>(nodes.begin()->first) : -1;
  }
  /// Distance between two nodes; 0 if unknown.
  uint32_t distance(int from, int to) const {
    const auto node = nodes.find(static_cast<uint32_t>(from));
    if (from < 0 || to < 0 || node == nodes.end()) return 0;
    const auto found = node->second.distances.find(static_cast<uint32_t>(to));
    return found == node->second.distances.end() ? 0 : found->second;
  }
};

/// Place of a device or CPU in the machine. CPUs have no path.
struct Place {
  std::vector<std::string> path;  ///< host bridge, bridges and switch ports, the function itself
  std::string slot;               ///< address prefix common to all functions of a device, including virtual ones
  int numa_node = -1;             ///< -1: unknown
  bool removable = false;         ///< behind an external port such as Thunderbolt
};

/// Determines the place of a PCI function from its path in sysfs.
inline Place place_of(const PciFunction& pci, const NumaNodes& numa) {
  Place place;
  const std::string physical = pci.physical_function();
  const std::string own = physical.empty() ? pci.address() : physical;
  place.slot = own.substr(0, own.rfind('.'));
  place.numa_node = pci.numa_node();
  // The host bridge is the first directory of the form pci0000:00; a volume management device has another one below.
  for (const std::string& name : pieces_of(pci.real_path(), "/")) {
    const bool bridge = name.compare(0, 3, "pci") == 0 && name.find(':') != std::string::npos;
    if (!bridge && place.path.empty()) continue;
    place.path.push_back(name);
    const PciFunction on_the_way = pci.sibling(name);
    if (on_the_way.attribute("removable") == "removable") place.removable = true;
    if (pci.numa_node() < 0 && on_the_way.numa_node() >= 0) place.numa_node = on_the_way.numa_node();
  }
  if (place.path.empty()) place.path.push_back(pci.address());
  place.numa_node = numa.resolve(place.numa_node);
  return place;
}

/// Place of the usable CPUs: their NUMA node, if they share one.
inline Place place_of_processors(const std::vector<uint32_t>& usable, const NumaNodes& numa) {
  Place place;
  uint32_t found = 0;
  for (const auto& [number, node] : numa.nodes) {
    const bool here = std::any_of(usable.begin(), usable.end(), [&cpus = node.cpus](uint32_t cpu) {
      return std::binary_search(cpus.begin(), cpus.end(), cpu);
    });
    if (!here) continue;
    ++found;
    place.numa_node = static_cast<int>(number);
  }
  if (found != 1) place.numa_node = -1;
  return place;
}

/// CPUs in the calling thread's affinity mask.
inline std::vector<uint32_t> usable_processors() {
  // More than any kernel is configured for: sched_getaffinity() rejects a smaller set.
  std::vector<cpu_set_t> sets(8192 / CPU_SETSIZE);
  std::vector<uint32_t> all;
  if (::sched_getaffinity(0, sets.size() * sizeof(cpu_set_t), sets.data()) != 0) return all;
  for (uint32_t cpu = 0; cpu < 8192; ++cpu)
    if (CPU_ISSET_S(cpu, sets.size() * sizeof(cpu_set_t), sets.data())) all.push_back(cpu);
  return all;
}

/// Closest common level of two places, nearest first.
enum class Proximity : uint8_t {
  same_device,       ///< functions of one device
  same_switch,       ///< below one PCIe switch or port: peer-to-peer traffic stays below it
  same_host_bridge,  ///< below one host bridge
  same_node,         ///< same NUMA node, different host bridges
  unknown,           ///< no common bridge, and a NUMA node is unknown
  other_node         ///< traffic crosses sockets, or parts of a socket
};

/// Distance between two places.
struct Distance {
  Proximity proximity = Proximity::unknown;
  uint32_t node_distance = 0;  ///< from the firmware's NUMA distance table, 10 is local; 0: unknown
  uint32_t hops = 0;           ///< PCI links between the two, through their common ancestor; 0: unknown

  friend bool operator<(const Distance& a, const Distance& b) {
    return std::tie(a.proximity, a.node_distance, a.hops) < std::tie(b.proximity, b.node_distance, b.hops);
  }
  friend bool operator==(const Distance& a, const Distance& b) { return !(a < b) && !(b < a); }
};

/// Computes the distance between two places. Symmetric unless the firmware's NUMA distance table is not.
inline Distance distance(const Place& a, const Place& b, const NumaNodes& numa) {
  Distance result;
  if (a.numa_node >= 0 && b.numa_node >= 0) {
    result.node_distance = numa.distance(a.numa_node, b.numa_node);
    result.proximity = a.numa_node == b.numa_node ? Proximity::same_node : Proximity::other_node;
  }
  const size_t shorter = std::min(a.path.size(), b.path.size());
  size_t common = 0;
  while (common < shorter && a.path[common] == b.path[common]) ++common;
  result.hops = static_cast<uint32_t>(a.path.size() + b.path.size() - 2 * common);
  if (!a.slot.empty() && a.slot == b.slot) {
    result.proximity = Proximity::same_device;
    result.hops = 0;
  } else if (common > 1) {
    result.proximity = Proximity::same_switch;
  } else if (common == 1) {
    result.proximity = Proximity::same_host_bridge;
  }
  return result;
}

/// Human-readable description of a distance: "below one PCIe switch or port, 4 hops".
inline std::string describe(const Distance& one) {
  const std::string hops = ", " + std::to_string(one.hops) + (one.hops == 1 ? " hop" : " hops");
  switch (one.proximity) {
    case Proximity::same_device: return "the same device";
    case Proximity::same_switch: return "below one PCIe switch or port" + hops;
    case Proximity::same_host_bridge: return "below one host bridge" + hops;
    case Proximity::same_node: return "the same NUMA node";
    case Proximity::other_node:
      return "another NUMA node" +
             (one.node_distance == 0 ? std::string() : ", distance " + std::to_string(one.node_distance));
    default: return "nothing in common that this machine reports";
  }
}

/// Machine-readable name of a proximity: "same_switch".
inline const char* name_of(Proximity proximity) {
  switch (proximity) {
    case Proximity::same_device: return "same_device";
    case Proximity::same_switch: return "same_switch";
    case Proximity::same_host_bridge: return "same_host_bridge";
    case Proximity::same_node: return "same_node";
    case Proximity::other_node: return "other_node";
    default: return "unknown";
  }
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
