// SPDX-License-Identifier: MIT
// What each primitive of xio::arch emits: the tables of docs/internals/memory-model.md, line by line. Cache bits must be those that
// the compiler itself gives to atomics of the same scope.

#include <xio/device/arch/arch.hpp>

using namespace xio;
using arch::Scope;

// AMD-LABEL:   {{^}}load_system:
// GFX90A:      global_load_dword v{{.*}}] glc{{$}}
// GFX942:      global_load_dword v{{.*}}] sc0 sc1{{$}}
// GFX11:       global_load_b32 v{{.*}}] glc{{$}}
// GFX12:       global_load_b32 v{{.*}}] scope:SCOPE_SYS{{$}}
extern "C" __global__ void load_system(const uint32_t* from, uint32_t* out) { *out = arch::load<Scope::system>(from); }

// AMD-LABEL:   {{^}}load_agent:
// GFX90A:      global_load_dwordx2 v{{.*}}] glc{{$}}
// GFX942:      global_load_dwordx2 v{{.*}}] sc1{{$}}
// GFX11:       global_load_b64 v{{.*}}] glc{{$}}
// GFX12:       global_load_b64 v{{.*}}] scope:SCOPE_DEV{{$}}
extern "C" __global__ void load_agent(const uint64_t* from, uint64_t* out) { *out = arch::load<Scope::agent>(from); }

// AMD-LABEL:   {{^}}load_workgroup:
// GFX90A:      global_load_dwordx2 v{{.*}}]{{$}}
// GFX942:      global_load_dwordx2 v{{.*}}] sc0{{$}}
// GFX11:       global_load_b64 v{{.*}}] glc{{$}}
// GFX12:       global_load_b64 v{{.*}}] scope:SCOPE_SE{{$}}
extern "C" __global__ void load_workgroup(const uint64_t* from, uint64_t* out) {
  *out = arch::load<Scope::workgroup>(from);
}

// AMD-LABEL:   {{^}}store_system:
// GFX90A:      global_store_dword v{{.*}}]{{$}}
// GFX942:      global_store_dword v{{.*}}] sc0 sc1{{$}}
// GFX11:       global_store_b32 v{{.*}}]{{$}}
// GFX12:       global_store_b32 v{{.*}}] scope:SCOPE_SYS{{$}}
extern "C" __global__ void store_system(uint32_t* to, uint32_t value) { arch::store<Scope::system>(to, value); }

// AMD-LABEL:   {{^}}store_agent:
// GFX90A:      global_store_dwordx2 v{{.*}}]{{$}}
// GFX942:      global_store_dwordx2 v{{.*}}] sc1{{$}}
// GFX11:       global_store_b64 v{{.*}}]{{$}}
// GFX12:       global_store_b64 v{{.*}}] scope:SCOPE_DEV{{$}}
extern "C" __global__ void store_agent(uint64_t* to, uint64_t value) { arch::store<Scope::agent>(to, value); }

// AMD-LABEL:   {{^}}fetch_add_agent:
// GFX9:        global_atomic_add_x2
// GFX11:       global_atomic_add_u64
// GFX12:       global_atomic_add_u64 {{.*}} scope:SCOPE_DEV
extern "C" __global__ void fetch_add_agent(uint64_t* to, uint64_t value) { arch::fetch_add<Scope::agent>(to, value); }

// AMD-LABEL:   {{^}}exchange_system:
// GFX90A:      global_atomic_swap v{{.*}} glc{{$}}
// GFX942:      global_atomic_swap v{{.*}} sc0 sc1{{$}}
// GFX11:       global_atomic_swap_b32 v{{.*}} glc{{$}}
// GFX12:       global_atomic_swap_b32 v{{.*}} th:TH_ATOMIC_RETURN scope:SCOPE_SYS{{$}}
extern "C" __global__ void exchange_system(uint32_t* to, uint32_t value, uint32_t* out) {
  *out = arch::exchange<Scope::system>(to, value);
}

