// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host gives to the machine's kernels, and what it gets back.

#include <xio/device/nvme/drive_set.hpp>
#include <xio/device/nvme/queue.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>

namespace machine_kernels {

/// How operations ended; all threads add to it.
struct Report {
  uint64_t good;      ///< ended ok, and the data was right
  uint64_t failed;    ///< ended with another status
  uint64_t wrong;     ///< ended ok with wrong data, or told something that cannot be
  uint32_t statuses;  ///< the first failure: code | vendor << 16
  uint32_t where;     ///< what the kernel was at when the first failure came
  uint64_t posted;    ///< receives
  uint64_t late;      ///< of `failed`: deadlines that passed
  uint64_t told;      ///< calls of quiet() that told of an error
};

/// One thread's blocks: 512 bytes that it writes from, 512 that it reads into.
constexpr uint64_t thread_bytes = 1024;
constexpr uint32_t block_words = 64;

/// Lanes of each wave that post where nobody waits: many waves, and few operations.
constexpr uint32_t posting_lanes = 3;

/// Where a case has bad blocks, most are: more fail than the log has room for.
XIO_HOST_DEVICE constexpr bool is_bad(uint64_t lba) { return lba % 7 != 3; }
/// Dword 0 of the completion of what begins at this block, where a case has answers.
XIO_HOST_DEVICE constexpr uint64_t answer_of(uint64_t lba) { return lba + 1; }

/// Blocks of 512 bytes. Thread i has blocks i + k * lanes of the namespace for itself.
struct NvmeJob {
  const xio::nvme::QueueHandle* queues;  ///< one, or as many as threads (Sharing::thread)
  uint64_t bus;                          ///< of `data`
  uint64_t* data;                        ///< thread_bytes for each thread
  Report* report;
  const xio::nvme::Piece* pieces;
  xio::Notification* notifications;  ///< one for each thread, zero
  xio::KeptResult* kept;             ///< one for each thread
  uint32_t lanes;                    ///< threads that take part
  uint32_t rounds;
  uint32_t count;  ///< pieces of a batch, tokens of a thread, drives of a set
  uint32_t words;  ///< of a block that are filled and compared, at most block_words
  uint64_t patience_ns;
};

struct RdmaJob {
  xio::rdma::QueuePairHandle handle;
  xio::rdma::ReceiveQueueHandle receive;  ///< of the peer
  xio::rdma::RemoteMemory remote;
  xio::Region local;  ///< thread_bytes for each thread
  uint64_t* data;     ///< the same as `local`
  xio::Region inbox;  ///< of the peer: thread_bytes for each thread
  uint64_t* inbox_data;
  Report* report;
  const xio::rdma::Piece* pieces;  ///< `count` to write for each wave; then as many to read
  uint32_t lanes;
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

XIO_DEVICE void fill(uint64_t* block, uint64_t stamp, uint32_t words) {
  for (uint32_t i = 0; i < words; ++i) block[i] = word_of(stamp, i);
}

XIO_DEVICE bool holds(const uint64_t* block, uint64_t stamp, uint32_t words) {
  bool right = true;
  for (uint32_t i = 0; i < words; ++i) right = right && block[i] == word_of(stamp, i);
  return right;
}

}  // namespace machine_kernels
