// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Two nodes: server and client connect by TCP, agree on the options, connect their queue pairs and exchange
/// their results.

#include <xio/host/rdma/exchange.hpp>

#include "tester/rdma/runner.hpp"

namespace tester {

class RdmaSession {
 public:
  /// Waits for the other side for at most `options.connect_ms`. Throws Failed if it does not connect in time, BadInput
  /// if its flags differ or the port is in use.
  explicit RdmaSession(const RdmaOptions& options);

  /// For tests: uses an existing connection.
  RdmaSession(const RdmaOptions& options, xio::host::Exchange exchange);

  /// All runs with one transfer size; the other side runs concurrently. Both results contain the findings of both
  /// sides.
  RdmaResult measure(const RdmaProvider& provider, const RdmaPlan& plan, bool last);

  /// Whether a stop was requested on either side; the same on both sides.
  bool interrupted() const { return interrupted_; }
  bool interrupted_there() const { return interrupted_there_; }

 private:
  void agree();
  void connect(RdmaLink& link, RdmaRunner& runner);
  bool run_once(RdmaRunner& runner, RdmaResult& result);
  void merge(RdmaResult& result);

  const RdmaOptions& options_;
  xio::host::Exchange exchange_;
  bool interrupted_ = false;
  bool interrupted_there_ = false;
};

}  // namespace tester
