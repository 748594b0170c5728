// SPDX-License-Identifier: MIT

/// @file
/// @brief What others do between two looks of a lane, at the moment where it matters.

#include <array>
#include <vector>

#include "cache/rig.hpp"
#include "catch.hpp"
#include "watched_waves.hpp"

using namespace cache_tests;
using xio_tests::TwoLanes;
using xio_tests::WatchedWave;

namespace {

using Word = xio::detail::CacheWord;
using xio::KeptResult;

Shape one_set(uint32_t drives = 1) {
  Shape shape;
  shape.drives = drives;
  shape.frames = 4;
  return shape;
}

/// The frame of a page that is present.
uint32_t frame_of(const CacheHandle& cache, uint64_t page) {
  const xio::detail::Frame found = xio::detail::Frames(cache).find(page);
  REQUIRE(found.word != 0);
  return found.number;
}

}  // namespace

TEST_CASE("A frame that others load anew while a lane looks at its error tells nothing of the lane's page") {
  Rig rig(one_set());
  const CacheHandle handle = rig.cache->handle();
  xio::Cache<> cache(handle, 0);
  uint64_t value = 0;
  REQUIRE(cache.get(0, 8, value, xio::deadline(patience)).is_ok());
  const uint32_t frame = frame_of(handle, 0);
  uint64_t& word = handle.words[frame];
  uint64_t& ended = handle.ends[frame].ended;
  word = uint64_t{1} << 32 | Word::one_generation | Word::loading | Word::armed;  // another wave loads the page again
  ended = 0;
  uint32_t looks = 0;
  {
    WatchedWave wave([&](const void* where, const WatchedWave::Stores&) {
      if (where != &ended) return;
      ++looks;
      if (looks == 2) ended = KeptResult::has_ended | 0x281 << 1;  // in vain; this lane settles it,
      if (looks == 3) {                                            // and looks for the reason
        word = uint64_t{2} << 32 | 2 * Word::one_generation | Word::valid | Word::armed;
        ended = KeptResult::has_ended;
      }
    });
    value = 0;
    CHECK(cache.get(0, 8, value, xio::deadline(patience)).is_ok());
  }
  CHECK(looks >= 3);
  CHECK(value == content(1, 0));
}

TEST_CASE("A frame's next command on a drive that is lost does not end who waited for the one before") {
  Rig rig(one_set(2));
  const CacheHandle handle = rig.cache->handle();
  xio::Cache<> cache(handle, 0);
  uint64_t value = 0;
  REQUIRE(cache.get(0, 8, value, xio::deadline(patience)).is_ok());
  const uint32_t frame = frame_of(handle, 0);
  uint64_t& word = handle.words[frame];
  word = uint64_t{1} << 32 | Word::one_generation | Word::loading | Word::armed;  // another wave loads the page again
  handle.ends[frame].ended = 0;
  rig.break_queue(1);
  bool happened = false;
  {
    WatchedWave wave([&](const void* where, const WatchedWave::Stores&) {
      uint32_t& queue = handle.notes[2 * frame + 1];
      if (where != &queue || happened) return;
      happened = true;  // that load has ended since, and another one, of page 1, will not
      word = uint64_t{2} << 32 | 2 * Word::one_generation | Word::loading | Word::armed;
      queue = 1;
    });
    value = 0;
    CHECK(cache.get(0, 8, value, xio::deadline(patience)).is_ok());
  }
  CHECK(happened);
  CHECK(value == content(1, 0));
}

TEST_CASE("Loads of a lost drive keep a page from all frames of its set once their waves have left them") {
  Rig rig(one_set(2));
  const CacheHandle handle = rig.cache->handle();
  rig.break_queue(1);
  for (uint64_t i = 0; i < 4; ++i) {  // pages 1, 3, 5 and 7
    handle.words[i] = (2 * i + 2) << 32 | Word::one_generation | Word::loading | Word::armed | 1;
    handle.notes[2 * i + 1] = 1;
  }
  uint64_t value = 0;
  const auto get = [&](xio::Duration limit) { return xio::Cache<>(handle, 0).get(0, 8, value, xio::deadline(limit)); };
  // A wave with a pin may yet find its command refused, and the frame is free.
  CHECK(get(20_ms) == Status::timed_out);
  for (uint32_t i = 0; i < 4; ++i) --handle.words[i];
  CHECK(get(patience) == Status::broken);
  handle.words[2] = 0;
  CHECK(get(patience).is_ok());
  CHECK(value == content(1, 0));
}

