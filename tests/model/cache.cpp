// SPDX-License-Identifier: MIT

/// @file
/// @brief A page cache under every schedule of two waves, a drive, and stores that are performed late; and beside a
/// wave that stops at any of its steps.

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
  uint64_t lost;                   ///< puts that were given up, one bit for each wave
};

/// What a wave does, in this order.
constexpr uint32_t puts_own = 1;    ///< the first element of a page of its own
constexpr uint32_t gets_other = 2;  ///< those of the other wave's page
constexpr uint32_t gets_own = 4;    ///< those of its own page

struct Shape {
  uint32_t work[2] = {puts_own | gets_other, puts_own | gets_other};
  bool weak = false;      ///< stores may be performed later
  bool present = false;   ///< the page of the second wave is there
  bool stops = false;     ///< the first wave, at any step, until the second one has ended or given up
  uint32_t commands = 0;  ///< after so many a wave gives up where it would pause; 0: never
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
    return actor == 1 && shape_.work[0] == shape_.work[1] && !shape_.present && !shape_.stops;
  }
  uint32_t victim() const override { return shape_.stops ? 0 : ~0u; }

 protected:
  using Cache = xio::Cache<xio::WriteBack>;

  static constexpr uint64_t before(uint32_t page, uint32_t i) { return 10 + page * elements + i; }
  static constexpr uint64_t after(uint32_t page) { return 20 + page; }

  void wave(uint32_t number) override {
    Cache cache(cache_handle(), number);
    const uint32_t work = shape_.work[number];
    const auto put = [&] { return cache.put(number, 0, after(number), passed()); };
    if ((work & puts_own) != 0 && !repeat(1, put, number, number, Word::valid)) {
      memory_.lost |= uint64_t{1} << number;
      return;
    }
    if ((work & gets_other) != 0 && !get(cache, number, 1 - number)) return;
    if ((work & gets_own) != 0) (void)get(cache, number, number);
  }

  std::string verdict() override {
    for (uint32_t page = 0; page < pages; ++page) {
      const bool present = memory_.words[0] >> 32 == page + 1 && Word::is_readable(memory_.words[0]);
      const uint64_t* const now = present ? memory_.frame : memory_.drive[page];
      const bool is_put = (shape_.work[page] & puts_own) != 0 && (memory_.lost >> page & 1) == 0;
      const uint64_t last = is_put ? after(page) : before(page, 0);
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

  bool get(Cache& cache, uint32_t wave, uint32_t page) {
    for (uint32_t i = 0; i < elements; ++i) {
      uint64_t value = 0;
      if (!repeat(2 + i, [&] { return cache.get(page, i * 8, value, passed()); }, wave, page)) return false;
      explorer_.require(value == before(page, i) || (i == 0 && value == after(page)),
                        "an element that was never in this page");
    }
    return true;
  }

  /// Until it has succeeded, in calls of one round: nothing is kept of one that has not. Returns false if the wave
  /// gives up: the second one has waited for the stopped one until the deadlines passed, or there were enough commands.
  /// @param page  page that the call needs
  /// @param state  state of its frame in which the call needs nothing else; 0: any that is readable
  template <class Call>
  bool repeat(uint64_t known, Call call, uint32_t wave, uint32_t page, uint64_t state = 0) {
    for (;;) {
      explorer_.mark_call(known);
      const bool late_now = wave != victim() && shape_.stops && xio::arch::clock() != early;
      if (call().is_ok()) return true;
      // They count rounds that change nothing.
      memory_.counts = {};
      memory_.sets[3] = 0;
      if (late_now) {
        const char* const wrong = undelayed(page, state);
        explorer_.require(wrong == nullptr, wrong);
        return false;
      }
      if (has_enough()) return false;
      xio::arch::pause(0);
    }
  }

  /// Waves take the frame from each other for ever, in schedules that do not end.
  bool has_enough() const {
    if (shape_.commands == 0) return false;
    const uint64_t reserved = xio::arch::load<xio::arch::Scope::agent>(&memory_.state.reserved);
    return xio::protocol::tickets(reserved) >= shape_.commands;
  }

  /// Why a call on a page, after which all but the first wave rest, cannot be waiting for that; null: it can.
  const char* undelayed(uint32_t page, uint64_t state) const {
    const xio::QueueState& queue = memory_.state;
    const uint64_t word = memory_.words[0];
    const bool present = word >> 32 == page + 1;
    if (present && (state == 0 ? Word::is_readable(word) : Word::state(word) == state))
      return "a wave waits for a page that is there";
    if (!present && memory_.sets[0] != 0) return nullptr;
    // The rings, and completions, which a stopped wave may hold.
    if ((queue.tail & xio::protocol::ringing_bit) != 0 || (queue.retired & xio::protocol::draining_bit) != 0 ||
        xio::protocol::published(queue.tail) != accepted())
      return nullptr;
    if (device_.completed != accepted() || queue.retired != device_.completed)
      return "a wave waits for a command, and nobody is in the way of its end";
    if (Word::is_under_way(word)) {
      // Whoever looks settles; the first wave has yet to submit what has not ended.
      const bool ended = (memory_.ends[0].ended & KeptResult::has_ended) != 0;
      return (word & Word::armed) != 0 && ended ? "a command has ended, and nobody settles it" : nullptr;
    }
    if (present) return "a wave waits for a page whose load has failed";
    const bool asked = memory_.sets[2] != 0 && memory_.sets[2] != page + 1;
    return (word & Word::pins) != 0 || asked ? nullptr : "a wave waits for a frame that is free";
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
  say(what);
  explore_with<PutAndGet>(at_night() ? Limits{1000000, 25000} : Limits{60000, 1500}, shape);
}

/// All schedules of so many commands.
void run_whole(const char* what, Shape shape, uint32_t by_day, uint32_t by_night) {
  shape.commands = at_night() ? by_night : by_day;
  std::printf("%-48s%u %s", what, shape.commands, shape.commands != 0 ? "cmds " : "      ");
  std::fflush(stdout);
  explore_all<PutAndGet>(shape);
}

}  // namespace

TEST_CASE("A page cache of one frame: a page that leaves while a wave reads it, under any schedule") {
  run("a put, and a hit", {{puts_own, gets_own}, false, true});
  run("a put, and a hit, late stores", {{puts_own, gets_own}, true, true});
}

TEST_CASE("A page cache of one frame: a wave that stops at any step delays its page and its set's misses alone") {
  run_whole("stop: a put, and a hit", {{puts_own, gets_own}, false, true, true}, 1, 3);
  run_whole("stop: two puts", {{puts_own, puts_own}, false, true, true}, 2, 4);
  run_whole("stop: a get, and a put", {{gets_own, puts_own}, false, true, true}, 1, 3);
  run_whole("stop: a put, and a get of it", {{puts_own, gets_other}, false, true, true}, 0, 0);
  run_whole("stop: two puts and gets", {{puts_own | gets_other, puts_own | gets_other}, false, false, true}, 1, 3);
}

TEST_CASE("A page cache of one frame: puts arrive, and pages do not mix, under any schedule") {
  run_whole("a put, and a get of it", {{puts_own, gets_other}, false, true}, 0, 0);
  run_whole("two puts", {{puts_own, puts_own}, false, true}, 2, 4);
  run_whole("two puts and gets", {{puts_own | gets_other, puts_own | gets_other}}, 2, 4);
  run("a put, and a get of it, late stores", {{puts_own, gets_other}, true, true});
  run("two puts, late stores", {{puts_own, puts_own}, true, true});
  run("two puts and gets, late stores", {{puts_own | gets_other, puts_own | gets_other}, true});
}
