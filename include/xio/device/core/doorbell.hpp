// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Doorbell back ends: how a doorbell value reaches the device. A queue type names one.
///
/// `ring` is called by one lane, in order, with increasing counters, after the entries were released; `ring_each` is
/// called by several lanes of a wave together, each for its own queue.

#include <xio/device/core/com.hpp>
#include <xio/device/core/policy.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Addresses of one doorbell.
struct DoorbellTarget {
  uint32_t* word;               ///< mapped register, or a word that a host proxy forwards to it
  uint32_t* shadow;             ///< shadow word in memory (NVMe Doorbell Buffer Config); null where unused
  const uint32_t* event_index;  ///< value after which the device requests a doorbell write; null where unused
};

/// Doorbell by a store to a mapped register, or to a word that a host proxy forwards: the device code is the same.
struct MmioDoorbell {
  XIO_DEVICE_INLINE static void ring(const DoorbellTarget& target, uint32_t value) {
    XioComDoorbell<order::Relaxed>(target.word, value);
  }
  XIO_DEVICE_INLINE static void ring_each(const DoorbellTarget& target, uint32_t value) {
    arch::store_mmio_each_lane(target.word, value);
  }
};

/// Shadow doorbell: a store to memory, followed by a register store only if the device's EventIdx requests it (NVM
/// Express Base Specification 2.0, section 5.8 and B.5).
struct ShadowDoorbell {
  /// Whether a device with EventIdx `event` needs a register store when the doorbell moves from `before` to `after`.
  XIO_HOST_DEVICE static constexpr bool must_kick(uint32_t event, uint32_t before, uint32_t after) {
    return static_cast<uint16_t>(after - event) <= static_cast<uint16_t>(after - before);
  }

  XIO_DEVICE_INLINE static void ring(const DoorbellTarget& target, uint32_t value) {
    if (store_shadow(target, value)) XioComDoorbell<order::Relaxed>(target.word, value);
  }
  XIO_DEVICE_INLINE static void ring_each(const DoorbellTarget& target, uint32_t value) {
    if (store_shadow(target, value)) arch::store_mmio_each_lane(target.word, value);
  }

 private:
  /// Stores the shadow doorbell; returns whether the register must be stored too.
  XIO_DEVICE_INLINE static bool store_shadow(const DoorbellTarget& target, uint32_t value) {
    const uint32_t before = arch::load<arch::Scope::system>(target.shadow);  // bound: the range of EventIdx
    arch::store<arch::Scope::system>(target.shadow, value);
    // The device stores EventIdx and then reads the shadow doorbell; this side must do the reverse, in this order.
    arch::full_fence<arch::Scope::system>();  // order: shadow before EventIdx
    const uint32_t event = arch::load<arch::Scope::system>(target.event_index);
    return must_kick(event, before, value);
  }
};

namespace detail {
template <class Policy>
XIO_HOST_DEVICE typename Policy::Doorbell doorbell_of(int);
template <class Policy>
XIO_HOST_DEVICE MmioDoorbell doorbell_of(long);
}  // namespace detail

/// Doorbell back end that a policy selects with RingBy; default MmioDoorbell.
template <class Policy>
using DoorbellOf = decltype(detail::doorbell_of<Policy>(0));

/// @}
XIO_NAMESPACE_END
