// SPDX-License-Identifier: MIT
/// @file
/// @brief Vector loads, stores and atomics: global, flat, buffer and scratch; and scalar loads.

#include <map>

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/parsers.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/unstored.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

uint32_t words_of(const Instruction& i) { return (i.bytes + 3u) / 4; }

bool names_lane(uint64_t address) { return address >> 57 == lanes_private_base >> 57; }
bool is_private(uint64_t address) { return address >> 56 == private_base >> 56 || names_lane(address); }
bool is_shared(uint64_t address) { return address >> 56 == shared_base >> 56; }

void take_data(const Wave& wave, const Instruction& i, const Operand& operand, uint32_t words, Access& access) {
  for (uint32_t k = 0; k < words; ++k) {
    const Lanes& from = wave.v[operand.index + k];
    if (wave.any_unstored) take_unstored(wave, operand.index + k, k, access);
    each_lane(access.mask, [&](uint32_t lane) { access.data[k][lane] = i.high_half ? from[lane] >> 16 : from[lane]; });
  }
}

/// Operand `vector` is a 64-bit address, or an offset if there is a scalar base.
void take_addresses(const Wave& wave, const Instruction& i, uint32_t vector, uint32_t base, Access& access) {
  const Operand& index = i.operand[vector];
  const bool has_base = base < i.operands && i.operand[base].kind == Operand::Kind::scalar;
  const uint64_t begin = (has_base ? wave.pair(i.operand[base].index) : 0) + static_cast<uint64_t>(int64_t{i.offset});
  each_lane(access.mask, [&](uint32_t lane) {
    uint64_t address = uint64_t{wave.v[index.index][lane]} * (i.scaled ? i.bytes : 1);
    if (!has_base) address |= uint64_t{wave.v[index.index + 1][lane]} << 32;
    access.address[lane] = begin + address;
  });
}

/// Private memory, and LDS through flat addresses: performed immediately and in order; only a load's result is delayed.
void access_own(const Instruction& i, Access& access, uint32_t lane, uint8_t* memory) {
  for (uint32_t k = 0; k < words_of(i); ++k) {
    const uint32_t count = std::min(4u, i.bytes - 4 * k);
    if (access.kind == Access::Kind::store) {
      std::memcpy(memory + 4 * k, &access.data[k][lane], count);
    } else {
      access.data[k][lane] = 0;
      std::memcpy(&access.data[k][lane], memory + 4 * k, count);
    }
  }
  access.left[0] &= ~(uint64_t{1} << lane);
  access.left[1] &= ~(uint64_t{1} << lane);
}

/// `owner`: the lane whose memory it is.
void access_private(Wave& wave, const Instruction& i, Access& access, uint32_t lane, uint32_t owner, uint64_t offset) {
  if (offset > wave.private_bytes || i.bytes > wave.private_bytes - offset)
    throw Fault("private memory at " + std::to_string(offset) + " of " + std::to_string(wave.private_bytes));
  const size_t at = size_t{owner} * wave.private_bytes + offset;
  access_own(i, access, lane, wave.private_memory.data() + at);
  for (uint32_t k = 0; k < i.bytes; ++k) {
    uint64_t& unstored = access.unstored[k / 4];
    if (access.kind == Access::Kind::store) {
      wave.private_stored[at + k] = (unstored >> lane & 1) == 0;
    } else if (!wave.private_stored[at + k]) {
      unstored |= uint64_t{1} << lane;
      access.unstored_at = static_cast<uint32_t>(offset) + k / 4 * 4;
    }
  }
}

/// Performs the lanes of a flat access that do not address global memory.
void take_out_own(Wave& wave, const Instruction& i, Access& access) {
  each_lane(access.mask, [&](uint32_t lane) {
    const uint64_t address = access.address[lane];
    const uint64_t offset = address & ((uint64_t{1} << 56) - 1);
    if (!is_private(address) && !is_shared(address)) return;
    if (access.kind == Access::Kind::atomic) throw Fault("flat atomic access to LDS or private memory");
    if (names_lane(address)) {
      const auto owner = static_cast<uint32_t>((address - lanes_private_base) >> lane_shift);
      return access_private(wave, i, access, lane, owner, address & ((uint64_t{1} << lane_shift) - 1));
    }
    if (is_private(address)) return access_private(wave, i, access, lane, lane, offset);
    wave.processor->perform_shared(wave, 0);
    std::vector<uint8_t>& shared = wave.group->shared;
    if (offset > shared.size() || i.bytes > shared.size() - offset)
      throw Fault("LDS address " + std::to_string(offset) + " of " + std::to_string(shared.size()));
    check_stored(access, uint64_t{1} << lane);
    access_own(i, access, lane, shared.data() + offset);
  });
}

void issue(Wave& wave, const Instruction& i, std::unique_ptr<Access> access) {
  if (starts_with(i.mnemonic, "flat_")) take_out_own(wave, i, *access);
  check_stored(*access, access->left[0]);
  wave.processor->issue(wave, std::move(access));
}

