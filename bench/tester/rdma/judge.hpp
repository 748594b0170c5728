// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Records of a lane of the RDMA workload: failed operations and wrong data.

#include <xio/device/rdma/receive.hpp>

#include "tester/rdma/check.hpp"
#include "tester/rdma/phase.hpp"

namespace tester {

class RdmaJudge {
 public:
  XIO_DEVICE RdmaJudge(const RdmaPhase& phase, RdmaLane& lane) : phase_(phase), lane_(lane) {}

  XIO_DEVICE void wrong(const RdmaWrong& what) const {
    if (lane_.wrong_count < lane_.wrong_room) lane_.wrong[lane_.wrong_count] = what;
    ++lane_.wrong_count;
  }

  XIO_DEVICE void fail(xio::Status status, uint64_t number) const { lane_.fail(status, number); }

  /// Whether the completion on the receiving side matches operation `number`.
  XIO_DEVICE bool announced(uint64_t number, const xio::rdma::Received& received) const {
    if (phase_.immediate) {
      const uint32_t wanted = immediate_of(phase_.content, number);
      if (received.immediate != wanted || (received.flags & xio::rdma::receive_flag::immediate) == 0) {
        wrong({number, {received.immediate, wanted}, RdmaFaultKind::immediate, 0});
        return false;
      }
    }
    if (phase_.verb == RdmaVerb::send && received.bytes != phase_.bytes) {
      wrong({number, {received.bytes, phase_.bytes}, RdmaFaultKind::length, 0});
      return false;
    }
    return true;
  }

  /// Compares a place with the data of operation `number`, and the bytes behind it with their initial value.
  /// @param reported  operation to report a difference for
  XIO_DEVICE void compare(const uint8_t* data, uint64_t number, uint64_t reported) const {
    compare(data, number, reported, phase_.bytes);
  }
  /// Only the first `bytes` bytes of the place are data of the operation.
  XIO_DEVICE void compare(const uint8_t* data, uint64_t number, uint64_t reported, uint32_t bytes) const {
    const uint32_t differs = message_difference(phase_.content, data, number, bytes);
    if (differs < bytes) {
      const auto* const words = reinterpret_cast<const uint64_t*>(data);
      return wrong({reported, {words[0], words[1]}, RdmaFaultKind::content, differs});
    }
    for (uint64_t at = phase_.bytes; at < phase_.place_bytes; ++at) {
      if (data[at] == rdma_untouched) continue;
      return wrong({reported, {data[at], rdma_untouched}, RdmaFaultKind::behind, static_cast<uint32_t>(at)});
    }
  }

 private:
  const RdmaPhase& phase_;
  RdmaLane& lane_;
};

}  // namespace tester
