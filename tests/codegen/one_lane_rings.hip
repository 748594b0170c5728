// SPDX-License-Identifier: MIT
// H1: lanes that store doorbells in one step are merged on AMD GPUs, and rings get lost. A single lane is active at every
// doorbell store: one after the other where each thread has a queue of its own, the leader where lanes share one.

#include <xio/device/nvme/queue.hpp>

using namespace xio;

// A queue for each thread: the execution mask is set to one lane, again and again, and put back.
// AMD-LABEL:   {{^}}thread_queues:
// AMD-NOT:     {{global_store_(dword|b32) }}
// WAVE64:      ASMSTART{{[[:space:]]+}}s_mov_b64 [[ALL:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: s_mov_b64 [[TODO:s\[[0-9:]+\]]], exec
// WAVE64-NEXT: 1: s_ff1_i32_b64 [[LANE:s[0-9]+]], [[TODO]]
// WAVE64-NEXT: s_bfm_b64 exec, 1, [[LANE]]
// WAVE32:      ASMSTART{{[[:space:]]+}}s_mov_b32 [[ALL:s[0-9]+]], exec_lo
// WAVE32-NEXT: s_mov_b32 [[TODO:s[0-9]+]], exec_lo
// WAVE32-NEXT: 1: s_ff1_i32_b32 [[LANE:s[0-9]+]], [[TODO]]
// WAVE32-NEXT: s_bfm_b32 exec_lo, 1, [[LANE]]
// GFX90A-NEXT: global_store_dword v[{{[0-9:]+}}], v{{[0-9]+}}, off{{$}}
// GFX942-NEXT: global_store_dword v[{{[0-9:]+}}], v{{[0-9]+}}, off sc0 sc1
// GFX11-NEXT:  global_store_b32 v[{{[0-9:]+}}], v{{[0-9]+}}, off{{$}}
// GFX12-NEXT:  global_store_b32 v[{{[0-9:]+}}], v{{[0-9]+}}, off scope:SCOPE_SYS
// WAVE64-NEXT: s_andn2_b64 [[TODO]], [[TODO]], exec
// WAVE32-NEXT: s_andn2_b32 [[TODO]], [[TODO]], exec_lo
// AMD-NEXT:    s_cbranch_scc1 1b
// WAVE64-NEXT: s_mov_b64 exec, [[ALL]]
// WAVE32-NEXT: s_mov_b32 exec_lo, [[ALL]]
// AMD-NOT:     {{global_store_(dword|b32) }}
// AMD:         .amdhsa_kernel
extern "C" __global__ void thread_queues(const nvme::QueueHandle* handles, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handles[arch::thread_index()]);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// The same for the completion queue's doorbell.
// AMD-LABEL:   {{^}}thread_drains:
// AMD:         s_bfm_b{{64|32}} exec
// AMD-NEXT:    global_store_{{dword|b32}} v[{{[0-9:]+}}], v{{[0-9]+}}, off
// AMD:         .amdhsa_kernel
extern "C" __global__ void thread_drains(const nvme::QueueHandle* handles, uint32_t* taken) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handles[arch::thread_index()]);
  taken[arch::thread_index()] = queue.drain();
}

