// SPDX-License-Identifier: MIT
/// @file
/// @brief LDS: one memory per workgroup, without caches; accesses of one wave stay in order, those of several waves do
/// not.

#include <cstring>

#include <machine/amdgcn/atomics.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/unstored.hpp>

namespace machine::amdgcn {
namespace {

void check_bounds(const Group& group, uint32_t address, uint32_t bytes) {
  if (address > group.shared.size() || bytes > group.shared.size() - address)
    throw Fault("LDS address " + std::to_string(address) + " of " + std::to_string(group.shared.size()));
}

void perform_shared_lane(Group& group, SharedAccess& access, uint32_t lane) {
  const uint32_t words = (access.bytes + 3u) / 4;
  for (uint32_t part = 0; part < access.parts; ++part) {
    const uint32_t address = access.address[part][lane];
    check_bounds(group, address, access.bytes);
    uint8_t* const memory = group.shared.data() + address;
    uint32_t buffer[4] = {};
    if (access.kind == SharedAccess::Kind::store) {
      for (uint32_t k = 0; k < words; ++k) buffer[k] = access.data[part * words + k][lane];
      std::memcpy(memory, buffer, access.bytes);
      continue;
    }
    std::memcpy(buffer, memory, access.bytes);
    if (access.kind == SharedAccess::Kind::atomic) {
      const bool wide = access.bytes == 8;
      const auto word = [&](uint32_t at) { return uint64_t{access.data[at][lane]}; };
      const uint64_t data = wide ? word(0) | word(1) << 32 : word(0);
      const uint64_t compare = wide ? word(2) | word(3) << 32 : word(1);
      const uint64_t old = buffer[0] | (wide ? uint64_t{buffer[1]} << 32 : 0);
      const uint64_t value = changed(access.instruction->atomic, access.bytes, old, data, compare);
      std::memcpy(memory, &value, access.bytes);
    }
    for (uint32_t k = 0; k < words; ++k) access.data[part * words + k][lane] = buffer[k];
  }
}

}  // namespace

void Processor::issue(Wave& wave, const SharedAccess& access) {
  wave.shared.push_back(access);
  for (uint32_t i = access.destination; i < access.destination + uint32_t{access.registers}; ++i)
    wave.poisoned_vectors[i / 64] |= uint64_t{1} << i % 64;
  wave.poisoned = wave.poisoned || access.registers != 0;
  if (mood_.calm) perform_shared(wave, 0);
}

/// Performs the oldest accesses, all except the last `keep`.
void Processor::perform_shared(Wave& wave, size_t keep) {
  for (size_t i = 0; i + keep < wave.shared.size(); ++i) {
    SharedAccess& access = wave.shared[i];
    if (access.performed) continue;
    access.performed = true;
    if (access.kind == SharedAccess::Kind::permutation) continue;
    current_wave_ = &wave;
    current_ = access.instruction;
    for (uint64_t lanes = access.mask; lanes != 0; lanes &= lanes - 1)
      perform_shared_lane(*wave.group, access, static_cast<uint32_t>(__builtin_ctzll(lanes)));
  }
}

void Processor::retire_shared(Wave& wave, size_t left) {
  if (wave.shared.size() <= left) return;
  perform_shared(wave, left);
  while (wave.shared.size() > left) {
    const SharedAccess& access = wave.shared.front();
    const Instruction& by = *access.instruction;
    for (uint32_t k = 0; k < access.registers; ++k) {
      Lanes& to = wave.v[access.destination + k];
      note_unstored(wave, access.destination + k, access.mask, 0, 0);
      for (uint64_t lanes = access.mask; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<size_t>(__builtin_ctzll(lanes));
        uint32_t value = access.data[k][lane];
        if (by.sign_extend)
          value = static_cast<uint32_t>(access.bytes == 1 ? int32_t{static_cast<int8_t>(value)}
                                                          : int32_t{static_cast<int16_t>(value)});
        if (by.low_half) value = (to[lane] & 0xffff0000u) | (value & 0xffffu);
        if (by.high_half) value = (to[lane] & 0xffffu) | value << 16;
        to[lane] = value;
      }
    }
    wave.shared.pop_front();
  }
}

}  // namespace machine::amdgcn
