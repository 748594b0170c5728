// SPDX-License-Identifier: MIT
// A thread's tokens in an array: AMD's compilers may put them into LDS, for as many threads as a block may have.

#include <xio/xio.hpp>

using namespace xio;

extern "C" XIO_BOUNDED_KERNEL(64) void tokens_in_flight(nvme::QueueHandle handle, uint64_t bus, Status* out) {
  nvme::Queue<Sharing::wave> queue(handle);
  const Deadline until = queue.deadline(Duration{1000000000});
  constexpr uint32_t in_flight = 4;
  Token tokens[in_flight];
  for (uint32_t i = 0; i < in_flight; ++i)
    tokens[i] = queue.submit(nvme::read(arch::lane() + 64 * i, 1), nvme::ContiguousPages{bus + i * 4096}, until);
  out[arch::thread_index()] = queue.wait_all(tokens, in_flight, until);
}