void load(Wave& wave, const Instruction& i) {
  auto access = wave.processor->new_access(wave, i, Access::Kind::load);
  take_addresses(wave, i, 1, 2, *access);
  access->destination = i.operand[0].index;
  access->registers = static_cast<uint8_t>(words_of(i));
  issue(wave, i, std::move(access));
}
void store(Wave& wave, const Instruction& i) {
  auto access = wave.processor->new_access(wave, i, Access::Kind::store);
  take_addresses(wave, i, 0, 2, *access);
  take_data(wave, i, i.operand[1], words_of(i), *access);
  issue(wave, i, std::move(access));
}
void atomic(Wave& wave, const Instruction& i) {
  auto access = wave.processor->new_access(wave, i, Access::Kind::atomic);
  const uint32_t vector = i.returns ? 1 : 0;
  take_addresses(wave, i, vector, vector + 2, *access);
  take_data(wave, i, i.operand[vector + 1], i.operand[vector + 1].width, *access);
  // Atomics are performed in the L2 or beyond it.
  if (access->scope < Scope::agent) access->scope = Scope::agent;
  if (i.returns) {
    access->destination = i.operand[0].index;
    access->registers = static_cast<uint8_t>(words_of(i));
  }
  issue(wave, i, std::move(access));
}

/// Address from a buffer descriptor. Operands: data, offset, descriptor, scalar offset.
struct BufferAddress {
  bool is_private;
  uint64_t base;
  uint64_t bound;
};

BufferAddress buffer_address(const Wave& wave, const Instruction& i) {
  const uint32_t first = i.operand[2].index;
  BufferAddress address{};
  // Only private memory interleaves lanes.
  address.is_private = (wave.s[first + 1] >> 31) != 0;
  address.base = wave.pair(first) & ((uint64_t{1} << 48) - 1);
  address.bound = wave.s[first + 2];
  if (!address.is_private && (wave.s[first + 1] >> 16) != 0) throw Fault("buffer with a stride");
  return address;
}

void buffer(Wave& wave, const Instruction& i, Access::Kind kind) {
  auto access = wave.processor->new_access(wave, i, kind);
  const BufferAddress buffer = buffer_address(wave, i);
  if (kind == Access::Kind::store) {
    take_data(wave, i, i.operand[0], words_of(i), *access);
  } else {
    access->destination = i.operand[0].index;
    access->registers = static_cast<uint8_t>(words_of(i));
  }
  const uint64_t extra = scalar_value(wave, i.operand[3]);
  each_lane(access->mask, [&](uint32_t lane) {
    const uint64_t offset = static_cast<uint64_t>(i.offset) + (i.offset_enabled ? wave.v[i.operand[1].index][lane] : 0);
    if (buffer.is_private) {
      // The scalar offset counts bytes of all lanes.
      return access_private(wave, i, *access, lane, lane, offset + extra / wave.lanes);
    }
    if (offset + extra + i.bytes > buffer.bound) throw Fault("buffer access out of bounds");
    access->address[lane] = buffer.base + offset + extra;
  });
  wave.processor->issue(wave, std::move(access));
}
void buffer_load(Wave& wave, const Instruction& i) { buffer(wave, i, Access::Kind::load); }
void buffer_store(Wave& wave, const Instruction& i) { buffer(wave, i, Access::Kind::store); }

void scratch(Wave& wave, const Instruction& i, Access::Kind kind) {
  auto access = wave.processor->new_access(wave, i, kind);
  const bool stores = kind == Access::Kind::store;
  const Operand& index = i.operand[stores ? 0 : 1];
  if (stores) {
    take_data(wave, i, i.operand[1], words_of(i), *access);
  } else {
    access->destination = i.operand[0].index;
    access->registers = static_cast<uint8_t>(words_of(i));
  }
  const uint32_t base = i.operand[2].kind == Operand::Kind::scalar ? scalar_value(wave, i.operand[2]) : 0;
  each_lane(access->mask, [&](uint32_t lane) {
    const uint32_t own = index.kind == Operand::Kind::vector ? wave.v[index.index][lane] : 0;
    access_private(wave, i, *access, lane, lane, base + own + static_cast<uint32_t>(i.offset));
  });
  wave.processor->issue(wave, std::move(access));
}
void scratch_load(Wave& wave, const Instruction& i) { scratch(wave, i, Access::Kind::load); }
void scratch_store(Wave& wave, const Instruction& i) { scratch(wave, i, Access::Kind::store); }

void scalar_load(Wave& wave, const Instruction& i) {
  ScalarAccess access{};
  access.destination = i.operand[0].index;
  access.bytes = i.bytes;
  access.registers = static_cast<uint8_t>(words_of(i));
  access.sign_extend = i.sign_extend;
  const Operand& offset = i.operand[2];
  const uint64_t added = offset.kind == Operand::Kind::constant ? offset.value : scalar_value(wave, offset);
  access.address = wave.pair(i.operand[1].index) + added + static_cast<uint64_t>(int64_t{i.offset});
  if (i.bytes >= 4) access.address &= ~uint64_t{3};
  wave.processor->issue(wave, access);
}

