// SPDX-License-Identifier: MIT
// Every thread repeatedly writes a block, reads it back and compares it, through queues that the waves share.

#include <hip/hip_runtime.h>
#include <xio/xio.hpp>

#include <machine/amdgcn_smoke.hpp>

namespace {

__device__ uint64_t content(uint64_t lba, uint32_t word) { return lba * 0x9e3779b97f4a7c15u + word; }

template <class Queue>
__device__ void write_and_read(Queue& queue, const machine_tests::Work& work) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  uint64_t* const out = reinterpret_cast<uint64_t*>(work.data + me * uint64_t{1024});
  const uint64_t* const in = out + 64;
  const uint64_t bus = work.bus + me * uint64_t{1024};
  uint32_t bad = 0;
  for (uint32_t round = 0; round < work.rounds; ++round) {
    const uint64_t lba = me + (round & 3) * uint64_t{work.threads};
    for (uint32_t word = 0; word < 64; word += 8) out[word] = content(lba + round * 4096, word);
    const xio::Deadline until = queue.deadline(xio::Duration{work.patience});
    const xio::Token written = queue.submit(xio::nvme::write(lba, 1), xio::nvme::ContiguousPages{bus}, until);
    bad += queue.wait(written, until).is_ok() ? 0 : 1u << 16;
    const xio::Token got = queue.submit(xio::nvme::read(lba, 1), xio::nvme::ContiguousPages{bus + 512}, until);
    bad += queue.wait(got, until).is_ok() ? 0 : 1u << 24;
    for (uint32_t word = 0; word < 64; word += 8) bad += in[word] != content(lba + round * 4096, word);
  }
  work.bad[me] = bad;
}

}  // namespace

/// Lanes that are to take part pass their value; behind the matches, whether each leads().
extern "C" __global__ void match_values(const uint64_t* values, uint64_t* lanes, uint64_t active) {
  const uint32_t lane = xio::arch::lane();
  if ((active >> lane & 1) == 0) return;
  lanes[lane] = xio::arch::match(xio::arch::active(), values[lane]);
  lanes[xio::arch::wave_size() + lane] = xio::arch::leads(xio::arch::active(), values[lane]) ? 1 : 0;
}
extern "C" __global__ void write_and_read_wave(xio::nvme::QueueHandle handle, machine_tests::Work work) {
  xio::nvme::Queue<xio::Sharing::wave> queue(handle);
  write_and_read(queue, work);
}
extern "C" __global__ void write_and_read_grid(xio::nvme::QueueHandle handle, machine_tests::Work work) {
  xio::nvme::Queue<xio::Sharing::grid> queue(handle);
  write_and_read(queue, work);
}
