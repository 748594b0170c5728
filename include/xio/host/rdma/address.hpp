// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What one side must know of the other's queue pair, and memory, to talk to it.

#include <type_traits>

#include <xio/config.hpp>
#include <xio/device/rdma/memory.hpp>
#include <xio/host/rdma/gid.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// A queue pair as its peer sees it: trade it by an Exchange, then connect.
struct QueuePairAddress {
  uint32_t qpn = 0;  ///< queue pair number
  uint32_t psn = 0;  ///< first packet sequence number that it sends
  uint32_t mtu = 0;  ///< bytes of a packet's payload, at most: 256 to 4096
  uint32_t lid = 0;  ///< local identifier (InfiniBand); 0 on Ethernet
  Gid gid{};         ///< address of its port
};
static_assert(sizeof(QueuePairAddress) == 32 && std::is_trivially_copyable<QueuePairAddress>::value,
              "swapped between processes as it is");

/// What a peer must know of memory.
namespace remote_memory_flag {
constexpr uint32_t no_atomics = 1;  ///< atomics on it must not be tried
}  // namespace remote_memory_flag

/// Memory that a peer may use.
struct PeerMemory {
  uint64_t address = 0;  ///< virtual address at its owner
  uint64_t bytes = 0;    ///< length
  uint32_t rkey = 0;     ///< remote key
  uint32_t flags = 0;    ///< remote_memory_flag
};
static_assert(sizeof(PeerMemory) == 24 && std::is_trivially_copyable<PeerMemory>::value,
              "swapped between processes as it is");

/// Memory of ours, which kernels name so, for a peer.
inline PeerMemory for_peers(const rdma::RemoteMemory& memory) {
  return {memory.base, memory.length, memory.rkey, memory.atomics ? 0 : remote_memory_flag::no_atomics};
}

/// Memory of a peer as kernels name it.
inline rdma::RemoteMemory in_kernels(const PeerMemory& memory) {
  return {memory.address, memory.bytes, memory.rkey, (memory.flags & remote_memory_flag::no_atomics) == 0};
}

}  // namespace host

XIO_NAMESPACE_END
