// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Two connected emulated NICs, each with registered memory: the set-up of the RDMA examples.

#include <vector>

#include <xio/host/emulation/rdma/nic.hpp>

namespace example {

template <class Kit>
struct Peers {
  /// `memory`: registered instead of memory that the object allocates.
  explicit Peers(size_t bytes, unsigned char* memory = nullptr)
      : near(memory ? 0 : bytes), far(bytes), bytes_(bytes), memory_(memory ? memory : near.data()) {
    queue.model().connect(peer.config().qpn);
    peer.model().connect(queue.config().qpn);
    nic.add(queue.model());
    nic.add(peer.model());
    near_key_ = fabric.keys().add(memory_, bytes);
    far_key_ = fabric.keys().add(far.data(), bytes);
    nic.start();
  }
  ~Peers() { nic.stop(); }

  xio::Region local() const { return {reinterpret_cast<uint64_t>(memory_), bytes_, near_key_}; }
  xio::rdma::RemoteMemory remote() const { return {reinterpret_cast<uint64_t>(far.data()), bytes_, far_key_}; }

  /// The peer's buffer as local memory of the opposite direction.
  xio::Region peer_local() const { return {remote().base, bytes_, far_key_}; }
  xio::rdma::RemoteMemory peer_remote() const { return {local().base, bytes_, near_key_}; }

  std::vector<unsigned char> near;
  std::vector<unsigned char> far;
  xio::emulation::RdmaFabric fabric;
  xio::emulation::RdmaNic nic;
  xio::emulation::RdmaQueuePair<Kit> queue{fabric, numbered(0x101)};
  xio::emulation::RdmaQueuePair<Kit> peer{fabric, numbered(0x202)};

 private:
  static xio::emulation::RdmaQueueConfig numbered(uint32_t qpn) {
    xio::emulation::RdmaQueueConfig config = Kit::config();
    config.qpn = qpn;
    if (config.handle != 0) config.handle = qpn;
    return config;
  }

  size_t bytes_;
  unsigned char* memory_;
  uint32_t near_key_ = 0;
  uint32_t far_key_ = 0;
};

}  // namespace example
