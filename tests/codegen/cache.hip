// SPDX-License-Identifier: MIT
// A hit in the page cache: the words of a set are on their way together, and have come before the element is loaded; the
// element has come before the frame's word is looked at again. First the sets that have not eight ways.

#include <xio/cache.hpp>

using namespace xio;

// AMD-LABEL:   {{^}}get_present:
// AMD:         global_load_{{dwordx2|b64}} {{.*}}, [[WORDS:s\[[0-9:]+\]]] {{glc|sc1|scope:SCOPE_DEV}}
// AMD:         global_load_{{dwordx2|b64}} {{.*}}, [[WORDS]] offset:56 {{glc|sc1|scope:SCOPE_DEV}}
// AMD-NOT:     {{vmcnt\([1-9]|loadcnt 0x[1-9]|v_cmp}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// AMD:         s_cbranch
// AMD:         global_load_{{dwordx2|b64}} {{.*}}, [[WORDS]] offset:56 {{glc|sc1|scope:SCOPE_DEV}}
// AMD-NOT:     {{vmcnt\([1-9]|loadcnt 0x[1-9]|v_cmp}}
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// AMD:         global_load_{{dwordx2|b64}} {{.*}}, off {{glc|sc0 sc1|scope:SCOPE_SYS}}
// AMD-NOT:     [[WORDS]]
// GFX9:        s_waitcnt vmcnt(0)
// GFX11:       s_waitcnt vmcnt(0)
// GFX12:       s_wait_loadcnt 0x0
// AMD:         global_load_{{dwordx2|b64}} {{.*}}, [[WORDS]] {{glc|sc1|scope:SCOPE_DEV}}
// AMD:         .amdhsa_kernel
extern "C" __global__ void get_present(CacheHandle handle, uint64_t page, uint64_t* value, uint32_t* found) {
  Cache<> cache(handle, 0);
  uint64_t element = 0;
  *found = cache.get_present(page, 8, element);
  *value = element;
}
