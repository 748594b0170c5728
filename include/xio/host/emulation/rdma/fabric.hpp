// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What connects emulated NICs of one process: queue pairs find each other by number.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/memory_keys.hpp>
#include <xio/host/emulation/rdma/types.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// A request on its way to the other side.
struct RdmaRequest {
  RdmaOperation operation = RdmaOperation::nop;
  uint32_t source_qpn = 0;
  uint64_t remote = 0;
  uint32_t rkey = 0;
  uint32_t immediate = 0;
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  bool solicited = false;
  const std::vector<uint8_t>* data = nullptr;  ///< of writes and sends
  std::vector<uint8_t>* answer = nullptr;      ///< of reads and atomics; its size says how much is asked for
};

/// A queue pair as its peer sees it.
class RdmaPeer {
 public:
  virtual ~RdmaPeer() = default;
  /// Executes a request; called under the fabric's lock, unless the peer is far.
  virtual RdmaOutcome answer(const RdmaRequest& request) = 0;
  /// Whether it is in another process, which may be asking us at the same time.
  virtual bool is_far() const { return false; }
};

/// The wire between emulated NICs, and the memory that they share. Usable from several threads at once.
class RdmaFabric {
 public:
  MemoryKeys& keys() { return keys_; }

  void add(uint32_t qpn, RdmaPeer* peer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!peers_.emplace(qpn, peer).second)
      throw host::Error("RdmaFabric: queue pair " + std::to_string(qpn) + " exists; give each a number of its own");
  }
  void remove(uint32_t qpn) {
    const std::lock_guard<std::mutex> lock(mutex_);
    peers_.erase(qpn);
  }
  /// Does `work` while no request is on its way.
  template <class Work>
  void alone(Work work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    work();
  }
  /// Hands a request to the queue pair `qpn`.
  RdmaOutcome send(uint32_t qpn, const RdmaRequest& request) {
    RdmaPeer* far = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto peer = peers_.find(qpn);
      if (peer == peers_.end()) return RdmaOutcome::retry_exceeded;
      if (!peer->second->is_far()) return peer->second->answer(request);
      far = peer->second;
    }
    return far->answer(request);
  }

 private:
  MemoryKeys keys_;
  std::mutex mutex_;
  std::map<uint32_t, RdmaPeer*> peers_;
};

}  // namespace emulation

XIO_NAMESPACE_END
