// SPDX-License-Identifier: MIT
// One lane posts one command. The kernels' instructions are held to budgets (budgets.cmake); here is what they must be:
// four 16-byte stores for the entry and no wait among them, then one release, then one doorbell.

#include <xio/device/nvme/queue.hpp>

using namespace xio;

// Room in the ring is checked, nothing else.
// AMD-LABEL:   {{^}}post_room:
// AMD-NOT:     {{(global|buffer)_store_(dwordx4|b128)}}
// AMD:         global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{vmcnt|vscnt|storecnt|wbl2|global_wb}}
// AMD:         global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{vmcnt|vscnt|storecnt|wbl2|global_wb}}
// AMD:         global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{vmcnt|vscnt|storecnt|wbl2|global_wb}}
// AMD:         global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{(global|buffer)_store_(dwordx4|b128)}}
// GFX9:        buffer_wbl2
// GFX12:       global_wb scope:SCOPE_SYS
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// GFX9-NOT:    {{buffer_wb|buffer_inv|buffer_store|global_store}}
// GFX11-NOT:   {{(gl0|gl1)_inv|global_store}}
// GFX12-NOT:   {{global_wb|global_inv|global_store}}
// GFX90A:      global_store_dword v{{.*}}, off{{$}}
// GFX942:      global_store_dword v{{.*}}, off sc0 sc1
// GFX11:       global_store_b32 v{{.*}}, off{{$}}
// GFX12:       global_store_b32 v{{.*}}, off scope:SCOPE_SYS
// AMD-NOT:     {{(global|buffer)_(store|wb|inv)}}
// AMD:         .amdhsa_kernel
//
// PTX:         .entry post_room(
// PTX-NOT:     st.global.cg.v4
// PTX-COUNT-4: st.global.cg.v4.u32
// PTX-NOT:     {{st\.cg|st\.volatile}}
// PTX:         fence.acq_rel.sys
// PTX-NOT:     {{fence|membar}}
// PTX:         st.relaxed.sys.global.b32
// PTX-NOT:     {{fence|membar|st\.relaxed}}
// PTX:         {{^[}]}}
extern "C" __global__ void post_room(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// The token is stored besides.
extern "C" __global__ void post_token(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, Token* token) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handle);
  *token = queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}

// The command identifier's last use is checked; the data takes two pages at most.
extern "C" __global__ void post_guard(nvme::QueueHandle handle, uint64_t lba, uint64_t bus) {
  nvme::Queue<Sharing::thread, Trusting> queue(handle);
  (void)queue.try_submit(nvme::read(lba, 8), nvme::ContiguousPages{bus});
}

// Everything is checked, as by default.
// AMD-LABEL:   {{^}}post_checked:
// AMD-COUNT-4: global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// GFX9:        buffer_wbl2
// GFX9-NEXT:   s_waitcnt vmcnt(0)
// GFX12:       global_wb scope:SCOPE_SYS
// GFX12-NEXT:  s_wait_storecnt 0x0
extern "C" __global__ void post_checked(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, Token* token) {
  nvme::Queue<Sharing::thread, xio::Policy<>> queue(handle);
  *token = queue.try_submit(nvme::read(lba, 8), nvme::ContiguousPages{bus});
}

// A loop with the queue's state in registers: no access to it within.
// AMD-LABEL:   {{^}}post_loop:
// AMD:         Loop Header
// AMD-NOT:     {{(global|flat|buffer|s)_load}}
// AMD-COUNT-4: global_store_{{dwordx4|b128}} {{.*(nt|slc|TH_STORE_NT)}}
// AMD-NOT:     {{(global|flat|buffer|s)_load}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX9-NOT:    global_store_dwordx2
// GFX9:        global_store_dword v
// AMD:         .amdhsa_kernel
extern "C" __global__ void post_loop(nvme::QueueHandle handle, uint64_t lba, uint64_t bus, uint32_t count) {
  nvme::Queue<Sharing::thread, Unchecked> queue(handle);
  auto session = queue.session();
  for (uint32_t i = 0; i < count; ++i) (void)session.try_submit(nvme::read(lba + i * 8, 8), nvme::DataPointer{bus});
  session.end();
}

// One look at a completion, and what it says; the caller knows where, and which phase is new there.
extern "C" __global__ void look(const nvme::Cqe* entries, uint32_t head, uint32_t phase, uint32_t* answer) {
  const uint64_t word = nvme::CompletionFormat::look(entries + head);
  if (nvme::CompletionFormat::valid(word, phase != 0)) {
    *answer = nvme::CompletionFormat::status(word) == 0 ? 1 : 2;
  }
}

// The same, with both worked out of the number of the completion.
extern "C" __global__ void look_at(const nvme::Cqe* entries, uint32_t index, uint32_t mask, uint32_t* answer) {
  const uint64_t word = nvme::CompletionFormat::look(&ring::element(entries, mask, index));
  if (nvme::CompletionFormat::valid(word, ring::phase(index, mask))) {
    *answer = nvme::CompletionFormat::status(word) == 0 ? 1 : 2;
  }
}