struct Size {
  uint8_t bytes;
  bool sign_extend;
  bool low_half;
  bool high_half;
};

const std::map<std::string, Size>& sizes() {
  static const std::map<std::string, Size> all = {
      {"ubyte", {1, false, false, false}},       {"u8", {1, false, false, false}},
      {"byte", {1, false, false, false}},        {"b8", {1, false, false, false}},
      {"sbyte", {1, true, false, false}},        {"i8", {1, true, false, false}},
      {"ushort", {2, false, false, false}},      {"u16", {2, false, false, false}},
      {"short", {2, false, false, false}},       {"b16", {2, false, false, false}},
      {"sshort", {2, true, false, false}},       {"i16", {2, true, false, false}},
      {"short_d16", {2, false, true, false}},    {"d16_b16", {2, false, true, false}},
      {"short_d16_hi", {2, false, false, true}}, {"d16_hi_b16", {2, false, false, true}},
      {"ubyte_d16", {1, false, true, false}},    {"d16_u8", {1, false, true, false}},
      {"byte_d16_hi", {1, false, false, true}},  {"d16_hi_b8", {1, false, false, true}},
      {"dword", {4, false, false, false}},       {"b32", {4, false, false, false}},
      {"dwordx2", {8, false, false, false}},     {"b64", {8, false, false, false}},
      {"dwordx3", {12, false, false, false}},    {"b96", {12, false, false, false}},
      {"dwordx4", {16, false, false, false}},    {"b128", {16, false, false, false}},
      {"dwordx8", {32, false, false, false}},    {"b256", {32, false, false, false}},
      {"dwordx16", {64, false, false, false}},   {"b512", {64, false, false, false}},
  };
  return all;
}

}  // namespace

bool parse_atomic(const std::string& operation, Instruction& instruction) {
  static const std::map<std::string, AtomicOperation> operations = {
      {"swap", AtomicOperation::exchange},
      {"cmpswap", AtomicOperation::compare_exchange},
      {"add", AtomicOperation::add},
      {"sub", AtomicOperation::subtract},
      {"and", AtomicOperation::bit_and},
      {"or", AtomicOperation::bit_or},
      {"xor", AtomicOperation::bit_xor},
      {"umin", AtomicOperation::smallest},
      {"umax", AtomicOperation::largest},
      {"smin", AtomicOperation::smallest_signed},
      {"smax", AtomicOperation::largest_signed},
      {"min_u", AtomicOperation::smallest},
      {"max_u", AtomicOperation::largest},
      {"min_i", AtomicOperation::smallest_signed},
      {"max_i", AtomicOperation::largest_signed},
      {"inc", AtomicOperation::increment},
      {"dec", AtomicOperation::decrement},
  };
  std::string name = operation;
  instruction.bytes = ends_with(name, "_x2") || ends_with(name, "64") ? 8 : 4;
  if (ends_with(name, "_x2")) {
    name.resize(name.size() - 3);
  } else if (ends_with(name, "32") || ends_with(name, "64")) {
    // "_u32", "_b64": the type matters only for "min" and "max".
    const bool typed = starts_with(name, "min_") || starts_with(name, "max_");
    name.resize(name.size() - (typed ? 2 : 4));
  }
  const auto found = operations.find(name);
  if (found == operations.end()) return false;
  instruction.atomic = found->second;
  return true;
}

Handler find_memory_access(Instruction& instruction, const Target& target) {
  static const struct {
    const char* prefix;
    Handler run;
    uint8_t most_bytes;
  } kinds[] = {
      {"global_load_", load, 16},          {"flat_load_", load, 16},
      {"global_store_", store, 16},        {"flat_store_", store, 16},
      {"buffer_load_", buffer_load, 16},   {"buffer_store_", buffer_store, 16},
      {"scratch_load_", scratch_load, 16}, {"scratch_store_", scratch_store, 16},
      {"s_load_", scalar_load, 64},
  };
  const std::string& name = instruction.mnemonic;
  for (const auto& kind : kinds) {
    if (!starts_with(name, kind.prefix)) continue;
    const auto size = sizes().find(name.substr(std::string(kind.prefix).size()));
    if (size == sizes().end() || size->second.bytes > kind.most_bytes) return nullptr;
    instruction.bytes = size->second.bytes;
    instruction.sign_extend = size->second.sign_extend;
    instruction.low_half = size->second.low_half;
    instruction.high_half = size->second.high_half;
    if (target.generation == 9 && kind.run == scalar_load && instruction.bytes < 4) return nullptr;
    return kind.run;
  }
  for (const char* prefix : {"global_atomic_", "flat_atomic_"})
    if (starts_with(name, prefix) && parse_atomic(name.substr(std::string(prefix).size()), instruction)) return atomic;
  return nullptr;
}

}  // namespace machine::amdgcn
