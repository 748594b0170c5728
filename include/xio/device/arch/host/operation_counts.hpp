// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Counts of the stores and fences of kernels on the CPU.

#include <array>
#include <cstdint>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

/// Operation counts of a thread.
struct OperationCounts {
  uint64_t wide_entry_stores = 0;    ///< 16-byte stores of queue entries
  uint64_t narrow_entry_stores = 0;  ///< 8-byte stores of queue entries
  uint64_t word_stores = 0;  ///< of words that the device reads in memory: doorbell records, shadow doorbells, lists
  uint64_t releases = 0;     ///< system releases: a cache write-back on a GPU
  uint64_t store_waits = 0;  ///< waits for stores without a write-back
  uint64_t acquires = 0;
  uint64_t full_fences = 0;
  uint64_t atomics = 0;  ///< read-modify-write operations
  uint64_t mmio_stores = 0;
  uint64_t mmio_bytes = 0;  ///< bytes of mmio_stores

  /// Stores of queue entries.
  uint64_t entry_stores() const { return wide_entry_stores + narrow_entry_stores; }

  OperationCounts& operator+=(const OperationCounts& other) {
    return combine(other, [](uint64_t a, uint64_t b) { return a + b; });
  }
  OperationCounts& operator-=(const OperationCounts& other) {
    return combine(other, [](uint64_t a, uint64_t b) { return a - b; });
  }
  friend OperationCounts operator-(OperationCounts a, const OperationCounts& b) { return a -= b; }
  friend bool operator==(const OperationCounts& a, const OperationCounts& b) {
    for (const Member member : members()) {
      if (a.*member != b.*member) return false;
    }
    return true;
  }

 private:
  using Member = uint64_t OperationCounts::*;
  static constexpr std::array<Member, 10> members() {
    return {&OperationCounts::wide_entry_stores, &OperationCounts::narrow_entry_stores,
            &OperationCounts::word_stores,       &OperationCounts::releases,
            &OperationCounts::store_waits,       &OperationCounts::acquires,
            &OperationCounts::full_fences,       &OperationCounts::atomics,
            &OperationCounts::mmio_stores,       &OperationCounts::mmio_bytes};
  }
  template <class Combine>
  OperationCounts& combine(const OperationCounts& other, Combine with) {
    for (const Member member : members()) this->*member = with(this->*member, other.*member);
    return *this;
  }
};

/// @}
}  // namespace arch

XIO_NAMESPACE_END
