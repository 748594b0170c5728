// SPDX-License-Identifier: MIT

/// @file
/// @brief NVMe over RDMA: the calls of a queue, with capsules and responses in place of rings that a controller reads.

#include "emulation/fabric_target.hpp"

using namespace fabric_tests;

namespace {

constexpr uint32_t write_rounds = 4;

/// Each thread writes blocks of its own, and reads them back.
template <class Kit, Sharing S, class... Tags>
void write_and_read(uint32_t waves, uint32_t lanes) {
  CAPTURE(static_cast<int>(S), waves, lanes);
  using Fabric = FabricQueue<Kit>;
  const uint32_t threads = waves * lanes;
  Fabric fabric(uint64_t{threads} * write_rounds, size_t{threads} * block_bytes);
  const auto run = [&] {
    typename Fabric::template Queue<S, Tags...> queue(fabric.handle);
    const uint32_t thread = xio::arch::block_index() * lanes + xio::arch::thread_index();
    const uint64_t offset = uint64_t{thread} * block_bytes;
    for (uint32_t round = 0; round < write_rounds; ++round) {
      const uint64_t lba = uint64_t{round} * threads + thread;
      const auto piece = fabric.data.at(offset, block_bytes);
      stamp(fabric.at(offset), lba, 1, 7);
      expect_ok(queue.wait(queue.write(lba, piece, soon()), soon()), "write", __LINE__);
      std::memset(fabric.at(offset), 0, block_bytes);
      const Token token = queue.read(lba, piece, soon());
      expect_ok(queue.wait(token, soon()), "read", __LINE__);
      expect(stamped(fabric.at(offset), lba, 1, 7), "data", __LINE__);
    }
    expect_ok(queue.quiet(soon()), "quiet", __LINE__);
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, lanes), run));
  fabric.rig.nic.stop();
  CHECK(fabric.target.capsules == uint64_t{threads} * write_rounds * 2);
  CHECK(fabric.target.malformed == 0);
  CHECK(fabric.rig.violations() == "");
  const auto near = fabric.rig.near.model().statistics();
  CHECK(near.operations == fabric.target.capsules);
  CHECK(near.signaled <= near.operations / 16);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("fabric: threads write and read, alone and many on one queue", "", Vendors) {
  write_and_read<TestType, Sharing::thread, Notify>(1, 1);
  write_and_read<TestType, Sharing::grid>(8, 64);
}
TEST_CASE("fabric: one wave owns the queue, or rings later -> the same") {
  write_and_read<Ionic, Sharing::wave>(1, 64);
  write_and_read<Mlx5, Sharing::grid, Deferred<8>, WriteThrough>(2, 64);
}

TEMPLATE_LIST_TEST_CASE("fabric: a batch, a split command and one without data -> each arrives whole", "", Some) {
  constexpr uint32_t pieces = 24;
  constexpr uint32_t bytes = 300 * block_bytes;
  using Fabric = FabricQueue<TestType>;
  Fabric fabric(1024, bytes);
  typename Fabric::template Queue<Sharing::thread, Notify> queue(fabric.handle);
  stamp(fabric.at(0), 100, 300, 1);
  CHECK(queue.wait(queue.write(100, fabric.data.at(0, bytes), soon()), soon()).is_ok());
  CHECK(stamped(fabric.target.medium.block(100), 100, 300, 1));
  std::vector<xio::nvme::Piece> list;
  for (uint32_t i = 0; i < pieces; ++i) list.push_back({100 + 7 * i, fabric.data.base + i * block_bytes, 1});
  std::memset(fabric.at(0), 0, bytes);
  CHECK(queue.wait_batch(queue.submit_batch(xio::nvme::Opcode::read, list.data(), pieces, soon()), soon()).is_ok());
  for (uint32_t i = 0; i < pieces; ++i) CHECK(stamped(fabric.at(i * block_bytes), 100 + 7 * i, 1, 1));
  CHECK(queue.wait(queue.submit(xio::nvme::flush(), NoData{}, soon()), soon()).is_ok());
  CHECK(fabric.target.malformed == 0);
}

TEMPLATE_LIST_TEST_CASE("fabric: what cannot be transported -> it is refused, and errors are the target's", "", Some) {
  using Fabric = FabricQueue<TestType>;
  Fabric fabric(64, 8 * block_bytes);
  typename Fabric::template Queue<Sharing::thread, Notify> queue(fabric.handle);
  fabric.target.medium.mark(7, 1, true);
  const auto piece = fabric.data.at(0, block_bytes);
  CHECK(queue.wait(queue.read(6, piece, soon()), soon()).is_ok());
  const Status unreadable = queue.wait(queue.read(7, piece, soon()), soon());
  CHECK(unreadable == Status::read_error);
  CHECK(code_of(unreadable) == xio::nvme::sc::unrecovered_read_error);
  CHECK(queue.read(64, piece, soon()).status == Status::out_of_range);
  const xio::nvme::Segment apart[] = {{fabric.data.base, block_bytes}, {fabric.data.base + 4096, block_bytes}};
  const xio::nvme::SegmentList scattered{apart, 2};
  CHECK(queue.submit(xio::nvme::read(0, 2), scattered, soon()).status == Status::unsupported);
  CHECK(queue.submit(xio::nvme::read(0, 1).metadata(fabric.data.base), piece, soon()).status == Status::unsupported);
  CHECK(queue.wait(queue.submit(xio::nvme::read(0, 1), scattered, soon()), soon()).is_ok());
}

TEMPLATE_LIST_TEST_CASE("fabric: the target is gone, or the queue pair fails -> every wait ends", "", Some) {
  using Fabric = FabricQueue<TestType>;
  Fabric fabric(64, 8 * block_bytes);
  typename Fabric::template Queue<Sharing::thread, Notify> queue(fabric.handle);
  const auto piece = fabric.data.at(0, block_bytes);
  CHECK(queue.wait(queue.read(1, piece, soon()), soon()).is_ok());
  fabric.target.die();
  const Token lost = queue.read(2, piece, soon());
  CHECK(queue.wait(lost, xio::deadline(100_ms)) == Status::timed_out);
  fabric.rig.near.model().fail();
  const Status status = queue.wait(lost, xio::deadline(1_s));
  if (status == Status::broken) {
    CHECK(cause_of(fabric.link) == Status::flushed);
  } else {
    // A card that reports nothing of idle receives.
    CHECK(status == Status::timed_out);
    CHECK(!TestType::Wire::flushes);
    CHECK(!TestType::Wire::ends_receives);
  }
}

TEMPLATE_LIST_TEST_CASE("fabric: completions of SENDs are late -> no response is taken that frees a place too early",
                        "", Some) {
  using Fabric = FabricQueue<TestType>;
  Fabric fabric(64, block_bytes);
  fabric.rig.near.model().faults().delay(~0u);
  typename Fabric::template Queue<Sharing::thread, Notify> queue(fabric.handle);
  using Row = xio::rdma::SendRow<typename TestType::Vendor, Sharing::thread, Policy<>, sizeof(Sqe)>;
  const uint32_t most = fabric.link.send.depth / Row::units - Fabric::depth;
  const auto flush = [&](Deadline until) {
    return queue.wait(queue.submit(xio::nvme::flush(), NoData{}, soon()), until);
  };
  uint32_t answered = 0;
  while (answered < most && flush(soon()).is_ok()) ++answered;
  CHECK(answered == most);
  CHECK(flush(xio::deadline(100_ms)) == Status::timed_out);
}
