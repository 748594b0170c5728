// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Connects the emulated NICs of one process: routes requests by queue pair number.

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
/// @addtogroup emulation_rdma
/// @{

/// A request to the responder.
struct RdmaRequest {
  RdmaOperation operation = RdmaOperation::nop;
  uint32_t source_qpn = 0;
  uint64_t remote = 0;
  uint32_t rkey = 0;
  uint32_t immediate = 0;
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  bool solicited = false;
  const std::vector<uint8_t>* data = nullptr;  ///< payload of writes and sends
  std::vector<uint8_t>* answer = nullptr;      ///< result of reads and atomics; its size is the requested length
};

/// A queue pair as seen by its peer.
class RdmaPeer {
 public:
  virtual ~RdmaPeer() = default;
  /// Executes a request. Called under the fabric's lock.
  virtual RdmaOutcome answer(const RdmaRequest& request) = 0;
};

/// The network between emulated NICs, and the memory that they share. Thread-safe.
class RdmaFabric {
 public:
  MemoryKeys& keys() { return keys_; }

  void add(uint32_t qpn, RdmaPeer* peer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!peers_.emplace(qpn, peer).second)
      throw host::Error("RdmaFabric: queue pair " + std::to_string(qpn) + " already exists; use a unique number");
  }
  void remove(uint32_t qpn) {
    const std::lock_guard<std::mutex> lock(mutex_);
    peers_.erase(qpn);
  }
  /// Runs `work` under the lock, with no request in progress.
  template <class Work>
  void alone(Work work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    work();
  }
  /// Sends a request to the queue pair `qpn`.
  RdmaOutcome send(uint32_t qpn, const RdmaRequest& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto peer = peers_.find(qpn);
    return peer == peers_.end() ? RdmaOutcome::retry_exceeded : peer->second->answer(request);
  }

 private:
  MemoryKeys keys_;
  std::mutex mutex_;
  std::map<uint32_t, RdmaPeer*> peers_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
