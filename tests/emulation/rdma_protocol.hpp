// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Common parts of the RDMA queue protocol tests: two connected queue pairs of one vendor, with memory.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/rdma/nic.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"
#include "emulation/rdma_vendors.hpp"

namespace Catch {
/// Failed checks print a status by name.
template <>
struct StringMaker<xio::Status> {
  static std::string convert(xio::Status status) {
    return std::string(xio::name(status.code)) + " (" + std::to_string(status.vendor) + ")";
  }
};
}  // namespace Catch

namespace rdma_tests {

using namespace protocol_tests;  // patience, checks inside kernels
using xio::Region;
using xio::emulation::RdmaFabric;
using xio::emulation::RdmaNic;
using xio::emulation::RdmaOutcome;
using xio::emulation::RdmaQueueConfig;
using xio::emulation::RdmaQueuePair;
using xio::rdma::QueuePair;
using xio::rdma::QueuePairHandle;
using xio::rdma::Received;
using xio::rdma::RemoteMemory;

template <class Kit, Sharing S = Sharing::thread, class Policy = xio::Policy<>>
using Sends = QueuePair<typename Kit::Vendor, S, Policy>;
template <class Kit, Sharing S = Sharing::thread, class Policy = xio::Policy<>>
using Receives = xio::rdma::ReceiveQueue<typename Kit::Vendor, S, Policy>;

/// Runs passes of the NIC until it is idle.
inline void settle(RdmaNic& nic) {
  uint32_t idle = 0;
  while (idle < 20) idle = nic.pass() ? 0 : idle + 1;
}

/// A requester and a responder, each with a queue pair of vendor `Kit` and registered memory.
template <class Kit>
class RdmaRig {
 public:
  explicit RdmaRig(const RdmaQueueConfig& config = Kit::config(), size_t bytes = size_t{1} << 18)
      : near_bytes(bytes, 0x11),
        far_bytes(bytes, 0x22),
        near(fabric, number(config, 0x101)),
        far(fabric, number(config, 0x202)) {
    near.model().connect(far.config().qpn);
    far.model().connect(near.config().qpn);
    nic.add(near.model());
    nic.add(far.model());
    const uint32_t near_key = fabric.keys().add(near_bytes.data(), near_bytes.size());
    const uint32_t far_key = fabric.keys().add(far_bytes.data(), far_bytes.size());
    local = {reinterpret_cast<uint64_t>(near_bytes.data()), near_bytes.size(), near_key};
    remote = {reinterpret_cast<uint64_t>(far_bytes.data()), far_bytes.size(), far_key};
    far_local = {remote.base, remote.length, remote.rkey};
  }
  ~RdmaRig() { nic.stop(); }

  /// Starts the NIC on its own thread.
  RdmaRig& running() {
    nic.start();
    return *this;
  }
  /// Puts the `number`-th 64 bytes.
  template <class Queue, class Until = xio::Now>
  Token put(Queue& qp, uint64_t number = 0, Until until = {}) const {
    return qp.put(remote.at(64 * number, 64), local.at(64 * number, 64), until);
  }
  /// A write to the beginning of the remote memory that asks for no completion, and its data.
  xio::rdma::Work unsignaled(uint64_t at = 0) const {
    xio::rdma::Work work;
    work.remote = remote.base + at;
    work.rkey = remote.rkey;
    return work;
  }
  xio::rdma::Work signaled(uint64_t at = 0) const {
    xio::rdma::Work work = unsignaled(at);
    work.flags = xio::rdma::work_flag::signaled;
    return work;
  }
  xio::rdma::OneSge piece(uint64_t at = 0, uint32_t bytes = 64) const { return {{local.base + at, bytes, local.key}}; }
  /// Violations of the NIC's interface as one text; empty if there are none.
  std::string violations() {
    std::string all;
    for (const std::string& one : near.model().statistics().violations) all += one + "; ";
    for (const std::string& one : far.model().statistics().violations) all += one + "; ";
    return all;
  }

  std::vector<unsigned char> near_bytes;
  std::vector<unsigned char> far_bytes;
  RdmaFabric fabric;
  RdmaNic nic;
  RdmaQueuePair<Kit> near;
  RdmaQueuePair<Kit> far;
  Region local;
  RemoteMemory remote;
  Region far_local;  ///< `remote`, as its owner names it

 private:
  static RdmaQueueConfig number(RdmaQueueConfig config, uint32_t qpn) {
    config.qpn = qpn;
    if (config.handle != 0) config.handle = qpn + 0x1000;
    return config;
  }
};

/// Deadline for events that have already happened.
inline Deadline shortly() { return xio::deadline(3_ms); }

}  // namespace rdma_tests
