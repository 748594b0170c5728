// SPDX-License-Identifier: MIT
// H23: masks of lanes have 64 bits on waves of 64. Nothing looks at the lower half alone.

#include <xio/device/core/com.hpp>

using namespace xio;

// AMD-LABEL:   {{^}}rank:
// WAVE64:      v_mbcnt_lo_u32_b32 [[LOW:v[0-9]+]], s{{[0-9]+}}, 0
// WAVE64:      v_mbcnt_hi_u32_b32 v{{[0-9]+}}, s{{[0-9]+}}, [[LOW]]
// WAVE32:      v_mbcnt_lo_u32_b32
// WAVE32-NOT:  v_mbcnt_hi
// AMD:         .amdhsa_kernel
extern "C" __global__ void rank(uint64_t mask, uint32_t* out) { out[arch::lane()] = arch::rank_in(mask); }

// AMD-LABEL:   {{^}}lane:
// WAVE64:      v_mbcnt_lo_u32_b32 [[LOW:v[0-9]+]], -1, 0
// WAVE64:      v_mbcnt_hi_u32_b32 v{{[0-9]+}}, -1, [[LOW]]
// AMD:         .amdhsa_kernel
extern "C" __global__ void lane(uint32_t* out) { out[arch::thread_index()] = arch::lane(); }

// AMD-LABEL:   {{^}}active:
// WAVE64:      v_{{pk_mov_b32|mov_b64_e32}} v[{{[0-9]+:[0-9]+}}], exec{{,|$}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void active(uint64_t* out) { *out = arch::active(); }

// AMD-LABEL:   {{^}}ballot:
// WAVE64:      v_cmp_{{[a-z0-9_]+}} [[MASK:s\[[0-9:]+\]]],
// WAVE64:      v_{{pk_mov_b32|mov_b64_e32}} v[{{[0-9:]+}}], [[MASK]]
// AMD:         .amdhsa_kernel
extern "C" __global__ void ballot(const uint32_t* in, uint64_t* out) {
  out[arch::lane()] = arch::ballot(arch::active(), in[arch::lane()] > 7);
}

// AMD-LABEL:   {{^}}counts:
// WAVE64:      s_bcnt1_i32_b64
// WAVE64:      s_ff1_i32_b64
// AMD:         .amdhsa_kernel
extern "C" __global__ void counts(uint32_t* out) {
  out[0] = arch::count_lanes(arch::active());
  out[1] = arch::first_lane(arch::active());
}

// Which lanes store together, and which alone, is worked out of both halves.
// AMD-LABEL:   {{^}}quads:
// WAVE64-DAG:  s_and_b32 s{{[0-9]+}}, s{{[0-9]+}}, 0x11111111
// WAVE64-DAG:  s_and_b32 s{{[0-9]+}}, s{{[0-9]+}}, 0x11111111
// WAVE64-DAG:  s_mul_i32 s{{[0-9]+}}, s{{[0-9]+}}, 15
// WAVE64-DAG:  s_mul_i32 s{{[0-9]+}}, s{{[0-9]+}}, 15
// AMD:         .amdhsa_kernel
extern "C" __global__ void quads(arch::Vec16 (*ring)[4], const arch::Vec16 (*entries)[4], uint64_t storing) {
  struct Entry {
    arch::Vec16 part[4];
  };
  const auto* const from = reinterpret_cast<const Entry*>(entries);
  enqueue_wave(arch::active(), storing, from[arch::lane()], reinterpret_cast<Entry*>(ring), arch::lane());
}
