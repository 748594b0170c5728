// SPDX-License-Identifier: MIT
// The least that posting and looking can cost with this compiler: no state, no check, no token, arguments as plain as they can
// be. Not a queue; the table in docs/internals/instruction-budgets.md compares the library with it.

#include <xio/device/core/com.hpp>
#include <xio/vendors/nvme/layout.hpp>

using namespace xio;

namespace {

XIO_DEVICE nvme::Sqe read_entry(uint64_t lba, uint32_t blocks, uint64_t bus, uint32_t nsid, uint32_t cid) {
  nvme::Sqe entry{};
  entry.cdw0 = 2u | cid << 16;
  entry.nsid = nsid;
  entry.prp1 = bus;
  entry.cdw10 = static_cast<uint32_t>(lba);
  entry.cdw11 = static_cast<uint32_t>(lba >> 32);
  entry.cdw12 = blocks - 1;
  return entry;
}

}  // namespace

extern "C" __global__ void floor_post(nvme::Sqe* ring, uint32_t* doorbell, uint32_t tail, uint32_t mask, uint64_t lba,
                                      uint32_t blocks, uint64_t bus, uint32_t nsid, uint32_t cid) {
  XioComEnqueue(read_entry(lba, blocks, bus, nsid, cid), ring, tail);
  XioComDoorbell(doorbell, (tail + 1) & mask);
}

extern "C" __global__ void floor_loop(nvme::Sqe* ring, uint32_t* doorbell, uint32_t tail, uint32_t mask, uint64_t lba,
                                      uint32_t blocks, uint64_t bus, uint32_t nsid, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, ++tail) {
    XioComEnqueue(read_entry(lba + i * blocks, blocks, bus, nsid, tail & mask), ring, tail & mask);
    XioComDoorbell(doorbell, (tail + 1) & mask);
  }
}

// Each lane stores its 16-byte part of as many entries as the wave has quads; four rounds make 64 entries on a wave of 64.
extern "C" __global__ void floor_batch(arch::Vec16* ring, uint32_t* doorbell, uint32_t tail, uint32_t mask, uint64_t lba,
                                       uint32_t blocks, uint64_t bus, uint32_t nsid) {
  const uint32_t part = arch::lane() & 3;
#pragma unroll
  for (uint32_t round = 0; round < 4; ++round) {
    const uint32_t entry = round * (arch::wave_size() / 4) + arch::lane() / 4;
    const uint64_t address = bus + entry * uint64_t{4096};
    const uint64_t block = lba + entry * blocks;
    arch::Vec16 value{};
    value.word[0] = part == 0 ? 2u | entry << 16 : part == 3 ? blocks - 1 : 0;
    value.word[1] = part == 0 ? nsid : 0;
    value.word[2] = part == 1 ? static_cast<uint32_t>(address) : part == 2 ? static_cast<uint32_t>(block) : 0;
    value.word[3] = part == 1 ? static_cast<uint32_t>(address >> 32) : part == 2 ? static_cast<uint32_t>(block >> 32) : 0;
    arch::store_entry(ring + (((tail + entry) & mask) * 4 + part), value);
  }
  if (arch::lane() == 0) XioComDoorbell(doorbell, (tail + arch::wave_size()) & mask);
}

extern "C" __global__ void floor_look(const nvme::Cqe* entries, uint32_t head, uint32_t phase, uint32_t* answer) {
  const uint64_t word = arch::load<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entries + head) + 1);
  if ((word >> 48 & 1) == phase) *answer = word >> 49 == 0 ? 1 : 2;
}
