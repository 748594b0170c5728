// SPDX-License-Identifier: MIT
// The code of docs/internals/instruction-budgets.md.
#include <xio/nvme.hpp>

// HIP and CUDA define them.
#define __device__
#define __noinline__ __attribute__((noinline))

using namespace xio;

// block 1

Status two(const nvme::QueueHandle& handle, const Region& data) {
  const Status first = read_one(handle, 0, data.at(0, 4096));
  return first.is_ok() ? read_one(handle, 8, data.at(4096, 4096)) : first;
}
