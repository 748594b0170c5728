// SPDX-License-Identifier: MIT
// Fences of a doorbell (H9): one release for each ring, and its wait also where nothing else is outstanding; one fence
// between a doorbell record and the doorbell; what XioComDoorbell's orders emit.

#include <xio/device/core/com.hpp>

using namespace xio;

// A kernel that only rings: compilers drop the wait after the write-back here, and the doorbell could overtake it.
// AMD-LABEL:   {{^}}ring_only:
// AMD-NOT:     {{buffer_|global_|s_waitcnt_vscnt|s_wait_storecnt}}
// GFX90A:      buffer_wbl2
// GFX942:      buffer_wbl2 sc0 sc1
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{buffer_|global_wb|(global|buffer|gl0|gl1)_inv}}
// AMD:         global_store_{{dword|b32}}
// AMD-NOT:     {{buffer_|global_}}
// AMD:         .amdhsa_kernel
// PTX:         .entry ring_only(
// PTX:         fence.acq_rel.sys
// PTX-NOT:     {{fence|membar}}
// PTX:         st.relaxed.sys.global.b32
// PTX:         {{^[}]}}
extern "C" __global__ void ring_only(uint32_t* doorbell, uint32_t tail) { XioComDoorbell(doorbell, tail); }

// After stores that were written through: waits for them and for loads, whose memory the device may be told to write, and no
// write-back, except where nothing can be written through.
// AMD-LABEL:   {{^}}ring_stored:
// GFX90A:      buffer_wbl2
// GFX942-NOT:  {{wbl2|buffer_inv}}
// GFX10PLUS-NOT: {{global_wb|(global|buffer|gl0|gl1)_inv}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_loadcnt 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_wb|(global|buffer|gl0|gl1)_inv}}
// AMD:         global_store_{{dword|b32}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void ring_stored(uint32_t* doorbell, uint32_t tail) { XioComDoorbell<order::Stored>(doorbell, tail); }

// The caller has released: the store and nothing else.
// AMD-LABEL:   {{^}}ring_relaxed:
// AMD-NOT:     {{wbl2|global_wb|(global|buffer|gl0|gl1)_inv|vmcnt|vscnt|storecnt}}
// AMD:         global_store_{{dword|b32}}
// AMD-NOT:     {{wbl2|global_wb|(global|buffer|gl0|gl1)_inv|vmcnt|vscnt|storecnt}}
// AMD:         .amdhsa_kernel
// PTX:         .entry ring_relaxed(
// PTX-NOT:     {{fence|membar}}
// PTX:         st.relaxed.sys.global.b32
// PTX:         {{^[}]}}
extern "C" __global__ void ring_relaxed(uint32_t* doorbell, uint32_t tail) {
  XioComDoorbell<order::Relaxed>(doorbell, tail);
}

// Entry, doorbell record, doorbell: one write-back and two waits, in this order. The record is a coherent store, so that
// nothing has to be written back for it.
// AMD-LABEL:   {{^}}record_then_ring:
// GFX9:        global_store_dwordx4
// GFX9:        buffer_wbl2
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX9-NOT:    buffer_
// GFX9:        global_store_dword
// GFX9-NOT:    buffer_
// GFX9:        s_waitcnt vmcnt(0)
// GFX9-NOT:    buffer_
// GFX9:        global_store_dword
// GFX11:       global_store_b128
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX11:       global_store_b32
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX11:       global_store_b32
// GFX12:       global_store_b128
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12:       s_wait_storecnt 0x0
// GFX12-NOT:   global_wb
// GFX12:       global_store_b32
// GFX12-NOT:   global_wb
// GFX12:       s_wait_storecnt 0x0
// GFX12-NOT:   global_wb
// GFX12:       global_store_b32
// AMD:         .amdhsa_kernel
extern "C" __global__ void record_then_ring(arch::Vec16* entry, arch::Vec16 value, uint32_t* record, uint32_t* doorbell,
                                            uint32_t tail) {
  arch::store_entry(entry, value);
  XioComDoorbell<order::Release>(record, tail);
  arch::wait_stores();
  XioComDoorbell<order::Relaxed>(doorbell, tail);
}

// A doorbell, and the exchange after which another wave may ring: a wait on AMD; on NVIDIA the exchange releases.
// AMD-LABEL:   {{^}}ring_then_pass:
// AMD:         global_store_{{dword|b32}}
// AMD-NOT:     {{wbl2|global_wb}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_wb}}
// AMD:         global_atomic_cmp{{swap_x2|swap_b64}}
// AMD:         .amdhsa_kernel
// PTX:         .entry ring_then_pass(
// PTX-NOT:     {{fence|membar}}
// PTX:         st.relaxed.sys.global.b32
// PTX-NOT:     {{fence|membar}}
// PTX:         atom.cas.acq_rel.gpu.global.b64
// PTX:         {{^[}]}}
extern "C" __global__ void ring_then_pass(uint32_t* doorbell, uint32_t value, uint64_t* tail, uint64_t expected) {
  XioComDoorbell<order::Relaxed>(doorbell, value);
  arch::wait_before_exchange();
  arch::compare_exchange_ordered<arch::Scope::agent>(tail, expected, expected + 2);
}

// A link, and the look at the tail behind it, in one order with the exchanges of the tail.
// AMD-LABEL:   {{^}}link_then_look:
// AMD:         global_store_{{dwordx2|b64}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD:         global_load_{{dwordx2|b64}}
// AMD:         .amdhsa_kernel
// PTX:         .entry link_then_look(
// PTX-NOT:     {{fence|membar}}
// PTX:         st.relaxed.gpu.global.b64
// PTX-NOT:     {{fence|membar}}
// PTX:         atom.add.acq_rel.gpu.global.u64
// PTX-NOT:     {{fence|membar}}
// PTX:         {{^[}]}}
extern "C" __global__ void link_then_look(uint64_t* link, uint64_t value, uint64_t* tail, uint64_t* out) {
  arch::store<arch::Scope::agent>(link, value);
  arch::wait_before_exchange();
  *out = arch::observe_ordered<arch::Scope::agent>(tail);
}
