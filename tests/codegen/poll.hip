// SPDX-License-Identifier: MIT
// Waiting: coherent loads and a pause in the loop, one acquire after it, nothing read before the valid bit (H27), no clock or
// stop flag in host memory.

#include <xio/device/nvme.hpp>

using namespace xio;

// CHECK-LABEL: {{^}}wait_word:
extern "C" __global__ void wait_word(const uint64_t* word, uint64_t at_least, const uint32_t* data, uint32_t* copy) {
  if (wait_until(word, at_least, deadline(1_ms)).is_ok()) *copy = *data;
}

// CHECK-LABEL: {{^}}wait_token:
extern "C" __global__ void wait_token(nvme::QueueHandle handle, Token token, const uint32_t* data, uint32_t* copy) {
  nvme::Queue<Sharing::thread> queue(handle);
  if (queue.wait(token, deadline(1_ms)).is_ok()) *copy = *data;
}

// CHECK-LABEL: {{^}}wait_token_grid:
extern "C" __global__ void wait_token_grid(nvme::QueueHandle handle, Token token, const uint32_t* data, uint32_t* copy) {
  nvme::Queue<Sharing::grid> queue(handle);
  if (queue.wait(token, deadline(1_ms)).is_ok()) *copy = *data;
}

// CHECK-LABEL: {{^}}drain:
extern "C" __global__ void drain(nvme::QueueHandle handle, uint32_t* taken) {
  nvme::Queue<Sharing::thread> queue(handle);
  *taken = queue.drain();
}
