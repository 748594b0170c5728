// SPDX-License-Identifier: MIT
#include <machine/ptx/clock.hpp>

namespace machine::ptx {

namespace {
// Also compiled for processors with AVX2, and chosen when the program is loaded.
__attribute__((target_clones("default", "avx2"))) void join_each(int32_t* mine, const int32_t* theirs, size_t count) {
  for (size_t i = 0; i < count; i += 8)
    for (size_t k = i; k < i + 8; ++k) mine[k] = mine[k] > theirs[k] ? mine[k] : theirs[k];
}
}  // namespace

void join_epochs(int32_t* mine, const int32_t* theirs, size_t count) { join_each(mine, theirs, count); }

}  // namespace machine::ptx
