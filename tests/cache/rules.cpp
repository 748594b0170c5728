// SPDX-License-Identifier: MIT

/// @file
/// @brief What lanes of a wave do together, what they hold while they wait, and calls that a sweep does not make.

#include "cache/rig.hpp"
#include "catch.hpp"

using namespace cache_tests;

namespace {

namespace arch = xio::arch;

Shape one_drive(uint32_t frames, uint64_t pages) {
  Shape shape;
  shape.frames = frames;
  shape.pages = pages;
  return shape;
}

/// Lane i gets the first element of page `i * step`.
void get_pages(CacheHandle cache, uint64_t step, Result* result) {
  BlockArray<uint64_t> array(cache, 0);
  const uint64_t i = arch::thread_index() * step * ((1u << cache.page_shift) / 8);
  uint64_t value = 0;
  const Status status = array.get(i, value, xio::deadline(patience));
  if (status.is_ok() && value == content(i, 0)) arch::fetch_add<arch::Scope::system>(&result->right, uint64_t{1});
}

/// Each lane gets the first element of `pages[lane]`, within `limit`.
void get_each(CacheHandle cache, const uint64_t* pages, xio::Duration limit, Status* status) {
  const uint32_t lane = arch::thread_index();
  BlockArray<uint64_t> array(cache, 0);
  uint64_t value = 0;
  status[lane] = array.cache().get(pages[lane], 0, value, xio::deadline(limit));
}

}  // namespace

TEST_CASE("Lanes that want one absent page submit one command") {
  Rig rig(one_drive(16, 64));
  CHECK(rig.launch(64, get_pages, uint64_t{0}).right == 64);
  CHECK(rig.commands(2) == 1);
}

TEST_CASE("Lanes that want absent pages of one drive ring once") {
  Shape shape = one_drive(128, 128);
  shape.ways = 8;
  Rig rig(shape);
  const uint64_t before = rig.models[0]->statistics().total(&xio::emulation::QueueStatistics::sq_doorbells);
  CHECK(rig.launch(64, get_pages, uint64_t{1}).right == 64);
  CHECK(rig.commands(2) == 64);
  CHECK(rig.models[0]->statistics().total(&xio::emulation::QueueStatistics::sq_doorbells) - before == 1);
}

TEST_CASE("A page keeps its frame while it is pinned") {
  Rig rig(one_drive(2, 8));
  const auto kernel = [](CacheHandle cache, Result* result) {
    BlockArray<uint64_t, xio::WriteBack> array(cache, 0);
    const uint32_t elements = (1u << cache.page_shift) / 8;
    const xio::PinnedPage first = array.cache().pin(0, xio::deadline(patience));
    const xio::PinnedPage second = array.cache().pin_to_write(1, xio::deadline(patience));
    bool good = first.status.is_ok() && second.status.is_ok();
    uint64_t value = 0;
    good = good && array.get(2 * elements, value, xio::deadline(20_ms)) == Status::timed_out;
    good = good && array.put(0, 5, xio::deadline(patience)).is_ok() && array[0] == 5;  // puts go on
    good = good && *reinterpret_cast<const uint64_t*>(first.data) == 5;
    reinterpret_cast<uint64_t*>(second.data)[3] = 6;
    array.cache().unpin(second);
    good = good && array.get(2 * elements, value, xio::deadline(patience)).is_ok() && value == content(2 * elements, 0);
    good = good && array[elements + 3] == 0;  // no frame is free for the page of the second
    result->right = good;
    array.cache().unpin(first);
  };
  CHECK(rig.launch(1, +kernel).right == 0);
}

TEST_CASE("A prefetched page is there, and does not wait for a frame") {
  Rig rig(one_drive(4, 64));
  const auto kernel = [](CacheHandle cache, Result* result) {
    xio::Cache<> pages(cache, 0);
    const Deadline until = xio::deadline(patience);
    const xio::PageToken token = pages.prefetch(7, until);
    uint64_t value = 0;
    bool good = token.status.is_ok() && pages.wait(token, until).is_ok() && pages.get_present(7, 8, value) &&
                value == content(7 * (1u << cache.page_shift) / 8 + 1, 0);
    xio::PinnedPage pinned[4];
    for (uint32_t i = 0; i < 4; ++i) pinned[i] = pages.pin(i, until), good = good && pinned[i].status.is_ok();
    good = good && pages.prefetch(20, until).status.is_ok();  // nothing is free: done at once
    for (const auto& one : pinned) pages.unpin(one);
    good = good && pages.prefetch(uint64_t{1} << 40, until).status == Status::out_of_range;
    good = good && pages.get(64, 0, value, until) == Status::out_of_range;
    result->right = good;
  };
  CHECK(rig.launch(1, +kernel).right == 1);
  CHECK(rig.commands(2) == 5);
}

