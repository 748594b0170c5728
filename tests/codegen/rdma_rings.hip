// SPDX-License-Identifier: MIT
// H1, H38: what a wave that shares an RDMA queue pair does once its entries are stored. One release, with its wait; then a
// single lane, the first of those that post, found at run time, stores the record, waits for it, and stores the doorbell.
// Nothing else is stored behind the release. And where each thread has a queue pair of its own, the doorbells are stored
// under masks of one lane, one after the other.

#include <xio/device/rdma/queue_pair.hpp>

#include "each_vendor.hpp"

using namespace xio;

namespace {
template <class Vendor, Sharing S>
XIO_DEVICE_INLINE void put(const rdma::QueuePairHandle& handle, const rdma::RemoteMemory& remote,
                           const Region& local) {
  rdma::QueuePair<Vendor, S, Unchecked> qp(handle);
  const uint64_t offset = uint64_t{4096} * arch::thread_index();
  (void)qp.put(remote.at(offset, 4096), local.at(offset, 4096), xio::Now{});
}
}  // namespace

#define WAVE(name, Vendor)                                                                                   \
  extern "C" __global__ void wave_##name(rdma::QueuePairHandle handle, rdma::RemoteMemory remote,          \
                                         Region local) {                                                     \
    put<Vendor, Sharing::wave>(handle, remote, local);                                                       \
  }
#define THREADS(name, Vendor)                                                                                \
  extern "C" __global__ void threads_##name(const rdma::QueuePairHandle* handles, rdma::RemoteMemory remote, \
                                            Region local) {                                                  \
    put<Vendor, Sharing::thread>(handles[arch::thread_index()], remote, local);                              \
  }
XIO_EACH_VENDOR(WAVE)
XIO_EACH_VENDOR(THREADS)

// AMD-LABEL:  {{^}}wave_mlx5:
// GFX9:       buffer_wbl2
// GFX9:       s_waitcnt vmcnt(0)
// GFX11:      s_waitcnt_vscnt null, 0x0
// GFX12:      global_wb scope:SCOPE_SYS
// GFX12:      s_wait_storecnt 0x0
// AMD-NOT:    global_store
// AMD:        v_cmp{{x?}}_eq_u32_e{{32|64}} {{.*}}s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64:     s_and_saveexec_b64
// AMD-NOT:    {{s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// AMD:        {{vmcnt|vscnt|storecnt}}
// AMD-NOT:    {{global_store|s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|buffer_wbl2|global_wb}}
// AMD:        .amdhsa_kernel

// AMD-LABEL:  {{^}}wave_bnxt:
// GFX9:       buffer_wbl2
// GFX9:       s_waitcnt vmcnt(0)
// GFX11:      s_waitcnt_vscnt null, 0x0
// GFX12:      global_wb scope:SCOPE_SYS
// GFX12:      s_wait_storecnt 0x0
// AMD-NOT:    global_store
// AMD:        v_cmp{{x?}}_eq_u32_e{{32|64}} {{.*}}s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64:     s_and_saveexec_b64
// AMD-NOT:    {{s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|buffer_wbl2|global_wb}}
// AMD:        .amdhsa_kernel

// AMD-LABEL:  {{^}}wave_ionic:
// GFX9:       buffer_wbl2
// GFX9:       s_waitcnt vmcnt(0)
// GFX11:      s_waitcnt_vscnt null, 0x0
// GFX12:      global_wb scope:SCOPE_SYS
// GFX12:      s_wait_storecnt 0x0
// AMD-NOT:    global_store
// AMD:        v_cmp{{x?}}_eq_u32_e{{32|64}} {{.*}}s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64:     s_and_saveexec_b64
// AMD-NOT:    {{s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|buffer_wbl2|global_wb}}
// AMD:        .amdhsa_kernel

// AMD-LABEL:  {{^}}wave_ernic:
// GFX9:       buffer_wbl2
// GFX9:       s_waitcnt vmcnt(0)
// GFX11:      s_waitcnt_vscnt null, 0x0
// GFX12:      global_wb scope:SCOPE_SYS
// GFX12:      s_wait_storecnt 0x0
// AMD-NOT:    global_store
// AMD:        v_cmp{{x?}}_eq_u32_e{{32|64}} {{.*}}s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64:     s_and_saveexec_b64
// AMD-NOT:    {{s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// AMD:        {{vmcnt|vscnt|storecnt}}
// AMD-NOT:    {{global_store|s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|buffer_wbl2|global_wb}}
// AMD:        .amdhsa_kernel

