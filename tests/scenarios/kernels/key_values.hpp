// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels that store values under keys, and ask for what must fail.

#include <xio/device/nvme/kv_queue.hpp>
#include <xio/vendors/nvme/status.hpp>

#include <scenarios/kernels/nvme.hpp>

namespace scenarios {

/// Whether an operation has ended as the device reports a status.
XIO_DEVICE bool ended_with(xio::Status status, xio::Status::Code code, uint32_t device) {
  return status == code && (status.vendor & 0x7ff) == device;
}

/// Each thread stores, retrieves, lists and deletes keys of its own, beside those of others; each status of the command
/// set is met.
template <xio::Sharing S, class Policy = xio::Policy<>>
XIO_DEVICE void keys(const NvmeJob& job) {
  using namespace xio;
  namespace kv = nvme::kv;
  namespace code = nvme::sc;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  kv::Queue<S, Policy> queue(own_queue<S>(job));
  const Region data{job.bus, uint64_t{job.lanes} * thread_bytes};
  const uint64_t at = self * thread_bytes;
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t* const in = out + block_words;
  const uint32_t bytes = job.words * 8;
  const auto expect = [&](Status status, Status::Code wanted, uint32_t device, uint32_t where) {
    // What has failed, as it should, has not failed here.
    const bool right = ended_with(status, wanted, device);
    count(job.report, right ? Status() : status, right, where);
  };
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    const kv::Key key = kv::Key::of(stamp);
    const Deadline limit = queue.deadline(Duration{job.patience_ns});
    const auto ends = [&](const Token& token) { return queue.wait(token, limit); };
    const auto new_only = kv::option::must_not_exist;
    fill(out, stamp, job.words);
    queue.publish_payload();
    expect(ends(queue.exist(key, limit)), Status::unwritten, code::key_does_not_exist, 60);
    count(job.report, ends(queue.submit(kv::store(key, bytes, new_only), data.at(at, bytes), limit)), true, 61);
    expect(ends(queue.submit(kv::store(key, bytes, new_only), data.at(at, bytes), limit)), Status::conflict,
           code::key_exists, 62);
    hold_in_cache(out[block_words - 1], in[0]);
    uint32_t whole = 0;
    const Token token = queue.retrieve(key, data.at(at + block_bytes, block_bytes), limit);
    Status status = queue.wait(token, limit, whole);
    // A table that was used again no longer has the size.
    const bool known = status.is_ok() && whole == bytes;
    if (status == Status::expired) status = ends(token);
    count(job.report, status, (known || whole == 0) && holds(in, stamp, job.words), 63);
    expect(ends(queue.store(key, data.at(at, longest_value + 4), limit)), Status::invalid_command,
           code::invalid_value_size, 64);
    expect(ends(queue.exist(kv::Key::of(stamp, stamp), limit)), Status::invalid_command, code::invalid_key_size, 65);
    expect(ends(queue.retrieve(key, data.at(at + block_bytes, unreadable_bytes), limit)), Status::read_error,
           code::unrecovered_error, 66);
    count(job.report, ends(queue.exist(key, limit)), true, 67);
    status = ends(queue.list(key, data.at(at + block_bytes, 64), limit));
    kv::KeyList list(in, 64);
    kv::Key first;
    count(job.report, status, list.next(first) && first == key, 68);
    count(job.report, ends(queue.remove(key, limit)), true, 69);
    expect(ends(queue.remove(key, limit)), Status::unwritten, code::key_does_not_exist, 70);
    expect(ends(queue.retrieve(key, data.at(at + block_bytes, bytes), limit)), Status::unwritten,
           code::key_does_not_exist, 71);
    count(job.report,
          queue.retrieve(kv::Key{}, data.at(at, bytes), limit).status == Status::invalid_argument
              ? Status()
              : Status(Status::device_error),
          true, 72);
  }
}

}  // namespace scenarios