TEST_CASE("A lane that takes a frame for its former page puts nothing into the page of the others") {
  Rig rig(one_set());
  const CacheHandle handle = rig.cache->handle();
  xio::Cache<xio::WriteBack> cache(handle, 0);
  uint64_t value = 0;
  REQUIRE(cache.get(1, 0, value, xio::deadline(patience)).is_ok());
  const uint32_t frame = frame_of(handle, 1);
  handle.words[frame] += Word::one_generation;
  uint64_t& word = handle.words[frame];
  const uint64_t present = word;
  const auto store = [&](uint64_t now) { __atomic_store_n(&word, now, __ATOMIC_RELAXED); };
  // The first look of lane 1 is older than that of lane 0.
  TwoLanes wave(&word, [&] { store(uint64_t{1} << 32 | Word::valid | Word::armed); }, [&] { store(present); });
  std::array<Status, 2> put;
  wave.run([&](uint32_t lane) {
    put[lane] =
        xio::Cache<xio::WriteBack>(handle, 0).put(1 - lane, lane * 8, uint64_t{lane} + 1, xio::deadline(patience));
  });
  CHECK(wave.happened);
  CHECK(put == std::array<Status, 2>{});
  const uint64_t expected[2][2] = {{content(0, 0), 2}, {1, content(513, 0)}};
  for (uint32_t page = 0; page < 2; ++page) {
    for (uint32_t i = 0; i < 2; ++i) {
      CAPTURE(page, i);
      CHECK(cache.get(page, i * 8, value, xio::deadline(patience)).is_ok());
      CHECK(value == expected[page][i]);
    }
  }
}

TEST_CASE("Lanes that put into one page keep its pin until the last of them has stored") {
  Rig rig(one_set());
  const CacheHandle handle = rig.cache->handle();
  xio::Cache<xio::WriteBack> cache(handle, 0);
  uint64_t value = 0;
  REQUIRE(cache.get(0, 0, value, xio::deadline(patience)).is_ok());
  const uint32_t frame = frame_of(handle, 0);
  uint64_t pins = 0;
  TwoLanes wave(
      handle.data + (size_t{frame} << handle.page_shift) + 8,
      [&] { pins = __atomic_load_n(&handle.words[frame], __ATOMIC_RELAXED) & Word::pins; }, nullptr);
  std::array<Status, 2> put;
  wave.run([&](uint32_t lane) {
    put[lane] = xio::Cache<xio::WriteBack>(handle, 0).put(0, lane * 8, uint64_t{lane} + 1, xio::deadline(patience));
  });
  CHECK(wave.happened);
  CHECK(put == std::array<Status, 2>{});
  CHECK(pins == 1);
}

TEST_CASE("What a lane stores to a page or a record is performed before the frame's word says so") {
  Rig rig(one_set());
  const CacheHandle handle = rig.cache->handle();
  const auto is_in = [](const void* where, const void* first, size_t bytes) {
    return where >= first && where < static_cast<const char*>(first) + bytes;
  };
  uint64_t early = 0, elements = 0, records = 0;
  WatchedWave wave([&](const void* where, const WatchedWave::Stores& stores) {
    if (is_in(where, handle.data, size_t{4} << handle.page_shift)) ++elements;
    if (is_in(where, handle.ends, 4 * sizeof *handle.ends)) ++records;
    if (!is_in(where, handle.words, 4 * sizeof *handle.words)) return;
    for (const void* const store : stores) {
      early += is_in(store, handle.data, size_t{4} << handle.page_shift);
      early += is_in(store, handle.ends, 4 * sizeof *handle.ends);
    }
  });
  xio::Cache<xio::WriteBack> cache(handle, 0);
  CHECK(cache.put(0, 0, uint64_t{1}, xio::deadline(patience)).is_ok());
  CHECK(early == 0);
  CHECK(elements == 1);
  CHECK(records >= 2);
}

namespace {

/// A wave of one lane where nobody looks; the drive goes on where it pauses.
class SteppingWave {
 public:
  explicit SteppingWave(Rig& rig)
      : wave_([](const void*, const WatchedWave::Stores&) {}, [&] { rig.models[0]->step(); }) {}

