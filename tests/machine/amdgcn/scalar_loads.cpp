// SPDX-License-Identifier: MIT
/// @file
/// @brief Scalar loads, clocks and messages in flight.

#include <machine/amdgcn/processor.hpp>

namespace machine::amdgcn {

namespace {

void set_bits(uint64_t* bits, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) bits[i / 64] |= uint64_t{1} << i % 64;
}

}  // namespace

void Processor::issue(Wave& wave, const ScalarAccess& access) {
  if (!access.clock) ++counts.scalar_loads;
  wave.scalars.push_back(access);
  set_bits(wave.poisoned_scalars, access.destination, access.registers);
  wave.poisoned = true;
  if (mood_.calm) sample(wave, wave.scalars.back());
}

void Processor::sample(Wave& wave, ScalarAccess& access) {
  if (access.sampled) return;
  access.sampled = true;
  current_wave_ = &wave;
  if (access.clock) {
    const uint64_t now = clock();
    access.data[0] = static_cast<uint32_t>(now);
    access.data[1] = static_cast<uint32_t>(now >> 32);
    return;
  }
  access.data[0] = 0;
  caches_.scalar_load(wave.requester, access.address, access.bytes, access.data);
  if (access.sign_extend)
    access.data[0] = static_cast<uint32_t>(access.bytes == 1 ? int32_t{static_cast<int8_t>(access.data[0])}
                                                             : int32_t{static_cast<int16_t>(access.data[0])});
}

void Processor::retire_scalars(Wave& wave, size_t left) {
  const auto end = wave.scalars.end() - static_cast<ptrdiff_t>(left);
  for (auto at = wave.scalars.begin(); at != end; ++at) {
    ScalarAccess& access = *at;
    sample(wave, access);
    if (access.destination == null_register) continue;
    for (uint32_t i = 0; i < access.registers; ++i) wave.s[access.destination + i] = access.data[i];
  }
  wave.scalars.erase(wave.scalars.begin(), end);
}

}  // namespace machine::amdgcn
