// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Exchange between two nodes while their kernels run: liveness, stop requests, and finally the requester's
/// totals.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/rdma/exchange.hpp>

#include "tester/rdma/phase.hpp"

namespace tester {

/// A thread that exchanges a few bytes with the other side during a run: at once if either has something to say, and
/// once a second otherwise. It owns the words that kernels poll.
class RdmaPulse {
 public:
  /// @param exchange  used exclusively by this object
  /// @param queues    number of queue pairs
  RdmaPulse(xio::host::Exchange& exchange, size_t queues);
  /// Without a call of finish(), the other side gets no further messages.
  ~RdmaPulse();
  RdmaPulse(const RdmaPulse&) = delete;
  RdmaPulse& operator=(const RdmaPulse&) = delete;

  /// Becomes 1 when a stop is requested on either side, or the other side is gone.
  const uint32_t* stop() const { return &stop_; }
  /// Becomes 1 when the other side's kernel has ended; totals() are valid then.
  const uint32_t* peer_done() const { return &peer_done_; }
  /// Becomes 1 when the other side is gone.
  const uint32_t* abandoned() const { return &abandoned_; }
  const RdmaTotals* totals() const { return totals_.data(); }

  /// Returns when the other side's kernel has ended, or that side is gone.
  void wait_for_peer();

  /// Reports that this side's kernel has ended; returns when the other side's has, too. Throws host::Error if that side
  /// is gone.
  /// @param mine  requester: totals, one per queue pair
  void finish(const std::vector<RdmaTotals>& mine);
  /// Whether a stop was requested on the other side. @pre finish() was called.
  bool peer_interrupted() const { return peer_interrupted_; }

 private:
  struct Beat {
    uint32_t finished;
    uint32_t stop;
  };
  void run();
  bool swap();
  void wait_for_news();
  void wake() const;
  void tell(uint32_t& word);
  std::string message(bool& finished);
  bool take(const std::string& theirs);

  xio::host::Exchange& exchange_;
  std::mutex mutex_;
  std::condition_variable changed_;  // peer_done_ or abandoned_
  xio::host::FileDescriptor wake_;   // readable: finished_ or given_up_ was set
  std::vector<RdmaTotals> mine_;
  std::vector<RdmaTotals> totals_;
  std::string error_;
  bool finished_ = false;
  bool given_up_ = false;
  bool interrupted_ = false;  // a request to stop was passed on
  bool peer_interrupted_ = false;
  alignas(64) uint32_t stop_ = 0;
  uint32_t peer_done_ = 0;
  uint32_t abandoned_ = 0;
  std::thread thread_;
};

}  // namespace tester