// AMD-LABEL:  {{^}}wave_rxe:
// GFX9:       buffer_wbl2
// GFX9:       s_waitcnt vmcnt(0)
// GFX11:      s_waitcnt_vscnt null, 0x0
// GFX12:      global_wb scope:SCOPE_SYS
// GFX12:      s_wait_storecnt 0x0
// AMD-NOT:    global_store
// AMD:        v_cmp{{x?}}_eq_u32_e{{32|64}} {{.*}}s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64:     s_and_saveexec_b64
// AMD-NOT:    {{s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// AMD:        {{vmcnt|vscnt|storecnt}}
// AMD-NOT:    {{global_store|s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:     global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:      global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:    {{global_store|buffer_wbl2|global_wb}}
// AMD:        .amdhsa_kernel

// AMD-LABEL:   {{^}}threads_mlx5:
// AMD-NOT:     s_bfm
// WAVE64:      ASMSTART{{[[:space:]]+}}s_mov_b64 [[ALL:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: s_mov_b64 [[TODO:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: 1: s_ff1_i32_b64 [[LANE:s[0-9]+]], [[TODO]]
// WAVE64-NEXT: s_bfm_b64 exec, 1, [[LANE]]
// WAVE32:      ASMSTART{{[[:space:]]+}}s_mov_b32 [[ALL:s[0-9]+]], exec_lo
// WAVE32-NEXT: s_mov_b32 [[TODO:s[0-9]+]], exec_lo
// WAVE32-NEXT: 1: s_ff1_i32_b32 [[LANE:s[0-9]+]], [[TODO]]
// WAVE32-NEXT: s_bfm_b32 exec_lo, 1, [[LANE]]
// GFX9-NEXT:   global_store_dwordx2 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off
// GFX10PLUS-NEXT: global_store_b64 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off
// WAVE64-NEXT: s_andn2_b64 [[TODO]], [[TODO]], exec
// WAVE32-NEXT: s_andn2_b32 [[TODO]], [[TODO]], exec_lo
// AMD-NEXT:    s_cbranch_scc1 1b
// WAVE64-NEXT: s_mov_b64 exec, [[ALL]]
// WAVE32-NEXT: s_mov_b32 exec_lo, [[ALL]]
// AMD-NOT:     global_store
// AMD:         .amdhsa_kernel

// AMD-LABEL:   {{^}}threads_bnxt:
// AMD-NOT:     s_bfm
// WAVE64:      ASMSTART{{[[:space:]]+}}s_mov_b64 [[ALL:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: s_mov_b64 [[TODO:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: 1: s_ff1_i32_b64 [[LANE:s[0-9]+]], [[TODO]]
// WAVE64-NEXT: s_bfm_b64 exec, 1, [[LANE]]
// WAVE32:      ASMSTART{{[[:space:]]+}}s_mov_b32 [[ALL:s[0-9]+]], exec_lo
// WAVE32-NEXT: s_mov_b32 [[TODO:s[0-9]+]], exec_lo
// WAVE32-NEXT: 1: s_ff1_i32_b32 [[LANE:s[0-9]+]], [[TODO]]
// WAVE32-NEXT: s_bfm_b32 exec_lo, 1, [[LANE]]
// GFX9-NEXT:   global_store_dwordx2 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off
// GFX10PLUS-NEXT: global_store_b64 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off
// WAVE64-NEXT: s_andn2_b64 [[TODO]], [[TODO]], exec
// WAVE32-NEXT: s_andn2_b32 [[TODO]], [[TODO]], exec_lo
// AMD-NEXT:    s_cbranch_scc1 1b
// WAVE64-NEXT: s_mov_b64 exec, [[ALL]]
// WAVE32-NEXT: s_mov_b32 exec_lo, [[ALL]]
// AMD-NOT:     global_store
// AMD:         .amdhsa_kernel

