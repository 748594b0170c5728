// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Input and output of the scenarios' kernels.

#include <xio/device/nvme/drive_set.hpp>
#include <xio/device/nvme/queue.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>

namespace scenarios {

/// Whether cases count rounds in the peer's memory: ERNIC stands for devices without atomics.
template <class Vendor>
constexpr bool has_atomics = !xio::IsSame<Vendor, xio::ernic::Vendor>::value;

/// Outcome of operations, summed over all threads.
struct Report {
  uint64_t good;      ///< ended ok, with correct data
  uint64_t failed;    ///< ended with another status
  uint64_t wrong;     ///< ended ok with wrong data, or with an impossible report
  uint32_t statuses;  ///< the first failure: code | vendor << 16
  uint32_t where;     ///< the kernel's step at the first failure
  uint64_t late;      ///< part of `failed`: missed deadlines
  uint64_t told;      ///< calls of quiet() that reported an error
};

/// One thread's blocks: 512 bytes that it writes from, 512 that it reads into.
constexpr uint64_t thread_bytes = 1024;
constexpr uint32_t block_words = 64;
constexpr uint32_t block_bytes = 512;

/// Failures of cases in which one wave fails and others look on.
constexpr uint32_t watched_failures = 16;

/// Lanes per wave that post in cases without waits: many waves with few operations.
constexpr uint32_t posting_lanes = 3;
/// The same in cases whose operations fail, and in those that compare the data of other waves.
constexpr uint32_t failing_lanes = 2;
constexpr uint32_t comparing_lanes = 8;
/// The same in cases that ask late.
constexpr uint32_t late_lanes = 4;

/// Operations of a thread in one round of cases with keys, whose namespace has these longest keys and values, in bytes.
constexpr uint32_t key_operations = 13;
constexpr uint32_t longest_key = 8;
constexpr uint32_t longest_value = 256;
/// Retrieves into so many bytes end with Unrecovered Error.
constexpr uint32_t unreadable_bytes = 68;

/// Bad blocks of cases that have them: most are bad, so that more operations fail than fit in the log.
XIO_HOST_DEVICE constexpr bool is_bad(uint64_t lba) { return lba % 7 != 3; }
/// Dword 0 of the completion of a command that starts at this block, in cases with `answers`.
XIO_HOST_DEVICE constexpr uint64_t answer_of(uint64_t lba) { return lba + 1; }

/// The host's answer to the end of an operation that it saw in its memory.
struct alignas(64) Answer {
  uint64_t ends;    ///< operations answered; stored last
  uint64_t value;   ///< result of the last operation that kept it
  uint64_t failed;  ///< Notification::failed when the last notification was seen
};

/// What a thread tells the wave before its own.
struct alignas(64) Turn {
  uint64_t step;    ///< stored last
  uint64_t ticket;  ///< of the operation to wait for
};

/// Devices whose completions overwrite one entry.
struct Mlx5Collapsed : xio::mlx5::Options {
  static constexpr bool collapsed = true;
};
struct IonicCollapsed : xio::ionic::Options {
  static constexpr bool collapsed = true;
};

/// Blocks of 512 bytes. Thread i owns the blocks i + k * lanes of the namespace.
struct NvmeJob {
  const xio::nvme::QueueHandle* queues;  ///< one, or as many as threads (Sharing::thread)
  uint64_t bus;                          ///< bus address of `data`
  uint64_t* data;                        ///< thread_bytes for each thread
  Report* report;
  const xio::nvme::Piece* pieces;
  xio::Notification* notifications;  ///< three per thread, zero
  xio::KeptResult* kept;             ///< one for each thread and round
  Answer* answers;                   ///< one per thread
  Turn* turns;                       ///< one per thread, zero
  uint32_t lanes;                    ///< threads that take part
  uint32_t rounds;
  uint32_t count;  ///< pieces of a batch, blocks of a command, drives of a set, entries of a log for all failures
  uint32_t words;  ///< words of a block that are filled and compared, at most block_words
  uint64_t patience_ns;
};

struct RdmaJob {
  xio::rdma::QueuePairHandle handle;
  xio::rdma::ReceiveQueueHandle receive;         ///< of the peer
  xio::rdma::QueuePairHandle peer;               ///< the peer's queue pair
  xio::rdma::ReceiveQueueHandle peers_messages;  ///< where the peer's messages arrive
  xio::rdma::RemoteMemory remote;
  xio::Region local;  ///< thread_bytes for each thread
  uint64_t* data;     ///< the same as `local`
  xio::Region inbox;  ///< of the peer: thread_bytes for each thread
  uint64_t* inbox_data;
  Report* report;
  Turn* turns;                     ///< one per thread, zero
  const xio::rdma::Piece* pieces;  ///< `count` to write for each wave; then as many to read
  uint32_t lanes;
  uint32_t senders;  ///< lanes that send messages to the others; 0: the host sends
  uint32_t rounds;
  uint32_t words;
  uint32_t count;
  uint64_t patience_ns;
};

XIO_DEVICE uint32_t thread_number() {
  return xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
}

XIO_DEVICE uint64_t word_of(uint64_t stamp, uint32_t index) {
  const uint64_t mixed = (stamp + 1) * 0x9e3779b97f4a7c15u + index;
  return mixed ^ mixed >> 29;
}

/// Adds one operation to the report.
XIO_DEVICE void count(Report* report, xio::Status status, bool right, uint32_t where) {
  using xio::arch::Scope;
  if (status.is_ok() && right) {
    xio::arch::fetch_add<Scope::system>(&report->good, uint64_t{1});
    return;
  }
  if (status == xio::Status::timed_out) xio::arch::fetch_add<Scope::system>(&report->late, uint64_t{1});
  const uint64_t before =
      xio::arch::fetch_add<Scope::system>(status.is_ok() ? &report->wrong : &report->failed, uint64_t{1});
  if (before != 0) return;
  xio::arch::store<Scope::system>(&report->statuses, xio::protocol::pack(status));
  xio::arch::store<Scope::system>(&report->where, where);
}

/// Loads words that a device may store at any time, so that from here on a cache may hold what they are now: a load
/// that a later completion must not be answered from. ThreadSanitizer would call that a race.
template <class... Words>
XIO_DEVICE void hold_in_cache(uint64_t& kept, const Words&... words) {
  if constexpr (!XIO_TSAN) kept = (words + ...);
}

XIO_DEVICE void fill(uint64_t* block, uint64_t stamp, uint32_t words) {
  for (uint32_t i = 0; i < words; ++i) block[i] = word_of(stamp, i);
}

XIO_DEVICE bool holds(const uint64_t* block, uint64_t stamp, uint32_t words) {
  bool right = true;
  for (uint32_t i = 0; i < words; ++i) right = right && block[i] == word_of(stamp, i);
  return right;
}

}  // namespace scenarios
