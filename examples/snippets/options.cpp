// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: policies of a queue, and the options of a call.

#include <xio/device/nvme/zone_writer.hpp>

#include "drive.hpp"

using namespace xio;

namespace snippets::option_calls {

//! [Policy]
using Quick = Policy<Unchecked, Deferred<16>>;  // trusts its caller; announces 16 commands at a time, or by ring()
using QuickQueue = nvme::Queue<Sharing::wave, Quick>;
//! [Policy]

//! [derived_policy]
struct Patient : Policy<Notify> {
  static constexpr uint32_t most_doorbells = 32;  // hides a member of Policy<>
};
using PatientQueue = nvme::Queue<Sharing::grid, Patient>;
//! [derived_policy]

//! [tags]
using Late = Policy<Placed<Memory::host, Memory::device>>;  // completions in host memory, data in the GPU's
using Shadow = Policy<WriteThrough, RingBy<ShadowDoorbell>>;
//! [tags]

//! [in_gpu_memory]
using NearQueue = nvme::Queue<Sharing::grid, Policy<InGpuMemory>>;  // refuses to post unless all lies in GPU memory
//! [in_gpu_memory]

template <class Queue>
XIO_KERNEL void read_by(nvme::QueueHandle handle, Region data, Status* status) {
  const auto [i, lba, offset, bytes] = mine();
  Queue queue(handle);
  const Deadline until = queue.deadline(5_s);
  status[i] = queue.wait(queue.read(lba, data.at(offset, bytes), until), until);
}

XIO_KERNEL void notify(nvme::QueueHandle handle, Region data, Status* status, Notification* ended) {
  const auto [i, lba, offset, bytes] = mine();
  const Deadline until = deadline(5_s);
  //! [notify]
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  const Token token = queue.read(lba, data.at(offset, bytes), until, Options().notify(*ended));
  // The thread that consumes the completion counts it in ended->done: no thread needs to wait for the token.
  //! [notify]
  status[i] = queue.wait(token, until);
}

XIO_KERNEL void notification(nvme::QueueHandle handle, Region data, Status* status, Notification* ended) {
  const uint32_t bytes = block_bytes;
  const uint64_t reads = 16;
  nvme::Queue<Sharing::thread, Policy<Notify>> queue(handle);
  const Deadline until = queue.deadline(5_s);
  for (uint64_t lba = 0; lba < reads; ++lba)
    if (!queue.read(lba, data.at(lba * bytes, bytes), until, Options().notify(*ended)).submitted()) return;
  if (!queue.fence(until).is_ok()) return;
  //! [Notification]
  Status how = wait_until(&ended->done, reads, until);  // also in another kernel, or on the CPU
  if (how.is_ok() && ended->failed != 0) how = Status::device_error;
  //! [Notification]
  *status = how;
}

XIO_KERNEL void counted(nvme::QueueHandle handle, Region data, Status* status, Notification* ended) {
  const auto [i, lba, offset, bytes] = mine();
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  const Deadline until = queue.deadline(5_s);
  (void)queue.read(lba, data.at(offset, bytes), until, Options().notify(*ended));
  const uint64_t reads = arch::grid_size() * arch::block_size();
  //! [wait_count]
  status[i] = queue.wait_count(*ended, reads, until);  // the reads of all threads; no thread keeps a token
  //! [wait_count]
}

XIO_KERNEL void keep(nvme::QueueHandle handle, Region data, Status* status, KeptResult* kept) {
  const auto [i, lba, offset, bytes] = mine();
  const Deadline until = deadline(5_s);
  //! [keep]
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  const Token token = queue.submit(nvme::zone_append(lba, 1), data.at(offset, bytes), until, Options().keep(kept[i]));
  status[i] = queue.wait(token, until);  // by any thread, at any time; then kept[i].result is the block written
  //! [keep]
}

XIO_KERNEL void zones(nvme::QueueHandle handle, Region data, Status* status, KeptResult* kept, nvme::ZoneRange* range) {
  const auto [i, lba, offset, bytes] = mine();
  const Deadline until = deadline(5_s);
  //! [zone_writer]
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  nvme::ZoneWriter writer(*range);  // first block, blocks of a zone, zones: set by the host
  uint64_t place = 0;
  status[i] = writer.append(queue, data.at(offset, bytes), until, kept[i], place);
  //! [zone_writer]
  if (place != 0) status[i] = Status(Status::out_of_range);  // the emulated controller has no zones, and tells 0
}

XIO_KERNEL void measure(nvme::QueueHandle handle, Region data, Status* status, telemetry::Steps* total) {
  const uint32_t bytes = block_bytes;
  nvme::Queue<Sharing::thread> queue(handle);
  Status how;
  //! [measure]
  telemetry::Steps steps;  // in registers
  for (uint64_t lba = 0; lba < 64 && how.is_ok(); ++lba) {
    const Deadline until = queue.deadline(5_s);
    const Token token = queue.read(lba, data.at(lba * bytes, bytes), until, Options().measure(steps));
    how = queue.wait(token, until, Options().measure(steps));
  }
  *total = steps;  // clock ticks and occurrences of telemetry::Step::enqueue, sq_doorbell, cq_poll and others
  //! [measure]
  *status = how;
}

void all() {
  Drive drive;
  drive.check_read("Policy", 64, 64, read_by<QuickQueue>);
  drive.check_read("derived_policy", 64, 64, read_by<PatientQueue>);
  drive.check_read("tags", 64, 64, read_by<nvme::Queue<Sharing::grid, Late>>);
  drive.check_read("tags", 64, 64, read_by<nvme::Queue<Sharing::grid, Policy<WriteThrough>>>);
  static_assert(IsSame<Shadow::Doorbell, ShadowDoorbell>::value);

  auto* const notifications = drive.more<Notification>(3);
  drive.check_read("notify", 64, 64, notify, drive.executor.address(notifications));
  check("notify", notifications[0].done == (64 ^ damage) && notifications[0].failed == 0);
  drive.check_read("Notification", 16, 1, notification, drive.executor.address(notifications + 1));
  drive.check_read("wait_count", 64, 64, counted, drive.executor.address(notifications + 2));
  auto* const kept = drive.more<KeptResult>(64);
  check("keep", drive.run(64, keep, drive.executor.address(kept)));
  for (uint32_t i = 0; i < 64; ++i) check("keep", kept[i].ended == (KeptResult::has_ended ^ damage));
  auto* const range = drive.more<nvme::ZoneRange>(1);
  *range = {free_blocks, 64, 4, damage ? 4u : 0u};
  check("zone_writer", drive.run(64, zones, drive.executor.address(kept), drive.executor.address(range)));
  auto* const steps = drive.more<telemetry::Steps>(1);
  drive.check_read("measure", 64, 1, measure, drive.executor.address(steps));
  check("measure", steps->times[static_cast<uint32_t>(telemetry::Step::sq_doorbell)] >= 64);
}

const Program program("options", all);

}  // namespace snippets::option_calls
