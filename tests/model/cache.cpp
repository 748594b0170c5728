// SPDX-License-Identifier: MIT

/// @file
/// @brief A page cache under every schedule of two waves, a drive, and stores that are performed late.

#include <xio/cache.hpp>

#include "model/device.hpp"
#include "model/explore.hpp"

namespace {

using namespace model;
using xio::CacheCounts;
using xio::CacheHandle;
using xio::Deadline;
using xio::KeptResult;
using Word = xio::detail::CacheWord;

constexpr uint32_t pages = 2;
constexpr uint32_t elements = 2;  ///< of a page that anybody looks at

/// One set of four frames, of which one exists.
struct CacheMemory {
  uint64_t words[4];
  uint32_t notes[8];
  KeptResult ends[4];
  uint32_t sets[4];
  CacheCounts counts;
  uint64_t frame[elements];
  uint64_t drive[pages][elements];
  uint32_t command[most_entries];  ///< of each identifier: the page, and 16 for a write
};

/// What a wave does, in this order.
constexpr uint32_t puts_own = 1;    ///< the first element of a page of its own
constexpr uint32_t gets_other = 2;  ///< those of the other wave's page
constexpr uint32_t gets_own = 4;    ///< those of its own page

struct Shape {
  uint32_t work[2] = {puts_own | gets_other, puts_own | gets_other};
  bool weak = false;     ///< stores may be performed later
  bool present = false;  ///< the page of the second wave is there
};

class PutAndGet : public QueueProgramWith<CacheMemory> {
 public:
  PutAndGet(Explorer& explorer, const Shape& shape)
      : QueueProgramWith(explorer, {4, 8, 4, 2}, 2), shape_(shape), queue_(handle()) {
    for (uint32_t i = 1; i < 4; ++i) memory_.words[i] = Word::unusable;
    for (uint32_t page = 0; page < pages; ++page) {
      for (uint32_t i = 0; i < elements; ++i) memory_.drive[page][i] = before(page, i);
    }
    if (!shape.present) return;
    memory_.words[0] = uint64_t{2} << 32 | Word::valid | Word::armed;
    for (uint32_t i = 0; i < elements; ++i) memory_.frame[i] = before(1, i);
    memory_.ends[0].ended = KeptResult::has_ended;
  }
  bool weak() const override { return shape_.weak; }
  bool like_previous(uint32_t actor) const override {
    return actor == 1 && shape_.work[0] == shape_.work[1] && !shape_.present;
  }

 protected:
  using Cache = xio::Cache<xio::WriteBack>;

  static constexpr uint64_t before(uint32_t page, uint32_t i) { return 10 + page * elements + i; }
  static constexpr uint64_t after(uint32_t page) { return 20 + page; }

  void wave(uint32_t number) override {
    Cache cache(cache_handle(), number);
    if ((shape_.work[number] & puts_own) != 0) repeat(1, [&] { return cache.put(number, 0, after(number), passed()); });
    if ((shape_.work[number] & gets_other) != 0) get(cache, 1 - number);
    if ((shape_.work[number] & gets_own) != 0) get(cache, number);
  }

  std::string verdict() override {
    for (uint32_t page = 0; page < pages; ++page) {
      const bool present = memory_.words[0] >> 32 == page + 1 && Word::is_readable(memory_.words[0]);
      const uint64_t* const now = present ? memory_.frame : memory_.drive[page];
      const uint64_t last = (shape_.work[page] & puts_own) != 0 ? after(page) : before(page, 0);
      if (now[0] != last) return "what was put is lost";
      if (now[1] != before(page, 1)) return "an element has changed that nobody has put";
    }
    if ((memory_.words[0] & Word::pins) != 0) return "a pin was not given back";
    if (memory_.sets[0] != 0) return "the set is locked";
    return {};
  }
  uint32_t accepted() const override { return static_cast<uint32_t>(xio::protocol::tickets(memory_.state.reserved)); }

  void look_at(const Sqe& entry) override {
    const uint32_t page = entry.cdw10;
    explorer_.require(page < pages, "a command for no page");
    for (uint32_t i = 0; i < device_.live_count; ++i)
      explorer_.require(device_.live[i].block != page, "a page has two commands at once");
    const bool writes = (entry.cdw0 & 0xff) == static_cast<uint32_t>(xio::nvme::Opcode::write);
    command_of(entry.cdw0 >> 16) = page | (writes ? 16 : 0);
  }
  uint16_t execute(const Live& live) override {
    const uint32_t command = command_of(live.cid);
    uint64_t* const page = memory_.drive[command & 15];
    for (uint32_t i = 0; i < elements; ++i) {
      if ((command & 16) != 0) {
        page[i] = memory_.frame[i];
      } else {
        memory_.frame[i] = page[i];
      }
    }
    return 0;
  }

 private:
  static Deadline passed() { return {0}; }
  uint32_t& command_of(uint32_t cid) { return memory_.command[cid & (sizes_.slots - 1)]; }

  void get(Cache& cache, uint32_t page) {
    for (uint32_t i = 0; i < elements; ++i) {
      uint64_t value = 0;
      repeat(2 + i, [&] { return cache.get(page, i * 8, value, passed()); });
      explorer_.require(value == before(page, i) || (i == 0 && value == after(page)),
                        "an element that was never in this page");
    }
  }

  /// Until it has succeeded, in calls of one round: nothing is kept of one that has not.
  template <class Call>
  void repeat(uint64_t known, Call call) {
    for (;;) {
      explorer_.mark_call(known);
      if (call().is_ok()) return;
      // They count rounds that change nothing.
      memory_.counts = {};
      memory_.sets[3] = 0;
      xio::arch::pause(0);
    }
  }

  CacheHandle cache_handle() {
    CacheHandle c{};
    c.drives = {&queue_, 1, 1, 0};
    c.memory = {&base_, 4 * 512};
    c.data = reinterpret_cast<char*>(memory_.frame);
    c.words = memory_.words;
    c.notes = memory_.notes;
    c.ends = memory_.ends;
    c.sets = memory_.sets;
    c.counts = &memory_.counts;
    c.pages = pages;
    c.page_shift = 9;
    c.set_shift = 0;
    c.way_shift = 2;
    return c;
  }

  const Shape shape_;
  const xio::nvme::QueueHandle queue_;
  const uint64_t base_ = 4096;
};

/// So many states that a minute is enough at night, too.
void run(const char* what, const Shape& shape) {
  std::printf("%-56s", what);
  std::fflush(stdout);
  explore_with<PutAndGet>(at_night() ? Limits{1000000, 25000} : Limits{60000, 1500}, shape);
}

}  // namespace

TEST_CASE("A page cache of one frame: a page that leaves while a wave reads it, under any schedule") {
  run("a put, and a hit", {{puts_own, gets_own}, false, true});
  run("a put, and a hit, late stores", {{puts_own, gets_own}, true, true});
}

TEST_CASE("A page cache of one frame: puts arrive, and pages do not mix, under any schedule") {
  run("a put, and a get of it", {{puts_own, gets_other}, false, true});
  run("a put, and a get of it, late stores", {{puts_own, gets_other}, true, true});
  run("two puts, late stores", {{puts_own, puts_own}, true, true});
  run("two puts and gets", {{puts_own | gets_other, puts_own | gets_other}});
  run("two puts and gets, late stores", {{puts_own | gets_other, puts_own | gets_other}, true});
}