// AMD-LABEL:   {{^}}compare_exchange_agent:
// GFX90A:      global_atomic_cmpswap_x2 v{{.*}} glc{{$}}
// GFX942:      global_atomic_cmpswap_x2 v{{.*}} sc0{{$}}
// GFX11:       global_atomic_cmpswap_b64 v{{.*}} glc{{$}}
// GFX12:       global_atomic_cmpswap_b64 v{{.*}} th:TH_ATOMIC_RETURN scope:SCOPE_DEV{{$}}
extern "C" __global__ void compare_exchange_agent(uint64_t* to, uint64_t value, uint32_t* out) {
  uint64_t expected = 5;
  *out = arch::compare_exchange<Scope::agent>(to, expected, value);
}

// No fence: the wait, and the store.
// AMD-LABEL:   {{^}}publish_agent:
// AMD-NOT:     {{wbl2|global_wb|_inv}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_wb|_inv}}
// GFX90A:      global_store_dwordx2 v{{.*}}]{{$}}
// GFX942:      global_store_dwordx2 v{{.*}}] sc1{{$}}
// GFX11:       global_store_b64 v{{.*}}]{{$}}
// GFX12:       global_store_b64 v{{.*}}] scope:SCOPE_DEV{{$}}
// AMD:         .amdhsa_kernel
// PTX:         .entry publish_agent(
// PTX:         st.release.gpu.global.b64
// PTX:         {{^[}]}}
extern "C" __global__ void publish_agent(uint64_t* to, uint64_t value) { arch::publish<Scope::agent>(to, value); }

// The second load is issued after the first has returned.
// AMD-LABEL:   {{^}}observe_system:
// AMD-NOT:     _inv
// AMD:         global_load_{{dwordx2|b64}}
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11-NEXT:  s_waitcnt vmcnt(0)
// GFX12-NEXT:  s_wait_loadcnt 0x0
// AMD-NOT:     _inv
// AMD:         global_load_{{dwordx2|b64}}
// AMD:         .amdhsa_kernel
// PTX:         .entry observe_system(
// PTX:         ld.acquire.sys.global.b64
// PTX:         ld.relaxed.sys.global.b64
// PTX:         {{^[}]}}
extern "C" __global__ void observe_system(const uint64_t* from, const uint64_t* then, uint64_t* out) {
  const uint64_t first = arch::observe<Scope::system>(from);
  *out = first + arch::load<Scope::system>(then);
}

// AMD-LABEL:   {{^}}acquire:
// GFX90A:      buffer_invl2
// GFX90A-NEXT: buffer_wbinvl1_vol
// GFX942:      buffer_inv sc0 sc1
// GFX11:       buffer_gl1_inv
// GFX11-NEXT:  buffer_gl0_inv
// GFX12:       global_inv scope:SCOPE_SYS
// AMD-NOT:     s_load
// AMD:         global_load_{{dword|b32}} v
// PTX:         .entry acquire(
// PTX:         fence.acq_rel.sys
// PTX:         {{^[}]}}
extern "C" __global__ void acquire(const uint32_t* from, uint32_t* out) {
  arch::acquire_system();
  *out = *from;
}

// The store is performed, for all of the system, before the load is issued.
// AMD-LABEL:   {{^}}full_fence:
// AMD:         global_store_{{dword|b32}}
// GFX9:        buffer_wbl2
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12:       s_wait_storecnt 0x0
// AMD:         {{buffer_inv|buffer_gl1_inv|global_inv}}
// AMD:         global_load_{{dword|b32}}
// AMD:         .amdhsa_kernel
// PTX:         .entry full_fence(
// PTX:         st.relaxed.sys.global.b32
// PTX:         fence.sc.sys
// PTX:         ld.relaxed.sys.global.b32
// PTX:         {{^[}]}}
extern "C" __global__ void full_fence(uint32_t* mine, const uint32_t* other, uint32_t* out) {
  arch::store<Scope::system>(mine, 1u);
  arch::full_fence_system();
  *out = arch::load<Scope::system>(other);
}

// AMD-LABEL:   {{^}}store_entry:
// GFX90A:      global_store_dwordx4 v{{.*}}] glc slc{{$}}
// GFX942:      global_store_dwordx4 v{{.*}}] nt{{$}}
// GFX11:       global_store_b128 v{{.*}}] glc slc dlc{{$}}
// GFX12:       global_store_b128 v{{.*}}] th:TH_STORE_NT{{$}}
extern "C" __global__ void store_entry(arch::Vec16* to, arch::Vec16 value) { arch::store_entry(to, value); }