TEST_CASE("An invalidated page is read again, and what was put into it is gone") {
  Rig rig(one_drive(4, 8));
  const auto kernel = [](CacheHandle cache, uint64_t version, bool puts, bool invalidates, Result* result) {
    BlockArray<uint64_t, xio::WriteBack> array(cache, 0);
    const Deadline until = xio::deadline(patience);
    bool good = !invalidates || array.cache().invalidate(0, until).is_ok();
    good = good && array[7] == content(7, version) && array.status().is_ok();
    if (puts) good = good && array.put(7, 1, until).is_ok() && array[7] == 1;
    result->right = good;
  };
  CHECK(rig.launch(1, +kernel, uint64_t{0}, false, false).right == 1);
  rig.fill(1);
  CHECK(rig.launch(1, +kernel, uint64_t{0}, true, false).right == 1);
  CHECK(rig.launch(1, +kernel, uint64_t{1}, false, true).right == 1);
  CHECK(rig.flush_all().failed == 0);
  CHECK(rig.differing(1) == 0);
}

TEST_CASE("Elements of all sizes") {
  Rig rig(one_drive(4, 8));
  struct Record {
    uint32_t word[4];
  };
  const auto kernel = [](CacheHandle cache, Result* result) {
    const Deadline until = xio::deadline(patience);
    bool good = true;
    BlockArray<uint8_t> bytes(cache, 0);
    BlockArray<uint16_t> halves(cache, 0);
    for (uint32_t i = 0; i < 24; ++i) {
      const uint64_t word = content(i / 8, 0);
      good = good && bytes[i] == (word >> i % 8 * 8 & 0xff);
      if (i < 12) good = good && halves[i] == (content(i / 4, 0) >> i % 4 * 16 & 0xffff);
    }
    BlockArray<float, xio::WriteBack> floats(cache, 0, 1);
    good = good && floats.put(1, 2.5f, until).is_ok() && floats[1] == 2.5f;
    BlockArray<Record, xio::WriteBack> records(cache, 0, 2);
    good = good && records.put(255, Record{{1, 2, 3, 4}}, until).is_ok() && records[255].word[3] == 4;
    good = good && records[256].word[0] == static_cast<uint32_t>(content(3 * 512, 0));
    result->right = good;
  };
  CHECK(rig.launch(1, +kernel).right == 1);
}

TEST_CASE("A page that nobody waits for any more does not keep others from a frame") {
  Rig rig(one_drive(4, 64));
  rig.cache->handle().sets[2] = 1000;  // asked by a wave that was stopped
  std::vector<uint64_t> pages(64);
  for (uint64_t i = 0; i < 64; ++i) pages[i] = i;
  std::vector<Status> status(64);
  xio::simt::launch(xio::simt::Grid::of_waves(1, 1, 64), get_each, rig.cache->handle(), pages.data(), patience,
                    status.data());
  for (const Status one : status) CHECK(one.is_ok());
}

TEST_CASE("Whoever settles takes the end of that command, and only once") {
  using Word = xio::detail::CacheWord;
  Rig rig(one_drive(4, 8));
  const CacheHandle handle = rig.cache->handle();
  const xio::detail::Frames frames(handle);
  const uint64_t page = uint64_t{5} << 32, now = page | Word::one_generation;
  handle.ends[0].ended = xio::KeptResult::has_ended | 0x281;

  handle.words[0] = now | Word::loading;  // by a wave that has yet to clear the record
  CHECK_FALSE(frames.settle({0, handle.words[0]}));
  CHECK(handle.words[0] == (now | Word::loading));

  const xio::detail::Frame seen{0, now | Word::loading | Word::armed};
  handle.words[0] = now | Word::valid | Word::armed | Word::dirty | 3;  // another lane was faster
  CHECK(frames.settle(seen));
  CHECK(handle.words[0] == (now | Word::valid | Word::armed | Word::dirty | 3));
  handle.words[0] = page | 2 * Word::one_generation | Word::loading;  // and the frame has another command since
  CHECK(frames.settle(seen));
  CHECK(handle.words[0] == (page | 2 * Word::one_generation | Word::loading));
  CHECK(rig.cache->counts().read_errors == 0);

  handle.words[0] = seen.word + 1;
  CHECK(frames.settle(seen));
  CHECK(handle.words[0] == ((now | Word::failed | Word::armed) + 1));
  CHECK(rig.cache->counts().read_errors == 1);
}

TEST_CASE("Sizes that a cache cannot have are refused") {
  Rig rig(one_drive(4, 8));
  const auto refused = [&](size_t page_bytes, size_t bytes, uint32_t ways, const char* part) {
    xio::host::CacheOptions options;
    options.page_bytes = page_bytes;
    options.bytes = bytes;
    options.ways = ways;
    CAPTURE(page_bytes, bytes, ways);
    try {
      (void)xio::host::make_cache(xio::host::Executor(), {rig.controllers[0].get()}, options);
      FAIL("accepted");
    } catch (const xio::host::Error& error) {
      CHECK_THAT(error.what(), Catch::Matchers::Contains(part));
    }
  };
  refused(256, 65536, 8, "page_bytes = 256");
  refused(12288, 65536, 8, "page_bytes = 12288");
  refused(4096, 4095, 8, "bytes = 4095");
  refused(4096, 65536, 3, "ways = 3");
  refused(65536, 1 << 20, 8, "smaller than a page");
}
