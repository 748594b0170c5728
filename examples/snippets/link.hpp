// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Two connected queue pairs of emulated NICs for the snippets of RDMA: each snippet has its own pair.

#include <type_traits>

#include <xio/host/launch.hpp>
#include <xio/xio.hpp>

#include "../peers.hpp"
#include "check.hpp"

namespace snippets {

using Kit = xio::emulation::Mlx5Kit<>;
using Vendor = Kit::Vendor;

constexpr uint32_t piece_bytes = 64;
constexpr uint64_t piece_words = piece_bytes / sizeof(uint64_t);

/// A thread's data: `bytes` bytes at `offset` in the memory of both sides.
struct Part {
  uint32_t i;
  uint64_t offset;
  uint32_t bytes;
};
XIO_DEVICE Part part() {
  const uint32_t i = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  return {i, uint64_t{i} * piece_bytes, piece_bytes};
}

template <class V>
XIO_KERNEL void post_receives(xio::rdma::ReceiveQueueHandle handle, xio::Region memory, uint32_t count,
                              xio::Status* status) {
  using namespace xio;
  rdma::ReceiveQueue<V, Sharing::thread, Policy<Unasked>> receives(handle);
  for (uint32_t i = 0; i < count; ++i) {
    const Token token = receives.post(memory.at(uint64_t{i} * piece_bytes, piece_bytes), Now{});
    if (!token.submitted()) *status = token.status;
  }
}

template <class K = Kit>
class Link {
 public:
  static constexpr uint64_t bytes = 64 * 1024;

  /// Runs `kernel(handle, local, remote, status, more...)`.
  /// @return whether every thread has reported success
  template <class... More>
  bool run(uint32_t threads,
           void (*kernel)(xio::rdma::QueuePairHandle, xio::Region, xio::rdma::RemoteMemory, xio::Status*, More...),
           const std::enable_if_t<true, More>&... more) {
    status.assign(threads, xio::Status::not_ready);
    xio::rdma::QueuePairHandle handle = peers.queue.handle();
    // Two bytes at the end of the memory, for flush_inbound().
    handle.flush = {peers.local().base + bytes - 1, peers.remote().base + bytes - 1, peers.local().key,
                    peers.remote().rkey};
    xio::host::launch(executor, {1, threads}, kernel, handle, peers.local(), peers.remote(), status.data(), more...);
    bool good = true;
    for (const xio::Status one : status) good = good && one.is_ok();
    return good;
  }
  /// Posts receives of the peer, each of `piece_bytes`.
  bool receive(uint32_t count) {
    xio::Status how;
    xio::host::launch(executor, {1, 1}, post_receives<typename K::Vendor>, peers.peer.receive_handle(),
                      peers.peer_local(), count, &how);
    return how.is_ok();
  }

  uint64_t* near() { return reinterpret_cast<uint64_t*>(peers.near.data()); }
  uint64_t* far() { return reinterpret_cast<uint64_t*>(peers.far.data()); }

  example::Peers<K> peers{bytes};
  xio::host::Executor executor;
  std::vector<xio::Status> status;
};

/// Checks a kernel that moves this side's first `words` words to the peer, which has posted `receives` receives.
template <class K = Kit, class... More>
void check_put(const char* snippet, uint64_t words, uint32_t threads, uint32_t receives,
               void (*kernel)(xio::rdma::QueuePairHandle, xio::Region, xio::rdma::RemoteMemory, xio::Status*, More...),
               const std::enable_if_t<true, More>&... more) {
  Link<K> link;
  fill(link.near(), words, 0);
  const bool posted = link.receive(receives);
  const bool good = link.run(threads, kernel, more...);
  check(snippet, posted && good && holds(link.far(), words, 0));
}

/// Checks a kernel that fetches the peer's first `words` words.
template <class K = Kit, class... More>
void check_get(const char* snippet, uint64_t words, uint32_t threads,
               void (*kernel)(xio::rdma::QueuePairHandle, xio::Region, xio::rdma::RemoteMemory, xio::Status*, More...),
               const std::enable_if_t<true, More>&... more) {
  Link<K> link;
  fill(link.far(), words, 0);
  const bool good = link.run(threads, kernel, more...);
  check(snippet, good && holds(link.near(), words, 0));
}

}  // namespace snippets
