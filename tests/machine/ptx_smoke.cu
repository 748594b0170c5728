// SPDX-License-Identifier: MIT
/// @file
/// @brief Kernels for ptx_smoke.cpp: each thread writes blocks, reads them back and compares.

#include <xio/xio.hpp>

namespace {

using namespace xio;

template <Sharing S>
__device__ void write_read(const nvme::QueueHandle& handle, uint64_t bus, uint64_t* data, uint32_t rounds,
                           uint32_t* outcome) {
  constexpr uint32_t words = 6;
  const uint32_t self = arch::block_index() * arch::block_size() + arch::thread_index();
  nvme::Queue<S> queue(handle);
  uint64_t* const out = data + uint64_t{self} * 1024;
  uint64_t* const in = out + 512;
  const uint64_t out_bus = bus + uint64_t{self} * 8192;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint64_t stamp = (uint64_t{self} << 32 | round) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < words; ++i) {
      out[i] = stamp + i;
      in[i] = 0;
    }
    const Deadline until = queue.deadline(10_s);
    Token token = queue.submit(nvme::write(self, 1), nvme::ContiguousPages{out_bus}, until);
    Status status = queue.wait(token, until);
    if (status.is_ok()) {
      token = queue.submit(nvme::read(self, 1), nvme::ContiguousPages{out_bus + 4096}, until);
      status = queue.wait(token, until);
    }
    bool right = status.is_ok();
    for (uint32_t i = 0; i < words; ++i) right = right && in[i] == stamp + i;
    arch::fetch_add<arch::Scope::system>(&outcome[right ? 0 : 1], 1u);
    if (!right) arch::store<arch::Scope::system>(&outcome[2], static_cast<uint32_t>(protocol::pack(status)));
  }
}

}  // namespace

extern "C" __global__ void wave(nvme::QueueHandle handle, uint64_t bus, uint64_t* data, uint32_t rounds,
                                uint32_t* outcome) {
  write_read<Sharing::wave>(handle, bus, data, rounds, outcome);
}
extern "C" __global__ void grid(nvme::QueueHandle handle, uint64_t bus, uint64_t* data, uint32_t rounds,
                                uint32_t* outcome) {
  write_read<Sharing::grid>(handle, bus, data, rounds, outcome);
}
