// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Data that a peer needs about a queue pair, and about memory, to communicate.

#include <type_traits>

#include <xio/config.hpp>
#include <xio/device/rdma/memory.hpp>
#include <xio/host/rdma/gid.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Connection data of a queue pair: exchange it with the peer through an Exchange, then connect.
struct QueuePairAddress {
  uint32_t qpn = 0;  ///< queue pair number
  uint32_t psn = 0;  ///< first packet sequence number that this side sends
  uint32_t mtu = 0;  ///< maximum packet payload in bytes: 256 to 4096
  uint32_t lid = 0;  ///< local identifier (InfiniBand); 0 on Ethernet
  Gid gid{};         ///< address of the port
};
static_assert(sizeof(QueuePairAddress) == 32 && std::is_trivially_copyable<QueuePairAddress>::value,
              "swapped between processes as it is");

/// Flags of remote memory.
namespace remote_memory_flag {
constexpr uint32_t no_atomics = 1;  ///< atomics on the memory must not be attempted
}  // namespace remote_memory_flag

/// Memory that a peer may access.
struct PeerMemory {
  uint64_t address = 0;  ///< virtual address at its owner
  uint64_t bytes = 0;    ///< length
  uint32_t rkey = 0;     ///< remote key
  uint32_t flags = 0;    ///< remote_memory_flag
};
static_assert(sizeof(PeerMemory) == 24 && std::is_trivially_copyable<PeerMemory>::value,
              "swapped between processes as it is");

/// Converts local memory, as kernels describe it, for a peer.
inline PeerMemory for_peers(const rdma::RemoteMemory& memory) {
  return {memory.base, memory.length, memory.rkey, memory.atomics ? 0 : remote_memory_flag::no_atomics};
}

/// Converts a peer's memory to the form that kernels use.
inline rdma::RemoteMemory in_kernels(const PeerMemory& memory) {
  return {memory.address, memory.bytes, memory.rkey, (memory.flags & remote_memory_flag::no_atomics) == 0};
}

}  // namespace host

XIO_NAMESPACE_END
