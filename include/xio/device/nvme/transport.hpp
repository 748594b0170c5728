// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How a queue reaches its controller: over PCIe, or by a transport that a policy names with RingBy.
///
/// The rest of a queue is the same for each: claims, entries, tails, the completion table, tokens and waits.
///
/// | member of a transport                      | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `uint32_t kind`                            | tells transports apart: all users of a shared queue have the same  |
/// | `bool looks_ahead`                         | whether a look at the entry behind those taken tells if it is new  |
/// | `bool admits(command)`                     | whether it can transport the command, whatever the data            |
/// | `DataPointer no_data()`                    | data pointer of commands that move none                            |
/// | `short_list(q)`                            | list memory of a command whose data needs none, for point()        |
/// | `rehearsed(q, bytes)`                      | list memory of `bytes` bytes that stores nothing, for point()      |
/// | `list<Fits>(engine, ticket, usable)`       | list memory of a ticket, for point()                               |
/// | `store(engine, group, storing, ticket)`    | stores what an entry needs besides, before it is released          |
/// | `ring<S>(bell, end)`                       | announces the entries before `end`; one lane calls, in order       |
/// | `prepare(engine, group)`                   | what must come before a drain; all lanes call                      |
/// | `source(engine, group, telemetry)`         | source of completions of protocol::drain(); all lanes call         |

#include <xio/device/nvme/data.hpp>
#include <xio/device/nvme/drain.hpp>
#include <xio/device/nvme/types.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Rings in memory that the controller reads, doorbells by `Doorbell`, data by PRPs and SGLs.
template <class Doorbell>
struct PcieTransport {
  static constexpr uint32_t kind = IsSame<Doorbell, MmioDoorbell>::value     ? 0
                                   : IsSame<Doorbell, ShadowDoorbell>::value ? 1
                                                                             : 2;
  static constexpr bool looks_ahead = true;

  XIO_HOST_DEVICE static constexpr bool admits(const Command&) { return true; }
  XIO_HOST_DEVICE static constexpr DataPointer no_data() { return {}; }
  XIO_HOST_DEVICE static constexpr NoList short_list(const QueueHandle&) { return {}; }
  XIO_HOST_DEVICE static constexpr detail::RehearsedList rehearsed(const QueueHandle&, uint32_t bytes) {
    return {bytes};
  }
  /// List memory of a ticket's slot; empty unless `usable`.
  /// @tparam Fits whether the list is known to fit
  template <bool Fits, class Engine>
  XIO_DEVICE_INLINE static detail::PublishedList<typename Engine::Policy, Engine::sharing != Sharing::thread, Fits>
  list(const Engine& engine, uint64_t ticket, bool usable) {
    const QueueHandle& q = engine.handle();
    const uint64_t at = uint64_t{ring::slot(ticket, q.slot_mask)} * q.list_bytes;  // 0 without lists
    auto* const words = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(q.lists) + at);
    return {words, q.lists_bus + at, usable ? q.list_bytes : 0};
  }

  template <class Engine, Sharing S>
  XIO_DEVICE_INLINE static void store(const Engine&, Group<S>, uint64_t, uint64_t) {}

  template <Sharing S, class Bell>
  XIO_DEVICE_INLINE static void ring(const Bell& bell, uint64_t end) {
    if constexpr (S == Sharing::thread) {
      Doorbell::ring_each(bell.target, ring::slot(end, bell.mask));
    } else {
      Doorbell::ring(bell.target, ring::slot(end, bell.mask));
    }
  }

  template <class Engine, Sharing S>
  XIO_DEVICE_INLINE static void prepare(const Engine&, Group<S>) {}
  template <class Engine, Sharing S, class Telemetry>
  XIO_DEVICE_INLINE static detail::CompletionReader<Doorbell, Telemetry> source(const Engine& engine, Group<S>,
                                                                                Telemetry& telemetry) {
    const QueueHandle& q = engine.handle();
    return {q.cq, {q.cq_doorbell, q.cq_shadow, q.cq_event_index}, q.cq_mask, telemetry};
  }
};

namespace detail {
template <class Named, class = void>
struct TransportBy {
  using type = PcieTransport<Named>;
};
template <class Named>
struct TransportBy<Named, decltype(void(Named::looks_ahead))> {
  using type = Named;
};
}  // namespace detail

/// Transport that a policy selects with RingBy: its name, or PCIe with the doorbell that is named; default PCIe with
/// MmioDoorbell.
template <class Policy>
using TransportOf = typename detail::TransportBy<DoorbellOf<Policy>>::type;

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
