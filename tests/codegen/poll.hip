// SPDX-License-Identifier: MIT
// Waiting: coherent loads and a pause in the loop, one acquire behind it, nothing of an entry read before its valid bit
// (H27), no clock or flag in memory. That no loop holds a fence is counted as well (budgets.cmake).

#include <xio/device/nvme/queue.hpp>

using namespace xio;

// The data behind the word is read after the acquire, and not through the scalar cache, which no acquire reaches.
// AMD-LABEL:   {{^}}wait_word:
// GFX90A:      global_load_dwordx2 v[{{.*}}] glc{{$}}
// GFX942:      global_load_dwordx2 v[{{.*}}] sc0 sc1{{$}}
// GFX11:       global_load_b64 v[{{.*}}] glc{{$}}
// GFX12:       global_load_b64 v[{{.*}}] scope:SCOPE_SYS{{$}}
// AMD-NOT:     {{wbl2|global_wb|_inv|wbinv}}
// AMD:         s_sleep
// AMD-NOT:     {{wbl2|global_wb|_inv|wbinv}}
// GFX90A:      buffer_invl2
// GFX90A-NEXT: buffer_wbinvl1_vol
// GFX942:      buffer_inv sc0 sc1
// GFX11:       buffer_gl1_inv
// GFX11-NEXT:  buffer_gl0_inv
// GFX12:       global_inv scope:SCOPE_SYS
// AMD-NOT:     {{_inv|wbinv|s_load}}
// AMD:         global_load_{{dword|b32}} v
// AMD:         .amdhsa_kernel
//
// PTX:         .entry wait_word(
// PTX-NOT:     {{ld\.acquire|ld\.relaxed|fence}}
// PTX:         nanosleep
// PTX-NOT:     {{ld\.acquire|ld\.relaxed|fence}}
// PTX:         ld.relaxed.sys.global.b64
// PTX-NOT:     {{ld\.acquire|ld\.relaxed|nanosleep}}
// PTX:         fence.acq_rel.sys
// PTX-NOT:     {{fence|nanosleep}}
// PTX:         {{^[}]}}
extern "C" __global__ void wait_word(const uint64_t* word, uint64_t at_least, const uint32_t* data, uint32_t* copy) {
  if (wait_until(word, at_least, deadline(1_ms)).is_ok()) *copy = *data;
}

// The first load of an entry is that of the word with the valid bit; the program waits for it and branches on it before it
// loads the other half.
// AMD-LABEL:   {{^}}drain:
// AMD-NOT:     {{global_load_.* (glc|sc0 sc1|scope:SCOPE_SYS)$}}
// GFX9:        global_load_dwordx2 v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] offset:8 {{glc|sc0 sc1}}{{$}}
// GFX10PLUS:   global_load_b64 v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] offset:8 {{glc|scope:SCOPE_SYS}}{{$}}
// AMD-NOT:     {{global_load_.* (glc|sc0 sc1|scope:SCOPE_SYS)$}}
// AMD:         {{vmcnt\(0\)|loadcnt}}
// AMD-NOT:     {{global_load_.* (glc|sc0 sc1|scope:SCOPE_SYS)$}}
// AMD:         s_cbranch
// GFX9:        global_load_dwordx2 v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] {{glc|sc0 sc1}}{{$}}
// GFX10PLUS:   global_load_b64 v[{{[0-9:]+}}], v{{[0-9]+}}, s[{{[0-9:]+}}] {{glc|scope:SCOPE_SYS}}{{$}}
// AMD:         .amdhsa_kernel
//
// PTX:         .entry drain(
// PTX-NOT:     {{ld\.relaxed|fence}}
// PTX:         ld.acquire.sys.global.b64
// PTX-NOT:     {{ld\.relaxed|ld\.acquire|fence}}
// PTX:         bra
// PTX-NOT:     {{ld\.relaxed|ld\.acquire|fence}}
// PTX:         ld.relaxed.sys.global.b64
// PTX:         {{^[}]}}
extern "C" __global__ void drain(nvme::QueueHandle handle, uint32_t* taken) {
  nvme::Queue<Sharing::thread> queue(handle);
  *taken = queue.drain();
}

// AMD-LABEL:   {{^}}wait_token:
// AMD-NOT:     {{wbl2|global_wb|_inv|wbinv}}
// AMD:         s_sleep
// AMD-NOT:     {{wbl2|global_wb|_inv|wbinv}}
// GFX90A:      buffer_invl2
// GFX942:      buffer_inv sc0 sc1
// GFX11:       buffer_gl1_inv
// GFX12:       global_inv scope:SCOPE_SYS
// AMD:         .amdhsa_kernel
extern "C" __global__ void wait_token(nvme::QueueHandle handle, Token token, const uint32_t* data, uint32_t* copy) {
  nvme::Queue<Sharing::thread> queue(handle);
  if (queue.wait(token, deadline(1_ms)).is_ok()) *copy = *data;
}

// AMD-LABEL:   {{^}}wait_token_grid:
// AMD-NOT:     {{wbl2|global_wb|_inv|wbinv}}
// AMD:         s_sleep
// AMD-NOT:     {{wbl2|global_wb|_inv|wbinv}}
// GFX90A:      buffer_invl2
// GFX942:      buffer_inv sc0 sc1
// GFX11:       buffer_gl1_inv
// GFX12:       global_inv scope:SCOPE_SYS
// AMD:         .amdhsa_kernel
extern "C" __global__ void wait_token_grid(nvme::QueueHandle handle, Token token, const uint32_t* data, uint32_t* copy) {
  nvme::Queue<Sharing::grid> queue(handle);
  if (queue.wait(token, deadline(1_ms)).is_ok()) *copy = *data;
}

// Who takes the drain of a shared queue sees what the one before left: the exchange acquires, or has returned before the
// next load is issued. What a drain stored is performed before the counter of completions, which gives the drain back.
// AMD-LABEL:   {{^}}drain_grid:
// AMD:         global_atomic_cmpswap_{{x2|b64}} {{.*}}, [[STATE:s\[[0-9:]+\]]] offset:8
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// AMD:         global_load_{{dwordx2|b64}}
// AMD-NOT:     global_store_{{dwordx2|b64}} {{.*}}, [[STATE]] offset:8
// AMD:         global_store_{{dwordx2|b64}} {{.*}}, [[STATE]] offset:32
// AMD-NOT:     global_store
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt_vscnt null, 0x0
// GFX12:       s_wait_storecnt 0x0
// AMD-NOT:     {{global_(store|atomic)}}
// AMD:         global_store_{{dwordx2|b64}} {{.*}}, [[STATE]] offset:8
// AMD-NOT:     {{global_store.*}}, [[STATE]]
// AMD:         .amdhsa_kernel
//
// PTX:         .entry drain_grid(
// PTX-NOT:     atom.cas.relaxed.gpu.global.b64
// PTX:         atom.cas.acquire.gpu.global.b64
// PTX:         ld.relaxed.gpu.global.b64
// PTX:         st.release.gpu.global.b64
// PTX:         st.release.gpu.global.b64
// PTX-NOT:     {{st\.(release|relaxed.gpu.global.b64)}}
// PTX:         {{^[}]}}
extern "C" __global__ void drain_grid(nvme::QueueHandle handle, uint32_t* taken) {
  nvme::Queue<Sharing::grid> queue(handle);
  *taken = queue.drain();
}
