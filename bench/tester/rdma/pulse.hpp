// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What two nodes tell each other while their kernels run: that they are there, that the user wants to stop, and
/// in the end how far the requester came.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/rdma/exchange.hpp>

#include "tester/rdma/phase.hpp"

namespace tester {

/// A thread that swaps a few bytes with the other side several times a second, for as long as a run lasts. The words
/// that kernels look at are its.
class RdmaPulse {
 public:
  /// @param exchange  nobody else uses it meanwhile
  /// @param queues    queue pairs
  RdmaPulse(xio::host::Exchange& exchange, size_t queues);
  /// Where finish() was not called, the other side hears nothing more.
  ~RdmaPulse();
  RdmaPulse(const RdmaPulse&) = delete;
  RdmaPulse& operator=(const RdmaPulse&) = delete;

  /// Becomes 1 when a user wants to stop, here or there, or the other side is gone.
  const uint32_t* stop() const { return &stop_; }
  /// Becomes 1 when the other side's kernel has ended; `totals` are there then.
  const uint32_t* peer_done() const { return &peer_done_; }
  /// Becomes 1 when the other side is gone.
  const uint32_t* abandoned() const { return &abandoned_; }
  const RdmaTotals* totals() const { return totals_.data(); }

  /// This side's kernel has ended: returns when the other side's has too. Throws host::Error where it is gone.
  /// @param mine  one for each queue pair; of the requester
  void finish(const std::vector<RdmaTotals>& mine);
  /// Whether a user wanted to stop, on the other side; to be asked after finish().
  bool peer_interrupted() const { return peer_interrupted_; }

 private:
  struct Beat {
    uint32_t finished;
    uint32_t stop;
  };
  void run();
  bool swap();
  std::string message(bool& finished);
  bool take(const std::string& theirs);

  xio::host::Exchange& exchange_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RdmaTotals> mine_;
  std::vector<RdmaTotals> totals_;
  std::string error_;
  bool finished_ = false;
  bool given_up_ = false;
  bool peer_interrupted_ = false;
  alignas(64) uint32_t stop_ = 0;
  uint32_t peer_done_ = 0;
  uint32_t abandoned_ = 0;
  std::thread thread_;
};

}  // namespace tester