// A wave's queue: after the release only the first of the active lanes, found at run time, goes to the doorbell.
// AMD-LABEL:   {{^}}wave_queue:
// GFX9:        buffer_wbl2
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// AMD:         v_cmp{{x?}}_eq_u32_e{{32|64}} {{.*}}s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64:      s_and_saveexec_b64
// AMD-NOT:     {{s_(or|mov|xor|andn2|and_not1)_b(64|32) exec}}
// GFX90A:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// GFX90A-NOT:  global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942-NOT:  global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// AMD:         .amdhsa_kernel
extern "C" __global__ void wave_queue(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::wave, Unchecked> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// A queue of all waves: one lane of each wave looks at the tail. After the release the same lane rings, or links its
// claim, or calls what rings for others, all in one masked region: the mask from outside is put back behind the call and
// nowhere before. The link and the doorbell stand further down, in blocks that branches of the region lead to.
// AMD-LABEL:   {{^}}grid_queue:
// AMD:         global_atomic_cmpswap
// AMD-COUNT-4: {{global_store_(dwordx4|b128)}}
// WAVE64:      v_cmp_eq_u32_e{{32|64}} [[FIRST:vcc|s\[[0-9:]+\]]], s{{[0-9]+}}, v{{[0-9]+}}
// WAVE64-NOT:  {{[sv]_[a-z0-9_]+ }}[[FIRST]],
// WAVE64:      s_and_saveexec_b64 [[BEFORE:s\[[0-9:]+\]]], [[FIRST]]
// WAVE32:      v_cmp_eq_u32_e{{32|64}} [[FIRST:vcc_lo|s[0-9]+]], s{{[0-9]+}}, v{{[0-9]+}}
// WAVE32-NOT:  {{[sv]_[a-z0-9_]+ }}[[FIRST]],
// WAVE32:      s_and_saveexec_b32 [[BEFORE:s[0-9]+]], [[FIRST]]
// AMD-NOT:     {{global_(store|atomic)}}
// AMD:         global_load_{{dwordx2|b64}} v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] offset:16
// WAVE64-NOT:  {{[sv]_[a-z0-9_]+ }}[[FIRST]],
// WAVE64:      s_or_b64 exec, exec, [[BEFORE]]
// WAVE32-NOT:  {{[sv]_[a-z0-9_]+ }}[[FIRST]],
// WAVE32:      s_or_b32 exec_lo, exec_lo, [[BEFORE]]
// AMD-NOT:     {{global_(store|atomic)}}
// GFX9:        buffer_wbl2
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// WAVE64-NOT:  {{[sv]_[a-z0-9_]+ }}[[FIRST]],
// WAVE32-NOT:  {{[sv]_[a-z0-9_]+ }}[[FIRST]],
// WAVE64:      s_and_saveexec_b64 [[OUTSIDE:s\[[0-9:]+\]]], [[FIRST]]
// WAVE32:      s_and_saveexec_b32 [[OUTSIDE:s[0-9]+]], [[FIRST]]
// AMD-NOT:     {{s_(mov|not|x?n?or|orn2|or_not1|andn2|and_not1)_b(64|32) exec|s_(x?n?or|orn2|or_not1)_saveexec}}
// AMD:         s_cbranch_execnz [[LINK:.LBB[0-9_]+]]
// AMD-NOT:     {{s_(mov|not|x?n?or|orn2|or_not1|andn2|and_not1)_b(64|32) exec|s_(x?n?or|orn2|or_not1)_saveexec}}
// AMD:         s_cbranch_execnz [[RING:.LBB[0-9_]+]]
// WAVE64-NOT:  s_or_b64 exec, exec, [[OUTSIDE]]
// WAVE32-NOT:  s_or_b32 exec_lo, exec_lo, [[OUTSIDE]]
// AMD-NOT:     {{s_(mov|not)_b(64|32) exec}}
// AMD:         s_swappc_b64
// WAVE64:      s_or_b64 exec, exec, [[OUTSIDE]]
// WAVE32:      s_or_b32 exec_lo, exec_lo, [[OUTSIDE]]
// AMD:         s_branch
// AMD:         {{^}}[[LINK]]:
// AMD-NOT:     {{s_(mov|not|x?n?or|orn2|or_not1|andn2|and_not1)_b(64|32) exec|s_(x?n?or|orn2|or_not1)_saveexec}}
// AMD:         global_store_{{dwordx2|b64}}
// AMD-NOT:     {{s_(mov|not|x?n?or|orn2|or_not1|andn2|and_not1)_b(64|32) exec|s_(x?n?or|orn2|or_not1)_saveexec}}
// AMD:         {{^}}[[RING]]:
// AMD-NOT:     {{s_(mov|not|x?n?or|orn2|or_not1|andn2|and_not1)_b(64|32) exec|s_(x?n?or|orn2|or_not1)_saveexec}}
// GFX90A:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:     {{global_(store|atomic|load)|s_(or|mov|xor|andn2|and_not1|not)_b(64|32) exec}}
// AMD:         {{vmcnt\(0\)|vscnt|storecnt}}
// AMD-NOT:     {{global_(store|load)|s_(or|mov|xor|andn2|and_not1|not)_b(64|32) exec}}
// AMD:         global_atomic_cmpswap_{{x2|b64}}
// AMD-NOT:     global_store
// AMD:         .amdhsa_kernel
extern "C" __global__ void grid_queue(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::grid, Trusting> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// What it calls runs with the caller's lanes: no mask comes from elsewhere.
// AMD-LABEL:   {{^_ZN3xio.*8protocol7advance.*}}:
// AMD-NOT:     {{s_(mov|not)_b(64|32) exec|_saveexec_b(64|32) s.*, -1}}
// AMD:         global_store_{{dword|b32}} v[{{[0-9:]+}}], v{{[0-9]+}}, off
// AMD-NOT:     {{global_store|s_(mov|not)_b(64|32) exec|_saveexec_b(64|32) s.*, -1}}
// AMD:         s_setpc_b64
