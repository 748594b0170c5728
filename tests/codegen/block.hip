// SPDX-License-Identifier: MIT
// H38: a release of workgroup scope waits for nothing on CDNA. What the waves of a workgroup hand to each other is waited
// for by name: before a barrier, before a ticket is published, before the next wave's turn to ring.

#include <xio/device/nvme/queue.hpp>

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

// The tail is looked at, then the entries are released, once, and only then anything else is stored. Who found the tail
// elsewhere stores its link, waits, and looks again. Who found it at its claim stores the tail and the doorbell, which is
// performed before the ringing bit is given back.
// AMD-LABEL:   {{^}}block_queue:
// AMD-NOT:     {{global_store_(dword|b32|dwordx2|b64) }}
// AMD:         global_atomic_cmpswap
// AMD-NOT:     {{global_store_(dword|b32|dwordx2|b64) }}
// AMD-COUNT-4: global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{global_store_(dword|b32|dwordx2|b64) |wbl2|global_wb}}
// GFX90A:      global_load_dwordx2 v[{{[0-9:]+}}], v{{[0-9]+}}, [[STATE:s\[[0-9:]+\]]] offset:16{{$}}
// GFX942:      global_load_dwordx2 v[{{[0-9:]+}}], v{{[0-9]+}}, [[STATE:s\[[0-9:]+\]]] offset:16 sc0{{$}}
// GFX11:       global_load_b64 v[{{[0-9:]+}}], v{{[0-9]+}}, [[STATE:s\[[0-9:]+\]]] offset:16 glc{{$}}
// GFX12:       global_load_b64 v[{{[0-9:]+}}], v{{[0-9]+}}, [[STATE:s\[[0-9:]+\]]] offset:16 scope:SCOPE_SE{{$}}
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// AMD-NOT:     {{global_(store|atomic|load)}}
// GFX9:        buffer_wbl2
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12-NEXT:  s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_(wb|store|atomic)}}
// The link:
// GFX90A:      global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], [[LINKS:s\[[0-9:]+\]]]{{$}}
// GFX942:      global_store_dwordx2 v{{[0-9]+}}, v[{{[0-9:]+}}], [[LINKS:s\[[0-9:]+\]]] sc0{{$}}
// GFX11:       global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], [[LINKS:s\[[0-9:]+\]]]{{$}}
// GFX12:       global_store_b64 v{{[0-9]+}}, v[{{[0-9:]+}}], [[LINKS:s\[[0-9:]+\]]] scope:SCOPE_SE{{$}}
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// AMD:         global_load_{{dwordx2|b64}} v[{{[0-9:]+}}], v{{[0-9]+}}, [[STATE]] offset:16
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// The tail and the doorbell:
// AMD:         global_atomic_swap_{{x2|b64}} v{{[0-9]+}}, v[{{[0-9:]+}}], [[STATE]] offset:16{{( scope:SCOPE_SE)?$}}
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// GFX90A:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX942:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] sc0 sc1
// GFX11:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]{{$}}
// GFX12:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}] scope:SCOPE_SYS
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// AMD:         global_atomic_cmpswap_{{x2|b64}} v[{{[0-9:]+}}], v{{[0-9]+}}, v[{{[0-9:]+}}], [[STATE]] offset:16
// The exchange has returned before the next link is loaded.
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// AMD:         global_load_{{dwordx2|b64}} v[{{[0-9:]+}}], v{{[0-9]+}}, [[LINKS]]
// AMD-NOT:     {{wbl2|global_(wb|store|atomic)}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void block_queue(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::block, Trusting> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// Written through: no write-back to wait behind, so the wait stands alone.
// AMD-LABEL:   {{^}}block_through:
// GFX942-NOT:  wbl2
// GFX942:      buffer_store_dwordx4 {{.*}} sc0 sc1
// GFX942-NOT:  {{wbl2|global_(store|atomic|load)}}
// GFX942:      global_load_dwordx2 v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] offset:16 sc0
// GFX942-NOT:  {{wbl2|[a-z]+_(store|atomic)}}
// GFX942:      s_waitcnt vmcnt(0)
// GFX942-NOT:  {{wbl2|buffer_store}}
// GFX12-NOT:   global_wb
// GFX12:       global_store_b128 {{.*}} scope:SCOPE_SYS
// GFX12-NOT:   {{global_(wb|atomic|load)|global_store_b(32|64)}}
// GFX12:       global_load_b64 v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] offset:16 scope:SCOPE_SE
// GFX12-NOT:   {{global_(wb|store|atomic)}}
// GFX12:       s_wait_loadcnt 0x0
// GFX12:       s_wait_storecnt 0x0
// GFX12-NOT:   {{global_wb|global_store_b128}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void block_through(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::block, Policy<Trusting, WriteThrough>> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// Called by who finds a link or rings for others: each doorbell is performed before the bit is given back, and what the
// links' owners have released is not written back again.
// AMD-LABEL:   {{^_ZN3xio.*8protocol7advance.*}}:
// AMD-NOT:     {{wbl2|global_(wb|store|atomic)}}
// GFX90A:      global_store_dword v[{{[0-9:]+}}], v{{[0-9]+}}, off{{$}}
// GFX942:      global_store_dword v[{{[0-9:]+}}], v{{[0-9]+}}, off sc0 sc1
// GFX11:       global_store_b32 v[{{[0-9:]+}}], v{{[0-9]+}}, off{{$}}
// GFX12:       global_store_b32 v[{{[0-9:]+}}], v{{[0-9]+}}, off scope:SCOPE_SYS
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_(wb|store|atomic|load)}}
// AMD:         global_atomic_cmpswap_{{x2|b64}} {{.*}} off offset:16
// AMD-NOT:     {{wbl2|global_(wb|store)}}
// AMD:         s_setpc_b64
