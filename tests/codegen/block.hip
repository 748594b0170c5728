// SPDX-License-Identifier: MIT
// H38: a release of workgroup scope waits for nothing on CDNA. What the waves of a workgroup hand to each other is waited
// for by name: before a barrier, before a ticket is published, before the next wave's turn to ring.

#include <xio/device/nvme.hpp>

using namespace xio;

// AMD-LABEL:   {{^}}barrier:
// AMD:         global_store_{{dword|b32}}
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD:         s_barrier
// AMD:         .amdhsa_kernel
extern "C" __global__ void barrier(uint32_t* data) {
  data[arch::thread_index()] = 1;
  arch::block_barrier();
}

// The entries are released before the wave looks whether it is its turn; the doorbell is performed before the turn ends.
// AMD-LABEL:   {{^}}block_queue:
// AMD:         global_atomic_cmpswap
// AMD-COUNT-4: global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// GFX9:        buffer_wbl2
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12-NEXT:  s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_wb}}
// AMD:         s_sleep
// AMD-NOT:     {{wbl2|global_wb}}
// GFX90A:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:     global_store
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// GFX90A:      global_store_dwordx2 {{.*}} offset:16{{$}}
// GFX942:      global_store_dwordx2 {{.*}} offset:16 sc0{{$}}
// GFX11:       global_store_b64 {{.*}} offset:16{{$}}
// GFX12:       global_store_b64 {{.*}} offset:16 scope:SCOPE_SE{{$}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void block_queue(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::block, Trusting> queue(handle);
  queue.submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// Written through: no write-back to wait behind, so the wait stands alone.
// AMD-LABEL:   {{^}}block_through:
// GFX942:      buffer_store_dwordx4 {{.*}} sc0 sc1
// GFX942-NOT:  wbl2
// GFX942:      s_waitcnt vmcnt(0)
// GFX942-NOT:  wbl2
// GFX942:      s_sleep
// GFX942-NOT:  wbl2
// GFX12:       global_store_b128 {{.*}} scope:SCOPE_SYS
// GFX12-NOT:   global_wb
// GFX12:       s_wait_storecnt 0x0
// GFX12-NOT:   global_wb
// GFX12:       s_sleep
// GFX12-NOT:   global_wb
// AMD:         .amdhsa_kernel
extern "C" __global__ void block_through(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::block, WriteThrough<Trusting>> queue(handle);
  queue.submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}
