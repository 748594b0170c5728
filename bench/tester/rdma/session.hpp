// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Two nodes: the server and the client find each other by TCP, agree on what is done, connect their queue
/// pairs, and tell each other what came of it.

#include <xio/host/rdma/exchange.hpp>

#include "tester/rdma/runner.hpp"

namespace tester {

class RdmaSession {
 public:
  /// Waits for the other side for at most `options.connect_ms`.
  /// Throws Failed where it does not come, BadInput where it was given other flags or the port is in use.
  explicit RdmaSession(const RdmaOptions& options);

  /// For tests: a connection that is there already.
  RdmaSession(const RdmaOptions& options, xio::host::Exchange exchange);

  /// All runs with one transfer size; the other side does the same at the same time. What each of them found is in
  /// both results.
  RdmaResult measure(const RdmaProvider& provider, const RdmaPlan& plan, bool last);

  /// Whether a user wanted to stop, here or there: both sides know the same.
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
