// SPDX-License-Identifier: MIT
/// @file
/// @brief Loads, stores and atomics of a thread.

#include <machine/ptx/machine.hpp>

#include <algorithm>
#include <cstring>

namespace machine::ptx {

namespace {

uint64_t extended(uint64_t value, const Type& type, uint8_t to_bits) {
  if (!type.is_signed() || type.bits == 64) return value;
  const uint32_t shift = 64u - type.bits;
  const auto wide = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  return to_bits >= 64 ? wide : wide & ((uint64_t{1} << to_bits) - 1);
}

template <class F>
uint64_t float_sum(uint64_t a, uint64_t b) {
  F x;
  F y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  x += y;
  uint64_t out = 0;
  std::memcpy(&out, &x, sizeof x);
  return out;
}

uint64_t changed(const Instruction& i, uint64_t old, uint64_t b) {
  const uint32_t shift = 64u - i.type.bits;
  const auto less = [&](uint64_t x, uint64_t y) {
    return i.type.is_signed() ? static_cast<int64_t>(x << shift) < static_cast<int64_t>(y << shift) : x < y;
  };
  switch (i.how) {
    case How::add:
      if (i.type.is_float()) return i.type.bits == 32 ? float_sum<float>(old, b) : float_sum<double>(old, b);
      return old + b;
    case How::exchange: return b;
    case How::bit_and: return old & b;
    case How::bit_or: return old | b;
    case How::bit_xor: return old ^ b;
    case How::min: return less(b, old) ? b : old;
    case How::max: return less(old, b) ? b : old;
    case How::increment: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;  // decrement
  }
}

// With a constant length, the compiler copies by single instructions.
template <class T>
uint64_t read_as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
uint64_t read_own(const char* from, uint32_t bytes) {
  switch (bytes) {
    case 1: return read_as<uint8_t>(from);
    case 2: return read_as<uint16_t>(from);
    case 4: return read_as<uint32_t>(from);
    default: return read_as<uint64_t>(from);
  }
}
void write_own(char* to, uint64_t value, uint32_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, &value, 4); break;
    case 8: std::memcpy(to, &value, 8); break;
    default: std::memcpy(to, &value, bytes);
  }
}

}  // namespace

uint64_t Machine::space_begin(Thread& thread, Space space) {
  switch (space) {
    case Space::shared: return reinterpret_cast<uint64_t>(blocks_[thread.block].shared.data());
    case Space::local: return reinterpret_cast<uint64_t>(thread.bytes());
    case Space::parameter: return reinterpret_cast<uint64_t>(thread.bytes()) + thread.frame.parameters;
    default: return 0;
  }
}

uint64_t Machine::address_of(Thread& thread, const Instruction& i) {
  uint64_t address = static_cast<uint64_t>(i.offset) + space_begin(thread, i.space);
  if (i.base.index >= 0) {
    address += get(thread, i.base);
  } else if (i.base.index == -1) {
    address += i.base.value;
  } else if (i.space == Space::local) {
    address += thread.frame.local;
  } else if (i.space == Space::global || i.space == Space::constant) {
    address += reinterpret_cast<uint64_t>(variables_.data());
  }
  return address;
}

/// Bytes of the thread's parameters or local memory, which no other thread can access; null for any other address.
char* Machine::own_bytes(Thread& thread, uint64_t address, uint32_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(thread.bytes());
  const uint64_t at = address - begin;
  if (at > thread.stack.size() * 8 - bytes) return nullptr;
  return thread.bytes() + at;
}

bool Machine::load(Thread& thread, const Instruction& i) {
  const uint32_t bytes = i.type.bytes();
  const uint32_t all_bytes = bytes * i.outputs;
  const uint64_t address = address_of(thread, i);
  if ((address & (all_bytes - 1)) != 0) fail(thread, "the address is not a multiple of the access");
  const char* const own = own_bytes(thread, address, all_bytes);
  if (own == nullptr && (i.space == Space::parameter || i.space == Space::local))
    fail(thread, "access behind the end of local memory");
  uint64_t* const registers = thread.registers.data() + thread.frame.registers;
  if (own != nullptr) {
    for (uint32_t k = 0; k < i.outputs; ++k)
      set(registers, i.out[k], extended(read_own(own + k * bytes, bytes), i.type, i.out[k].bits));
    return false;
  }
  ++counts.loads;
  counts.invalidations += i.order == Order::acquire;
  try {
    for (uint32_t k = 0; k < i.outputs; ++k) {
      const uint64_t value = memory_.load(thread.reader, address + k * bytes, bytes, i.order, i.scope, i.non_coherent);
      set(registers, i.out[k], extended(value, i.type, i.out[k].bits));
      if (trace) trace_access(address + k * bytes, value);
    }
  } catch (const Fault& fault) {
    fail(thread, fault.what());
  }
  return true;
}

bool Machine::store(Thread& thread, const Instruction& i) {
  const uint32_t bytes = i.type.bytes();
  const uint32_t all_bytes = bytes * i.outputs;
  const uint64_t address = address_of(thread, i);
  if ((address & (all_bytes - 1)) != 0) fail(thread, "the address is not a multiple of the access");
  char* const own = own_bytes(thread, address, all_bytes);
  if (own == nullptr && (i.space == Space::parameter || i.space == Space::local))
    fail(thread, "access behind the end of local memory");
  const uint64_t* const registers = thread.registers.data() + thread.frame.registers;
  if (own != nullptr) {
    for (uint32_t k = 0; k < i.outputs; ++k) write_own(own + k * bytes, get(registers, i.out[k]), bytes);
    thread.wrote_stack(static_cast<uint64_t>(own - thread.bytes()) + all_bytes);
    return false;
  }
  ++counts.stores;
  counts.write_backs += i.order == Order::release;
  try {
    for (uint32_t k = 0; k < i.outputs; ++k) {
      const uint64_t value = get(registers, i.out[k]);
      if (trace) trace_access(address + k * bytes, value);
      memory_.store(thread.reader, address + k * bytes, bytes,
                    bytes == 8 ? value : value & ((uint64_t{1} << 8 * bytes) - 1), i.order, i.scope);
    }
  } catch (const Fault& fault) {
    fail(thread, fault.what());
  }
  return true;
}

void Machine::atomic(Thread& thread, const Instruction& i) {
  const uint32_t bytes = i.type.bytes();
  const uint64_t address = address_of(thread, i);
  if (address % bytes != 0) fail(thread, "the address is not a multiple of the access");
  if (own_bytes(thread, address, bytes) != nullptr) fail(thread, "an atomic on local memory");
  const uint64_t ones = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  const uint64_t b = get(thread, i.in[0]) & ones;
  const uint64_t c = i.inputs > 1 ? get(thread, i.in[1]) & ones : 0;
  ++counts.atomics;
  counts.invalidations += i.order == Order::acquire || i.order == Order::acq_rel;
  counts.write_backs += i.order == Order::release || i.order == Order::acq_rel;
  const auto change = [&](uint64_t before, uint64_t& fresh) {
    fresh = i.how == How::compare_exchange ? c : changed(i, before, b) & ones;
    return i.how != How::compare_exchange || before == b;
  };
  try {
    const uint64_t old = memory_.atomic(thread.reader, address, bytes, i.order, i.scope, std::cref(change));
    if (trace) trace_access(address, old);
    if (i.outputs != 0) set(thread, i.out[0], old);
  } catch (const Fault& fault) {
    fail(thread, fault.what());
  }
}

}  // namespace machine::ptx
