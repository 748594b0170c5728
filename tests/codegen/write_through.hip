// SPDX-License-Identifier: MIT
// The WriteThrough policy: entries carry the cache bits of a system-scope store, and no cache is written back. Targets that
// have no such bits store as for Release there (gfx11), or release after all (gfx90a).

#include <xio/device/nvme/queue.hpp>

using namespace xio;

// AMD-LABEL:   {{^}}through_thread:
// AMD-NOT:      {{v_readfirstlane|s_cbranch_exec}}
// GFX942-COUNT-4: buffer_store_dwordx4 v[{{.*}}], v{{[0-9]+}}, s[{{.*}}], 0 offen{{.*}} sc0 sc1
// GFX11-COUNT-4: global_store_b128
// GFX12-COUNT-4: global_store_b128 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off{{( offset:[0-9]+)?}} scope:SCOPE_SYS
// GFX90A-COUNT-4: global_store_dwordx4
// AMD-NOT:      {{(global|buffer)_store_(dwordx4|b128)|s_cbranch_exec}}
// GFX90A:       buffer_wbl2
// GFX942-NOT:   {{wbl2|buffer_inv}}
// GFX10PLUS-NOT: {{global_wb|(global|buffer|gl0|gl1)_inv}}
// GFX9:         s_waitcnt vmcnt(0)
// GFX11:        s_waitcnt vmcnt(0)
// GFX11:        s_waitcnt_vscnt null, 0x0
// GFX12:        s_wait_loadcnt 0x0
// GFX12:        s_wait_storecnt 0x0
// GFX942-NOT:   {{wbl2|buffer_inv}}
// GFX10PLUS-NOT: {{global_wb|(global|buffer|gl0|gl1)_inv}}
// AMD:          global_store_{{dword|b32}} v[
// GFX942-NOT:   {{wbl2|buffer_inv}}
// GFX10PLUS-NOT: {{global_wb|(global|buffer|gl0|gl1)_inv}}
// AMD:          .amdhsa_kernel
// PTX:          .entry through_thread(
// PTX-COUNT-4:  st.global.wt.v4.u32
// PTX:          fence.acq_rel.sys
// PTX:          st.relaxed.sys.global.b32
// PTX:          {{^[}]}}
extern "C" __global__ void through_thread(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::thread, Policy<Unchecked, WriteThrough>> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// A wave: transposed as always; the ring is one for all lanes, known or not to the compiler, so there is no loop over its
// values (H38).
// AMD-LABEL:   {{^}}through_wave:
// AMD:          quad_perm:[1,0,3,2]
// AMD-NOT:      {{s_cbranch_execnz|wbl2|global_wb}}
// GFX942-COUNT-4: buffer_store_dwordx4 v[{{.*}}], v{{[0-9]+}}, s[{{.*}}], 0 offen sc0 sc1
// GFX12-COUNT-4: global_store_b128 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off{{( offset:[0-9]+)?}} scope:SCOPE_SYS
// GFX11-COUNT-4: global_store_b128
// GFX90A-COUNT-4: global_store_dwordx4
// AMD-NOT:      s_cbranch_execnz
// AMD:          .amdhsa_kernel
extern "C" __global__ void through_wave(const nvme::Sqe* entries, nvme::Sqe* const* rings, uint64_t storing) {
  const uint32_t lane = arch::lane();
  enqueue_wave<store::Through>(arch::active(), storing, entries[lane], rings[lane / 64], lane);
}

// One lane, and a ring that differs between lanes (one queue for each thread): right for each, on gfx942 at the price of a
// loop over the rings. No entry may go to another lane's ring.
// AMD-LABEL:   {{^}}through_rings_apart:
// GFX942:       v_readfirstlane_b32
// GFX942:       s_and_saveexec_b64
// GFX942:       buffer_store_dwordx4 v[{{.*}}], v{{[0-9]+}}, s[{{.*}}], 0 offen sc0 sc1
// GFX942:       s_cbranch_execnz
// GFX12-COUNT-4: global_store_b128 v[{{[0-9:]+}}], v[{{[0-9:]+}}], off{{( offset:[0-9]+)?}} scope:SCOPE_SYS
// GFX90A-COUNT-4: global_store_dwordx4 v[
// GFX11-COUNT-4: global_store_b128 v[
// AMD:          .amdhsa_kernel
extern "C" __global__ void through_rings_apart(nvme::Sqe entry, nvme::Sqe* const* rings, uint32_t slot) {
  XioComEnqueue<store::Through>(entry, rings[arch::thread_index()], slot);
}

// The stores of an entry do not wait for each other; the doorbell waits for all of them. Where nothing is written through,
// a doorbell that is told that entries were stored so writes the cache back.
// AMD-LABEL:   {{^}}through_then_stored:
// AMD:          {{(global|buffer)_store_(dwordx4|b128)}}
// AMD-NOT:      {{s_waitcnt_vscnt|s_wait_storecnt|vmcnt}}
// AMD:          {{(global|buffer)_store_(dwordx4|b128)}}
// AMD-NOT:      {{s_waitcnt_vscnt|s_wait_storecnt|vmcnt}}
// AMD:          {{(global|buffer)_store_(dwordx4|b128)}}
// AMD-NOT:      {{s_waitcnt_vscnt|s_wait_storecnt|vmcnt}}
// AMD:          {{(global|buffer)_store_(dwordx4|b128)}}
// GFX90A:       buffer_wbl2
// GFX942-NOT:   wbl2
// GFX10PLUS-NOT: global_wb
// GFX9:         s_waitcnt vmcnt(0)
// GFX11:        s_waitcnt_vscnt null, 0x0
// GFX12:        s_wait_storecnt 0x0
// AMD:          global_store_{{dword|b32}}
// AMD:          .amdhsa_kernel
extern "C" __global__ void through_then_stored(nvme::Sqe* ring, uint32_t* doorbell, uint32_t slot, nvme::Sqe entry) {
  if (arch::lane() != 0) return;
  XioComEnqueue<store::Through>(entry, ring, slot);
  XioComDoorbell<order::Stored>(doorbell, slot + 1);
}

// The list of a long transfer is stored through the cache as well: nothing writes it back.
// AMD-LABEL:   {{^}}through_list:
// GFX942-NOT:   wbl2
// GFX942:       global_store_dwordx2 v{{.*}} sc0 sc1
// GFX942-NOT:   wbl2
// GFX12-NOT:    global_wb
// GFX12:        global_store_b64 v{{.*}} scope:SCOPE_SYS
// GFX12-NOT:    global_wb
// AMD:          .amdhsa_kernel
extern "C" __global__ void through_list(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::thread, Policy<Trusting, WriteThrough>> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 64), nvme::ContiguousPages{bus});
}

// publish_payload() is the release that the policy leaves out.
// AMD-LABEL:   {{^}}through_payload:
// GFX942:       buffer_wbl2 sc0 sc1
// GFX12:        global_wb scope:SCOPE_SYS
// AMD:          .amdhsa_kernel
extern "C" __global__ void through_payload(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, uint32_t* data) {
  nvme::Queue<Sharing::thread, Policy<Unchecked, WriteThrough>> queue(handle);
  *data = 7;
  queue.publish_payload();
  (void)queue.try_submit(nvme::write(lba, 1), nvme::DataPointer{bus});
}