 private:
  WatchedWave wave_;
};

/// Runs `stopped`, and `meanwhile` before its access number `step`, as another wave. Returns whether it has as many.
template <class Stopped, class Meanwhile>
bool stop_at(Rig& rig, uint32_t step, Stopped stopped, Meanwhile meanwhile) {
  uint32_t now = 0;
  const WatchedWave wave(
      [&](const void*, const WatchedWave::Stores&) {
        if (++now != step) return;
        const SteppingWave other(rig);
        meanwhile();
      },
      [&] { rig.models[0]->step(); });
  stopped();
  return now >= step;
}

/// A put takes fewer.
constexpr uint32_t most_steps = 3000;

uint64_t get(const CacheHandle& handle, uint64_t page, Duration limit, Status& status) {
  uint64_t value = 0;
  status = xio::Cache<xio::WriteBack>(handle, 1).get(page, 0, value, xio::deadline(limit));
  return value;
}

}  // namespace

TEST_CASE("A wave that stops at any step of a put, over one frame, loses nothing") {
  Shape shape;
  shape.pages = 2;
  shape.queues_per_drive = 2;
  shape.stepped = true;
  uint32_t served = 0, step = 0;
  for (bool more = true; more && step < most_steps;) {
    CAPTURE(++step);
    Rig rig(shape);
    const SteppingWave self(rig);
    const CacheHandle handle = rig.cache->handle();
    REQUIRE(xio::Cache<xio::WriteBack>(handle, 1).put(1, 0, uint64_t{11}, xio::deadline(patience)).is_ok());
    Status put, got;
    more = stop_at(
        rig, step,
        [&] { put = xio::Cache<xio::WriteBack>(handle, 0).put(0, 0, uint64_t{10}, xio::deadline(patience)); },
        [&] {
          // The stopped wave may hold the frame, or the set. Else nobody waits for it.
          const uint64_t word = handle.words[0];
          const bool held =
              (word & Word::pins) != 0 || Word::is_under_way(word) || handle.sets[0] + handle.sets[2] != 0;
          const uint64_t value = get(handle, 1, held ? 20_ms : patience, got);
          served += got.is_ok();
          CHECK((got.is_ok() ? value == 11 : held && got == Status::timed_out));
        });
    CHECK(put.is_ok());
    for (uint64_t page = 0; page < 2; ++page) {
      CHECK(get(handle, page, patience, got) == 10 + page);
      CHECK(got.is_ok());
    }
    CHECK((handle.words[0] & Word::pins) == 0);
  }
  CHECK((step > 20 && step < most_steps));
  CHECK(served != 0);
}

TEST_CASE("A wave that stops at any step of a put delays no page of another set") {
  Shape shape;
  shape.frames = 8;  // two sets
  shape.pages = 64;
  shape.queues_per_drive = 2;
  shape.stepped = true;
  uint32_t step = 0;
  for (bool more = true; more && step < most_steps;) {
    CAPTURE(++step);
    Rig rig(shape);
    const SteppingWave self(rig);
    const CacheHandle handle = rig.cache->handle();
    const xio::detail::Frames frames(handle);
    std::vector<uint64_t> same, other;
    for (uint64_t page = 0; page < 64; ++page)
      (frames.first_of(page) == frames.first_of(0) ? same : other).push_back(page);
    REQUIRE((same.size() > 4 && other.size() > 1));
    Status status;
    for (uint32_t i = 1; i <= 4; ++i)  // pages that have to be written before others have their frames
      REQUIRE(xio::Cache<xio::WriteBack>(handle, 1).put(same[i], 0, uint64_t{1}, xio::deadline(patience)).is_ok());
    get(handle, other[0], patience, status);
    Status put;
    more = stop_at(
        rig, step,
        [&] { put = xio::Cache<xio::WriteBack>(handle, 0).put(0, 0, uint64_t{10}, xio::deadline(patience)); },
        [&] {
          for (const uint64_t page : {other[0], other[1]}) {
            CHECK(get(handle, page, patience, status) == content(page * 512, 0));
            CHECK(status.is_ok());
          }
        });
    CHECK(put.is_ok());
    CHECK(get(handle, 0, patience, status) == 10);
  }
  CHECK((step > 20 && step < most_steps));
}
