// SPDX-License-Identifier: MIT

/// @file
/// @brief Drives that fail: whoever waits for the page is told, and nobody else; what was put is kept.

#include <thread>

#include "cache/rig.hpp"
#include "catch.hpp"

using namespace cache_tests;

namespace {

namespace arch = xio::arch;

/// Lane i gets the first element of page `i % pages`.
void get_first(CacheHandle cache, uint32_t pages, xio::Duration limit, Status* status) {
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  BlockArray<uint64_t> array(cache, thread / arch::wave_size());
  uint64_t value = 0;
  const uint64_t i = uint64_t{thread % pages} * ((1u << cache.page_shift) / 8);
  status[thread] = array.get(i, value, xio::deadline(limit));
  if (status[thread].is_ok() && value != content(i, 0)) status[thread] = Status::compare_failed;
}

std::vector<Status> get_all(Rig& rig, uint32_t threads, uint32_t pages, xio::Duration limit = patience) {
  std::vector<Status> status(threads, Status::pending);
  xio::simt::launch(xio::simt::Grid::of_waves(threads / 64, 1, 64), get_first, rig.cache->handle(), pages, limit,
                    status.data());
  return status;
}

Shape small(uint32_t frames = 16) {
  Shape shape;
  shape.frames = frames;
  shape.drives = 2;
  shape.pages = 16;
  return shape;
}

/// Whether loads that have not ended hold all frames of the page's set.
bool is_stuck(const Rig& rig, uint64_t page) {
  const xio::detail::Frames frames(rig.cache->handle());
  uint32_t count = 0;
  for (uint32_t way = 0; way < frames.ways(); ++way) {
    const uint64_t word = frames.observe(frames.first_of(page) + way);
    count += xio::detail::CacheWord::state(word) == xio::detail::CacheWord::loading;
  }
  return count == frames.ways();
}

}  // namespace

TEST_CASE("A page that cannot be read fails those who wait for it, and nobody else") {
  for (const uint8_t mdts : {uint8_t{7}, uint8_t{3}}) {
    Shape shape = small(4);
    shape.page_bytes = 65536;  // in one command, or in two, of which the second fails
    shape.mdts = mdts;
    Rig rig(shape);
    CAPTURE(mdts);
    const uint64_t last = rig.lba_of(5) + 127;
    rig.models[1]->faults().fail(Match().with_opcode(2).with_lba(last, last), 0x281);
    const std::vector<Status> status = get_all(rig, 256, 16);
    for (uint32_t i = 0; i < 256; ++i) {
      CAPTURE(i, status[i].code);
      CHECK(status[i] == (i % 16 == 5 ? Status(Status::read_error, 0x281) : Status(Status::ok)));
    }
    rig.models[1]->faults().clear();
    for (const Status one : get_all(rig, 64, 16)) CHECK(one.is_ok());
    CHECK(rig.cache->counts().read_errors > 0);
  }
}

TEST_CASE("An error that was told is not told to those who come later: the page is read again") {
  Rig rig(small());
  const uint64_t lba = rig.lba_of(0);
  rig.models[0]->faults().fail(Match().with_opcode(2).with_lba(lba, lba), 0x281);
  for (const Status one : get_all(rig, 64, 1)) CHECK(one == Status(Status::read_error, 0x281));
  rig.models[0]->faults().clear();
  for (const Status one : get_all(rig, 64, 1)) CHECK(one.is_ok());
}

TEST_CASE("A page that cannot be written is kept, and reported to flush alone") {
  Rig rig(small(4));
  const uint64_t lba = rig.lba_of(4);
  // As many puts as pages: the page that cannot be written has to make room for none of them.
  rig.models[0]->faults().fail(Match().with_opcode(1).with_lba(lba, lba), 0x280);
  const Result put = rig.write_everything(256, 1);
  CHECK(put.failed == 0);
  CHECK(put.right == rig.elements());
  const Result flushed = rig.flush_all();
  CHECK(flushed.failed == 1);
  CHECK(Status::unpack(flushed.first) == Status(Status::write_error, 0x280));
  CHECK(rig.differing(1) == 512);
  rig.models[0]->faults().clear();
  CHECK(rig.flush_all().failed == 0);
  CHECK(rig.differing(1) == 0);
  CHECK(rig.cache->counts().write_errors > 0);
}

