// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVMe over RDMA for the tester's queues. It counts doorbells as TesterDoorbell does.

#include <xio/fabrics.hpp>
#include <xio/vendors/rxe/traits.hpp>

#include "tester/nvme/counting_doorbell.hpp"

namespace tester {

/// Counts the doorbells of receives as those of the completion queue.
template <class Reader>
struct CountingReader : Reader {
  template <xio::Sharing S>
  XIO_DEVICE_INLINE void acknowledge(xio::Group<S> group, uint64_t head) const {
    if (group.leads()) count_ring(false);
    Reader::acknowledge(group, head);
  }
};

template <class Vendor>
struct CountingTransport : xio::nvme::OverRdma<Vendor> {
  using Base = xio::nvme::OverRdma<Vendor>;

  template <xio::Sharing S, class Bell>
  XIO_DEVICE_INLINE static void ring(const Bell& bell, uint64_t end) {
    count_ring(true);
    Base::template ring<S>(bell, end);
  }
  template <class Engine, xio::Sharing S, class Telemetry>
  XIO_DEVICE_INLINE static auto source(const Engine& engine, xio::Group<S> group, Telemetry& telemetry) {
    return CountingReader<decltype(Base::source(engine, group, telemetry))>{Base::source(engine, group, telemetry)};
  }
};

}  // namespace tester
