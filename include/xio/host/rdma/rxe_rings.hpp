// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Location of soft-RoCE queues: the memory that the driver has mapped into this process, checked to be a queue.
/// Needs no verbs.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/files.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/rxe/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// One mapping of a device file in this process.
struct DeviceMapping {
  uintptr_t address = 0;  ///< of the first byte
  size_t bytes = 0;       ///< whole pages
  uint64_t offset = 0;    ///< in the device file; the driver assigns a new offset to each mapping
};

/// Parses a text in the format of /proc/self/maps, and returns the mappings of the file `path`, ordered by their
/// offset.
inline std::vector<DeviceMapping> parse_mappings(const std::string& maps, const std::string& path) {
  std::vector<DeviceMapping> found;
  for (const std::string& line : pieces_of(maps, "\n")) {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    int name_at = 0;
    // first-last permissions offset device inode name
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end, &offset,
                    &name_at) != 3 ||
        name_at == 0 || end <= begin || line.compare(static_cast<size_t>(name_at), std::string::npos, path) != 0)
      continue;
    found.push_back({static_cast<uintptr_t>(begin), static_cast<size_t>(end - begin), offset});
  }
  std::sort(found.begin(), found.end(),
            [](const DeviceMapping& a, const DeviceMapping& b) { return a.offset < b.offset; });
  return found;
}

/// A queue shared with the driver: header, then entries.
///
/// One entry stays empty, so that a full queue differs from an empty one: at most `capacity()` entries are in use.
/// Indices are masked. User space writes the producer index of the send and receive queues, and the consumer index of
/// the completion queue; the driver keeps its own copy of the other index, and publishes it here.
struct RxeRing {
  rxe::QueueHeader* header = nullptr;  ///< start of the memory
  unsigned char* entries = nullptr;    ///< the first entry
  uint32_t entry_bytes = 0;            ///< distance between entries; a power of two
  uint32_t count = 0;                  ///< entries; a power of two
  size_t bytes = 0;                    ///< of the whole memory

  uint32_t mask() const { return count - 1; }
  uint32_t capacity() const { return count - 1; }
  unsigned char* entry(uint32_t index) const { return entries + size_t{index & mask()} * entry_bytes; }
  uint32_t producer() const { return __atomic_load_n(&header->producer_index, __ATOMIC_ACQUIRE) & mask(); }
  uint32_t consumer() const { return __atomic_load_n(&header->consumer_index, __ATOMIC_ACQUIRE) & mask(); }
  /// Number of entries stored and not yet consumed.
  uint32_t used() const { return (producer() - consumer()) & mask(); }
};

/// Reads the header and checks it against the size of the memory; throws Error if it cannot be a queue.
/// @param least_entry_bytes  minimum size of an entry
/// @param what               name for messages
inline RxeRing check_ring(const DeviceMapping& mapping, size_t least_entry_bytes, const std::string& what) {
  const std::string where = "rxe: the memory at " + to_hex(mapping.address) + " is no " + what + ": ";
  if (mapping.bytes < sizeof(rxe::QueueHeader))
    throw Error(where + std::to_string(mapping.bytes) + " bytes are too few for a header");
  auto* header = reinterpret_cast<rxe::QueueHeader*>(mapping.address);
  const uint32_t shift = __atomic_load_n(&header->log2_entry_bytes, __ATOMIC_ACQUIRE);
  const uint32_t mask = __atomic_load_n(&header->index_mask, __ATOMIC_ACQUIRE);
  if (shift > 20 || (size_t{1} << shift) < least_entry_bytes)
    throw Error(where + "its entries have 2^" + std::to_string(shift) + " bytes, " + std::to_string(least_entry_bytes) +
                " are needed");
  const uint64_t count = uint64_t{mask} + 1;
  if (count < 2 || (count & mask) != 0) throw Error(where + "the mask of its indices is " + to_hex(mask));
  if (count > ((mapping.bytes - sizeof(rxe::QueueHeader)) >> shift))
    throw Error(where + std::to_string(count) + " entries of 2^" + std::to_string(shift) + " bytes do not fit into " +
                std::to_string(mapping.bytes));

  RxeRing ring;
  ring.header = header;
  ring.entries = reinterpret_cast<unsigned char*>(mapping.address) + sizeof(rxe::QueueHeader);
  ring.entry_bytes = 1u << shift;
  ring.count = static_cast<uint32_t>(count);
  ring.bytes = mapping.bytes;
  const uint32_t producer = __atomic_load_n(&header->producer_index, __ATOMIC_ACQUIRE);
  const uint32_t consumer = __atomic_load_n(&header->consumer_index, __ATOMIC_ACQUIRE);
  if (producer > mask || consumer > mask)
    throw Error(where + "its indices are " + std::to_string(producer) + " and " + std::to_string(consumer) + " of " +
                std::to_string(count));
  return ring;
}

namespace detail {

/// Path of an open file as it appears in /proc/self/maps.
inline std::string path_of_descriptor(int fd) {
  std::string path = link_target("/proc/self/fd/" + std::to_string(fd));
  if (path.empty())
    throw Error("rxe: cannot find the device file of descriptor " + std::to_string(fd) + "; is /proc mounted?");
  return path;
}

inline std::vector<DeviceMapping> mappings_of(const std::string& path) {
  const std::optional<std::string> maps = contents_of("/proc/self/maps");
  if (!maps) throw Error("rxe: cannot read /proc/self/maps; is /proc mounted?");
  return parse_mappings(*maps, path);
}

/// Returns the mappings in `after` that are not in `before`.
inline std::vector<DeviceMapping> added_mappings(const std::vector<DeviceMapping>& before,
                                                 const std::vector<DeviceMapping>& after) {
  std::vector<DeviceMapping> added;
  for (const DeviceMapping& mapping : after) {
    const bool known = std::any_of(before.begin(), before.end(), [&](const DeviceMapping& old) {
      return old.address == mapping.address && old.offset == mapping.offset;
    });
    if (!known) added.push_back(mapping);
  }
  return added;
}

/// Calls make() and returns its result, and the mappings of the device file made meanwhile, ordered by offset.
///
/// libibverbs does not report where a provider maps its queues. Calls of this function exclude each other; other code
/// of the process must not create queues on the same device concurrently.
template <class Make>
auto with_new_mappings(int fd, size_t expected, const std::string& what, Make&& make) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const std::string path = path_of_descriptor(fd);
  const std::vector<DeviceMapping> before = mappings_of(path);
  auto made = make();
  std::vector<DeviceMapping> added = added_mappings(before, mappings_of(path));
  if (added.size() != expected)
    throw Error("rxe: " + what + " added " + std::to_string(added.size()) + " mappings of " + path + " and not " +
                std::to_string(expected) + "; has another thread made queues on this device at the same time?");
  return std::make_pair(std::move(made), std::move(added));
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