TEST_CASE("A flush waits for the writes that it has begun") {
  Rig rig(small());
  CHECK(rig.write_everything(64, 1).failed == 0);
  const auto rule = rig.models[0]->faults().drop(Match().with_opcode(1));
  const Result flushed = rig.flush_all(64, 100_ms);
  CHECK(flushed.failed != 0);
  CHECK(Status::unpack(flushed.first) == Status::timed_out);
  rig.models[0]->faults().release(rule);
  rig.models[0]->faults().clear();
  CHECK(rig.flush_all().failed == 0);
  CHECK(rig.differing(1) == 0);
}

TEST_CASE("A completion that is lost stops those who wait for its page") {
  Rig rig(small());
  const uint64_t lba = rig.lba_of(5);
  const auto rule = rig.models[1]->faults().drop(Match().with_opcode(2).with_lba(lba, lba));
  std::vector<Status> status = get_all(rig, 128, 16, 2_s);
  for (uint32_t i = 0; i < 128; ++i) CHECK(status[i] == (i % 16 == 5 ? Status::timed_out : Status::ok));
  // It belongs to the drive until it comes; whoever looks next takes it.
  rig.models[1]->faults().release(rule);
  for (const Status one : get_all(rig, 64, 16)) CHECK(one.is_ok());
  CHECK(rig.commands(2) == 16);
}

TEST_CASE("A queue that is broken ends its pages' waits, and the other drive goes on") {
  Rig rig(small(8));
  const uint64_t lba = rig.lba_of(15);
  const auto rule = rig.models[1]->faults().drop(Match().with_opcode(2).with_lba(lba, lba));
  std::thread trouble([&] {
    while (rule.hits() == 0) std::this_thread::yield();
    rig.break_queue(1);
  });
  std::vector<Status> status = get_all(rig, 128, 16);
  trouble.join();
  // Loads of that drive that were on their way keep their frames until they end. They may hold all four of the set of
  // page 0, to which seven of its eight pages belong, but one of the set of the pages 2, 4, ...
  for (uint32_t page = 2; page < 16; page += 2) CHECK(!is_stuck(rig, page));
  for (uint32_t i = 0; i < 128; ++i) {
    CAPTURE(i, status[i].code);
    const bool may_fail = i % 2 != 0 || i % 16 == 0;
    CHECK((status[i].is_ok() || (may_fail && status[i] == Status::broken)));
    if (i % 16 == 15) CHECK(status[i] == Status::broken);
  }
  // Pages of that drive that are absent are refused; those of the other one have the frames that are left.
  const bool had_none = is_stuck(rig, 0);
  status = get_all(rig, 128, 16);
  for (uint32_t i = 0; i < 128; i += 2) {
    CAPTURE(i, status[i].code);
    CHECK((status[i].is_ok() || (i % 16 == 0 && had_none && status[i] == Status::broken)));
  }
  CHECK(status[15] == Status::broken);
}

TEST_CASE("A load that a broken queue keeps costs the other drive's pages one frame") {
  Rig rig(small(4));
  const auto rule = rig.models[1]->faults().drop(Match().with_opcode(2));
  CHECK(get_all(rig, 64, 2, 100_ms)[1] == Status::timed_out);
  CHECK(rule.hits() == 1);
  rig.break_queue(1);
  // Eight pages and more wait for three frames, and find the fourth one lost again and again.
  const std::vector<Status> status = get_all(rig, 512, 16);
  for (uint32_t i = 0; i < 512; ++i) {
    CAPTURE(i, status[i].code);
    CHECK(status[i] == (i % 2 == 0 ? Status::ok : Status::broken));
  }
}
