// SPDX-License-Identifier: MIT
// A wave submits together: entries are transposed in full quads of lanes, so that one store instruction writes whole
// 64-byte entries (16 of them on a wave of 64, 8 on a wave of 32); lanes outside of full quads store their own.

#include <xio/device/nvme/queue.hpp>

using namespace xio;

// Four store instructions for a wave's worth of entries, at offsets exchanged within quads; then the own-entry path. On
// NVIDIA the four serve all lanes.
// AMD-LABEL:   {{^}}enqueue:
// AMD-NOT:     {{(global|buffer)_store}}
// AMD-DAG:     quad_perm:[1,0,3,2]
// AMD-DAG:     quad_perm:[2,3,0,1]
// AMD-DAG:     quad_perm:[0,0,0,0]
// AMD-DAG:     quad_perm:[1,1,1,1]
// AMD-DAG:     quad_perm:[2,2,2,2]
// AMD-DAG:     quad_perm:[3,3,3,3]
// AMD:         global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{offset:|vmcnt|vscnt|storecnt|s_cbranch}}
// AMD:         global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{offset:|vmcnt|vscnt|storecnt|s_cbranch}}
// AMD:         global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{offset:|vmcnt|vscnt|storecnt|s_cbranch}}
// AMD:         global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{(global|buffer)_store}}
// AMD:         s_cbranch
// AMD-NOT:     quad_perm
// AMD-COUNT-4: global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{(global|buffer)_store}}
// AMD:         .amdhsa_kernel
//
// PTX:         .entry enqueue(
// PTX-COUNT-20: shfl.sync.idx.b32
// PTX-NOT:     shfl.sync
// PTX-COUNT-4: st.global.cg.v4.u32
// PTX-NOT:     st.global.cg.v4.u32
// PTX:         {{^[}]}}
extern "C" __global__ void enqueue(nvme::Sqe* ring, const nvme::Sqe* entries, uint64_t storing) {
  enqueue_wave(arch::active(), storing, entries[arch::lane()], ring, arch::lane());
}

// Every lane stores: a full wave goes through four stores and never to the own-entry path, which a branch passes by.
// One release, and the doorbell of one lane.
// AMD-LABEL:   {{^}}submit_batch:
// AMD:         quad_perm:[1,0,3,2]
// AMD-COUNT-4: global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// GFX9:        buffer_wbl2
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{wbl2|global_wb|(global|buffer|gl0|gl1)_inv}}
// AMD:         s_and_saveexec_b
// GFX90A:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{.*}}]{{$}}
// GFX942:      global_store_dword v{{[0-9]+}}, v{{[0-9]+}}, s[{{.*}}] sc0 sc1
// GFX11:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{.*}}]{{$}}
// GFX12:       global_store_b32 v{{[0-9]+}}, v{{[0-9]+}}, s[{{.*}}] scope:SCOPE_SYS
// AMD-NOT:     {{wbl2|global_wb|(global|buffer|gl0|gl1)_inv}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void submit_batch(nvme::QueueHandle handle, const nvme::Piece* pieces, Token* token) {
  nvme::Queue<Sharing::wave, xio::Policy<>> queue(handle);
  *token = queue.submit_batch(nvme::Opcode::read, pieces, arch::wave_size(), Now{});
}

// One command a lane: the same stores.
// AMD-LABEL:   {{^}}submit_lanes:
// AMD:         quad_perm:[1,0,3,2]
// AMD-COUNT-4: global_store_{{dwordx4|b128}} v{{[0-9]+}}, {{.*(nt|slc|TH_STORE_NT)}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void submit_lanes(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, Token* tokens) {
  nvme::Queue<Sharing::wave, Trusting> queue(handle);
  const uint32_t lane = arch::lane();
  tokens[lane] = queue.try_submit(nvme::read(lba + lane * 8, 8), nvme::ContiguousPages{bus + lane * uint64_t{4096}});
}
