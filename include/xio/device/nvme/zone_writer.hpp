// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Zone after zone filled by Zone Append: a helper for zoned namespaces.
///
/// @snippet options.cpp zone_writer

#include <xio/device/nvme/queue.hpp>
#include <xio/vendors/nvme/status.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Zones that kernels fill one after the other. Plain data in memory that all writers access; the host sets it, and may
/// read it when no kernel runs.
struct ZoneRange {
  uint64_t first_lba;    ///< first block of the first zone
  uint64_t zone_blocks;  ///< zone size: distance of zones, in blocks
  uint32_t zones;        ///< number of zones
  uint32_t current;      ///< zone that is being filled, from 0; `zones`: all are full
};

/// Appends to the zones of a ZoneRange. Any number of lanes, waves and queues may append to one range at the same time;
/// each has its own ZoneWriter.
class ZoneWriter {
 public:
  /// @param range  accessible to the kernel at this address
  XIO_HOST_DEVICE explicit ZoneWriter(ZoneRange& range) : range_(range) {}

  /// Appends all of `from`, whole blocks, to the current zone, and waits. If the zone has no room for it, is full,
  /// read-only or offline, the range goes on to the next zone, and this append too; blocks that are left stay unused.
  ///
  /// @param queue  of the namespace, with a policy with Notify
  /// @param kept   memory that all lanes of the queue access (of the GPU or of the host), for this append alone: it
  ///               belongs to the queue until append() returns another status than Status::timed_out
  /// @param lba    on success the block from which on the data was written
  /// @return Status::capacity if no zone is left; other statuses as of Queue::submit() and Queue::wait(). After
  ///         Status::timed_out the data may have been written, and `kept` tells later
  /// @snippet options.cpp zone_writer
  template <class Queue>
  XIO_DEVICE Status append(Queue& queue, const RegionSpan& from, Deadline until, KeptResult& kept, uint64_t& lba) {
    for (;;) {
      uint32_t zone = arch::load<arch::Scope::system>(&range_.current);
      if (zone >= range_.zones) return Status(Status::capacity);
      const Status status = append_to(queue, zone, from, until, kept);
      if (status.is_ok()) {
        lba = arch::load<arch::Scope::system>(&kept.result);
        return status;
      }
      if (!is_used_up(status)) return status;
      // Of the writers that find this zone used up, one goes on to the next zone for all.
      (void)arch::compare_exchange<arch::Scope::system>(&range_.current, zone, zone + 1);
    }
  }

 private:
  template <class Queue>
  XIO_DEVICE Status append_to(Queue& queue, uint32_t zone, const RegionSpan& from, Deadline until, KeptResult& kept) {
    kept = {};
    const uint32_t blocks = from.length >> queue.handle().block_shift;
    const Token token = queue.submit(zone_append(range_.first_lba + zone * range_.zone_blocks, blocks), from, until,
                                     Options<>().keep(kept));
    Status status = queue.wait(token, until);
    if (!(status == Status::expired)) return status;
    // More appends have failed since than the queue has on record, as they do where many lanes meet a full zone.
    const uint64_t word = arch::observe<arch::Scope::system>(&kept.ended);
    if ((word & KeptResult::has_ended) == 0) return status;
    return CompletionFormat::decode(static_cast<uint16_t>(word & Notification::device_status));
  }

  XIO_DEVICE static bool is_used_up(Status status) {
    const uint32_t code = status.vendor & 0x7ff;
    return status == Status::zone_error && (code == sc::zone_boundary_error || code == sc::zone_is_full ||
                                            code == sc::zone_is_read_only || code == sc::zone_is_offline);
  }

  ZoneRange& range_;
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