// AMD-LABEL:   {{^}}store_entry8:
// GFX90A:      global_store_dwordx2 v{{.*}}]{{$}}
// GFX942:      global_store_dwordx2 v{{.*}}] sc0 sc1{{$}}
// GFX11:       global_store_b64 v{{.*}}]{{$}}
// GFX12:       global_store_b64 v{{.*}}] scope:SCOPE_SYS{{$}}
extern "C" __global__ void store_entry8(uint64_t* to, uint64_t value) { arch::store_entry8(to, value); }

// AMD-LABEL:   {{^}}store_entry_through:
// GFX90A:      global_store_dwordx4
// GFX942:      buffer_store_dwordx4 v{{.*}} offen sc0 sc1{{$}}
// GFX11:       global_store_b128
// GFX12:       global_store_b128 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off{{( offset:[0-9]+)?}} scope:SCOPE_SYS{{$}}
extern "C" __global__ void store_entry_through(arch::Vec16* ring, arch::Vec16 value) {
  arch::store_entry_through(ring, arch::thread_index() * 16, value);
}

// Elsewhere than on NVIDIA GPUs the same as without the argument.
// AMD-LABEL:   {{^}}release_in_gpu_memory:
// AMD:         global_store_{{dword|b32}}
// GFX90A:      buffer_wbl2{{$}}
// GFX942:      buffer_wbl2 sc0 sc1{{$}}
// GFX12:       global_wb scope:SCOPE_SYS{{$}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD:         global_store_{{dword|b32}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD:         global_store_{{dword|b32}}
// AMD:         .amdhsa_kernel
// PTX:         .entry release_in_gpu_memory(
// PTX-NOT:     fence.acq_rel.sys
// PTX-COUNT-4: fence.acq_rel.gpu
// PTX-NOT:     fence
// PTX:         {{^[}]}}
extern "C" __global__ void release_in_gpu_memory(uint32_t* words) {
  arch::store<Scope::agent>(words, 1u);
  arch::release_system<true>();
  arch::store<Scope::agent>(words + 1, 1u);
  arch::wait_stores<true>();
  arch::pass_on<true>();
  arch::wait_accesses<true>();
  arch::store<Scope::agent>(words + 2, 1u);
}

// AMD-LABEL:   {{^}}read_clock:
// GFX9:        s_memrealtime
// GFX10PLUS:   s_sendmsg_rtn_b64 {{.*}}MSG_RTN_GET_REALTIME
// PTX:         .entry read_clock(
// PTX:         %globaltimer
// PTX:         {{^[}]}}
extern "C" __global__ void read_clock(uint64_t* out) { *out = arch::clock(); }

// The word is there before the clock is read, and the clock before the exchange is issued.
// AMD-LABEL:   {{^}}read_fenced_clock:
// AMD:         global_load_{{dwordx2|b64}}
// GFX9:        buffer_wbl2
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     global_atomic
// GFX9:        s_memrealtime
// GFX9-NEXT:   s_waitcnt lgkmcnt(0)
// GFX11:       s_sendmsg_rtn_b64 {{.*}}MSG_RTN_GET_REALTIME
// GFX11-NEXT:  s_waitcnt lgkmcnt(0)
// GFX12:       s_sendmsg_rtn_b64 {{.*}}MSG_RTN_GET_REALTIME
// GFX12-NEXT:  s_wait_kmcnt 0x0
// AMD:         global_atomic_cmpswap
// AMD:         .amdhsa_kernel
// PTX:         .entry read_fenced_clock(
// PTX:         ld.relaxed.sys.global.b64
// PTX:         fence.sc.sys
// PTX:         %globaltimer
// PTX:         fence.sc.sys
// PTX:         atom{{.*}}cas
// PTX:         {{^[}]}}
extern "C" __global__ void read_fenced_clock(uint64_t* word, uint64_t* out) {
  uint64_t expected = arch::load<Scope::system>(word);
  const uint64_t now = arch::fenced_clock();
  if (arch::compare_exchange<Scope::system>(word, expected, expected + 1)) *out = now;
}