// AMD-LABEL:   {{^}}threads_ionic:
// AMD-NOT:     s_bfm
// WAVE64:      ASMSTART{{[[:space:]]+}}s_mov_b64 [[ALL:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: s_mov_b64 [[TODO:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: 1: s_ff1_i32_b64 [[LANE:s[0-9]+]], [[TODO]]
// WAVE64-NEXT: s_bfm_b64 exec, 1, [[LANE]]
// WAVE32:      ASMSTART{{[[:space:]]+}}s_mov_b32 [[ALL:s[0-9]+]], exec_lo
// WAVE32-NEXT: s_mov_b32 [[TODO:s[0-9]+]], exec_lo
// WAVE32-NEXT: 1: s_ff1_i32_b32 [[LANE:s[0-9]+]], [[TODO]]
// WAVE32-NEXT: s_bfm_b32 exec_lo, 1, [[LANE]]
// GFX9-NEXT:   global_store_dwordx2 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off
// GFX10PLUS-NEXT: global_store_b64 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off
// WAVE64-NEXT: s_andn2_b64 [[TODO]], [[TODO]], exec
// WAVE32-NEXT: s_andn2_b32 [[TODO]], [[TODO]], exec_lo
// AMD-NEXT:    s_cbranch_scc1 1b
// WAVE64-NEXT: s_mov_b64 exec, [[ALL]]
// WAVE32-NEXT: s_mov_b32 exec_lo, [[ALL]]
// AMD-NOT:     global_store
// AMD:         .amdhsa_kernel

// AMD-LABEL:   {{^}}threads_ernic:
// AMD-NOT:     s_bfm
// WAVE64:      ASMSTART{{[[:space:]]+}}s_mov_b64 [[ALL:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: s_mov_b64 [[TODO:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: 1: s_ff1_i32_b64 [[LANE:s[0-9]+]], [[TODO]]
// WAVE64-NEXT: s_bfm_b64 exec, 1, [[LANE]]
// WAVE32:      ASMSTART{{[[:space:]]+}}s_mov_b32 [[ALL:s[0-9]+]], exec_lo
// WAVE32-NEXT: s_mov_b32 [[TODO:s[0-9]+]], exec_lo
// WAVE32-NEXT: 1: s_ff1_i32_b32 [[LANE:s[0-9]+]], [[TODO]]
// WAVE32-NEXT: s_bfm_b32 exec_lo, 1, [[LANE]]
// GFX9-NEXT:   global_store_dword v[{{[0-9:]+}}], v{{[0-9]+}}, off
// GFX10PLUS-NEXT: global_store_b32 v[{{[0-9:]+}}], v{{[0-9]+}}, off
// WAVE64-NEXT: s_andn2_b64 [[TODO]], [[TODO]], exec
// WAVE32-NEXT: s_andn2_b32 [[TODO]], [[TODO]], exec_lo
// AMD-NEXT:    s_cbranch_scc1 1b
// WAVE64-NEXT: s_mov_b64 exec, [[ALL]]
// WAVE32-NEXT: s_mov_b32 exec_lo, [[ALL]]
// AMD-NOT:     global_store
// AMD:         .amdhsa_kernel

// AMD-LABEL:   {{^}}threads_rxe:
// AMD-NOT:     s_bfm
// WAVE64:      ASMSTART{{[[:space:]]+}}s_mov_b64 [[ALL:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: s_mov_b64 [[TODO:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: 1: s_ff1_i32_b64 [[LANE:s[0-9]+]], [[TODO]]
// WAVE64-NEXT: s_bfm_b64 exec, 1, [[LANE]]
// WAVE32:      ASMSTART{{[[:space:]]+}}s_mov_b32 [[ALL:s[0-9]+]], exec_lo
// WAVE32-NEXT: s_mov_b32 [[TODO:s[0-9]+]], exec_lo
// WAVE32-NEXT: 1: s_ff1_i32_b32 [[LANE:s[0-9]+]], [[TODO]]
// WAVE32-NEXT: s_bfm_b32 exec_lo, 1, [[LANE]]
// GFX9-NEXT:   global_store_dword v[{{[0-9:]+}}], v{{[0-9]+}}, off
// GFX10PLUS-NEXT: global_store_b32 v[{{[0-9:]+}}], v{{[0-9]+}}, off
// WAVE64-NEXT: s_andn2_b64 [[TODO]], [[TODO]], exec
// WAVE32-NEXT: s_andn2_b32 [[TODO]], [[TODO]], exec_lo
// AMD-NEXT:    s_cbranch_scc1 1b
// WAVE64-NEXT: s_mov_b64 exec, [[ALL]]
// WAVE32-NEXT: s_mov_b32 exec_lo, [[ALL]]
// AMD-NOT:     global_store
// AMD:         .amdhsa_kernel
