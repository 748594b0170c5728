// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Results of atomic instructions on a word.

#include <cstdint>

#include <machine/amdgcn/instruction.hpp>

namespace machine::amdgcn {

/// New value of a word of 4 or 8 bytes.
inline uint64_t changed(AtomicOperation operation, uint32_t bytes, uint64_t old, uint64_t data, uint64_t compare) {
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : 0xffffffffu;
  const auto is_signed = [bytes](uint64_t value) {
    return bytes == 8 ? static_cast<int64_t>(value) : int64_t{static_cast<int32_t>(value)};
  };
  switch (operation) {
    case AtomicOperation::exchange: return data;
    case AtomicOperation::compare_exchange: return old == compare ? data : old;
    case AtomicOperation::add: return (old + data) & mask;
    case AtomicOperation::subtract: return (old - data) & mask;
    case AtomicOperation::bit_and: return old & data;
    case AtomicOperation::bit_or: return old | data;
    case AtomicOperation::bit_xor: return old ^ data;
    case AtomicOperation::smallest: return data < old ? data : old;
    case AtomicOperation::largest: return data > old ? data : old;
    case AtomicOperation::smallest_signed: return is_signed(data) < is_signed(old) ? data : old;
    case AtomicOperation::largest_signed: return is_signed(data) > is_signed(old) ? data : old;
    case AtomicOperation::increment: return old >= data ? 0 : old + 1;
    case AtomicOperation::decrement: return old == 0 || old > data ? data : old - 1;
  }
  return old;
}

}  // namespace machine::amdgcn
