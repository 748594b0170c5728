// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A message through queue pairs of every vendor, in whichever source includes this.

#include <cstring>
#include <string>
#include <vector>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/rdma/nic.hpp>

namespace two_vendors {

/// Sends a message and puts a value; returns the vendor's name where both arrived, else what went wrong.
template <class Kit>
std::string exchange() {
  using Vendor = typename Kit::Vendor;
  const auto numbered = [](uint32_t qpn) {
    xio::emulation::RdmaQueueConfig config = Kit::config();
    config.qpn = qpn;
    if (config.handle != 0) config.handle = qpn + 0x1000;
    return config;
  };
  xio::emulation::RdmaFabric fabric;
  xio::emulation::RdmaQueuePair<Kit> near(fabric, numbered(1));
  xio::emulation::RdmaQueuePair<Kit> far(fabric, numbered(2));
  near.model().connect(2);
  far.model().connect(1);
  unsigned char sent[64], got[128] = {};
  std::memset(sent, 0x5a, sizeof sent);
  const xio::Region from{reinterpret_cast<uint64_t>(sent), sizeof sent, fabric.keys().add(sent, sizeof sent)};
  const uint32_t key = fabric.keys().add(got, sizeof got);
  const xio::Region to{reinterpret_cast<uint64_t>(got), sizeof got, key};
  const xio::rdma::RemoteMemory there{to.base, sizeof got, key};

  xio::rdma::ReceiveQueue<Vendor, xio::Sharing::thread> receives(far.receive_handle());
  xio::rdma::QueuePair<Vendor, xio::Sharing::thread> queue(near.handle());
  const xio::Deadline until = queue.deadline(xio::Duration{10000000000});
  const xio::Token receive = receives.post(to.at(0, 64), xio::Now{});
  const xio::Token send = queue.send(from.at(0, 64), until);
  const xio::Token put = queue.put(there.at(64, 64), from.at(0, 64), until);
  while (near.model().pass() || far.model().pass()) {
  }
  if (!queue.wait(send, until).is_ok() || !queue.wait(put, until).is_ok()) return "an operation failed";
  const xio::rdma::Received received = receives.wait(receive, until);
  if (!received.status.is_ok() || received.bytes != 64) return "the receive failed";
  if (std::memcmp(got, sent, 64) != 0 || std::memcmp(got + 64, sent, 64) != 0) return "wrong data";
  return Vendor::name;
}

/// exchange() for all vendors.
inline std::vector<std::string> exchange_all() {
  std::vector<std::string> names;
  xio::emulation::for_each_kit([&names](auto kit) { names.push_back(exchange<decltype(kit)>()); });
  return names;
}

}  // namespace two_vendors
