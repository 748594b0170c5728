// SPDX-License-Identifier: MIT

/// @file
/// @brief The queues of soft-RoCE in our memory: how they are found, and what is no queue.

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <string>

#include <xio/host/memory/dma_arena.hpp>
#include <xio/host/rdma/rxe_rings.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
namespace rxe = xio::rxe;

namespace {

constexpr size_t page = 4096;

/// Memory with a header as the driver writes it.
struct FakeQueue {
  FakeQueue(uint32_t log2_entry_bytes, uint32_t mask, size_t pages)
      : memory(std::aligned_alloc(page, pages * page), std::free),
        header(new(memory.get()) rxe::QueueHeader{}),
        mapping{reinterpret_cast<uintptr_t>(memory.get()), pages * page, 0} {
    header->log2_entry_bytes = log2_entry_bytes;
    header->index_mask = mask;
  }
  std::string refusal(size_t least_entry_bytes = 48) const {
    return error_of([&] { check_ring(mapping, least_entry_bytes, "send queue"); });
  }

  std::unique_ptr<void, decltype(&std::free)> memory;
  rxe::QueueHeader* header;
  DeviceMapping mapping;
};

}  // namespace

TEST_CASE("a queue is described by its header", "[host][rdma]") {
  const FakeQueue queue(8, 15, 2);  // 384 + 16 * 256 bytes
  queue.header->producer_index = 3;
  queue.header->consumer_index = 14;
  const RxeRing ring = check_ring(queue.mapping, 224, "send queue");
  CHECK(ring.header == queue.header);
  CHECK(ring.entry_bytes == 256);
  CHECK(ring.count == 16);
  CHECK(ring.capacity() == 15);
  CHECK(ring.bytes == 2 * page);
  CHECK(ring.entries == static_cast<unsigned char*>(queue.memory.get()) + 384);
  CHECK(ring.entry(1) == ring.entries + 256);
  CHECK(ring.entry(17) == ring.entries + 256);
  CHECK(ring.producer() == 3);
  CHECK(ring.consumer() == 14);
  CHECK(ring.used() == 5);
}

TEST_CASE("the smallest and the largest that fit", "[host][rdma]") {
  CHECK(FakeQueue(6, 1, 1).refusal().empty());
  CHECK(FakeQueue(6, 31, 1).refusal().empty());
  CHECK(contains(FakeQueue(6, 63, 1).refusal(), "64 entries of 2^6 bytes do not fit into 4096"));
  CHECK(FakeQueue(6, 63, 2).refusal().empty());
  CHECK(FakeQueue(8, 15, 2).refusal(256).empty());
  CHECK(contains(FakeQueue(8, 15, 2).refusal(257), "its entries have 2^8 bytes, 257 are needed"));
}

TEST_CASE("what is no queue", "[host][rdma]") {
  CHECK(contains(FakeQueue(0, 15, 1).refusal(), "its entries have 2^0 bytes"));
  CHECK(contains(FakeQueue(21, 1, 1).refusal(), "its entries have 2^21 bytes"));
  CHECK(contains(FakeQueue(0xffffffff, 1, 1).refusal(), "its entries have 2^4294967295 bytes"));
  CHECK(contains(FakeQueue(6, 0, 1).refusal(), "the mask of its indices is 0x0"));
  CHECK(contains(FakeQueue(6, 14, 1).refusal(), "the mask of its indices is 0xe"));
  CHECK(contains(FakeQueue(6, 0xffffffff, 1).refusal(), "do not fit"));
  FakeQueue queue(6, 15, 1);
  queue.header->producer_index = 16;
  CHECK(contains(queue.refusal(), "its indices are 16 and 0 of 16"));
  queue.header->producer_index = 0;
  queue.header->consumer_index = 0x80000000;
  CHECK(contains(queue.refusal(), "is no send queue: its indices are 0 and 2147483648 of 16"));
  queue.mapping.bytes = 383;
  CHECK(contains(queue.refusal(), "383 bytes are too few for a header"));
}

TEST_CASE("the mappings of a device file, in the order of their offsets", "[host][rdma]") {
  const std::string maps(
      "55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f0000005000-7f0000007000 rw-s 00009000 00:05 337                        /dev/infiniband/uverbs0\n"
      "7f0000010000-7f0000011000 rw-s 00004000 00:05 337                        /dev/infiniband/uverbs0\n"
      "7f0000020000-7f0000021000 rw-s 00001000 00:05 338                        /dev/infiniband/uverbs01\n"
      "7f0000022000-7f0000023000 rw-s 00001000 00:05 338                        /dev/infiniband/uverbs\n"
      "7f0000024000-7f0000023000 rw-s 00002000 00:05 337                        /dev/infiniband/uverbs0\n"
      "nonsense\n\n"
      "7f0000030000-7f0000031000 rw-p 00000000 00:00 0\n"
      "7f0000040000-7f0000044000 rw-s 100000000 00:05 337                       /dev/infiniband/uverbs0\n");
  const auto found = parse_mappings(maps, "/dev/infiniband/uverbs0");
  REQUIRE(found.size() == 3);
  CHECK(found[0].address == 0x7f0000010000);
  CHECK(found[0].offset == 0x4000);
  CHECK(found[1].address == 0x7f0000005000);
  CHECK(found[1].bytes == 0x2000);
  CHECK(found[2].offset == 0x100000000);
}

TEST_CASE("what is mapped while something is made is found", "[host][rdma]") {
  // A file in memory stands in for the device's.
  const SharedMemory file("xio fake device", 16 * page);
  std::vector<void*> mapped;
  const auto map = [&](size_t offset, size_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd(), static_cast<off_t>(offset));
    REQUIRE(at != MAP_FAILED);
    mapped.push_back(at);
    return at;
  };
  // Neighbours of one file would be one line: gaps keep them apart.
  auto [made, added] = detail::with_new_mappings(file.fd(), 2, "a thing", [&] {
    map(8 * page, page);
    map(2 * page, 2 * page);
    return std::string("made");
  });
  CHECK(made == "made");
  REQUIRE(added.size() == 2);
  CHECK(added[0].address == reinterpret_cast<uintptr_t>(mapped[1]));
  CHECK(added[0].bytes == 2 * page);
  CHECK(added[1].address == reinterpret_cast<uintptr_t>(mapped[0]));
  CHECK(added[1].offset == 8 * page);

  const std::string error =
      error_of([&] { detail::with_new_mappings(file.fd(), 2, "a thing", [&] { return map(12 * page, page); }); });
  CHECK(contains(error, "a thing added 1 mappings of"));
  CHECK(contains(error, "and not 2"));
  ::munmap(mapped[0], page);
  ::munmap(mapped[1], 2 * page);
  ::munmap(mapped[2], page);
}
