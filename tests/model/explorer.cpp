// SPDX-License-Identifier: MIT

/// @file
/// @brief The explorer itself, on programs whose outcomes are known.

#include <set>

#include "model/explore.hpp"

namespace {

using namespace model;
using xio::arch::Scope;

struct Words {
  uint64_t x, y, seen[2], done;
};

class WordProgram : public Program {
 public:
  explicit WordProgram(Explorer& explorer) : explorer_(explorer) {}
  uint32_t actors() const override { return 2; }
  void* memory() override { return &words_; }
  size_t memory_bytes() const override { return sizeof words_; }

 protected:
  static uint64_t load(const uint64_t& word) { return xio::arch::load<Scope::agent>(&word); }
  static void store(uint64_t& word, uint64_t value) { xio::arch::store<Scope::agent>(&word, value); }

  Explorer& explorer_;
  Words words_{};
};

std::set<uint64_t> outcomes;

/// Both add 1, without an atomic.
class Race : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t) override { store(words_.x, load(words_.x) + 1); }
  std::string judge() override {
    outcomes.insert(words_.x);
    return {};
  }
};

/// Each stores to its word and loads the other's.
template <bool Weak>
class StoreBuffers : public WordProgram {
 public:
  using WordProgram::WordProgram;
  bool weak() const override { return Weak; }
  void run(uint32_t actor) override {
    store(actor == 0 ? words_.x : words_.y, 1);
    words_.seen[actor] = load(actor == 0 ? words_.y : words_.x);
  }
  std::string judge() override {
    outcomes.insert(words_.seen[0] << 1 | words_.seen[1]);
    return {};
  }
};

/// Actor 0 may stop before or after it sets a word; actor 1 waits for it, until a deadline.
class Stopped : public WordProgram {
 public:
  using WordProgram::WordProgram;
  uint32_t victim() const override { return 0; }
  void run(uint32_t actor) override {
    if (actor == 0) {
      store(words_.x, 1);
      store(words_.y, 1);
      return;
    }
    while (load(words_.x) == 0) {
      xio::arch::pause(0);
      if (xio::arch::clock() == early) continue;
      explorer_.require(words_.x == 0, "the deadline has passed although there was something to see");
      words_.done = 2;
      return;
    }
    words_.done = 1;
  }
  std::string judge() override {
    outcomes.insert(words_.done);
    return {};
  }
};

/// Actor 0 may stop. Actor 1 waits for it without a deadline.
class WaitsForStopped : public Stopped {
 public:
  using Stopped::Stopped;
  void run(uint32_t actor) override {
    if (actor == 0) return store(words_.x, 1);
    for (explorer_.mark(2); load(words_.x) == 0; explorer_.mark(2)) xio::arch::pause(0);
  }
};

/// One of three answers.
class Choice : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t actor) override {
    if (actor == 0) store(words_.x, explorer_.choose(3));
  }
  std::string judge() override {
    outcomes.insert(words_.x);
    return {};
  }
};

/// Actor 0 changes a word only where it sees what actor 1 does once actor 0 has begun. Actor 1 then loads that word
/// twice.
class RareChange : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t actor) override {
    if (actor == 0) {
      store(words_.done, 1);
      if (load(words_.x) == 1) store(words_.y, 1);
      return;
    }
    while (load(words_.done) == 0) xio::arch::pause(0);
    store(words_.x, 1);
    words_.seen[0] = load(words_.y);
    words_.seen[1] = load(words_.y);
  }
  std::string judge() override {
    outcomes.insert(words_.seen[0] << 1 | words_.seen[1]);
    return {};
  }
};

/// Each takes a number; what counts is that of actor 0.
template <uint32_t Alike>
class Numbers : public WordProgram {
 public:
  using WordProgram::WordProgram;
  uint32_t actors() const override { return 3; }
  bool like_previous(uint32_t actor) const override { return actor < Alike; }
  void run(uint32_t actor) override {
    (void)load(words_.x);
    const uint64_t taken = xio::arch::fetch_add<Scope::agent>(&words_.x, uint64_t{1});
    if (actor == 0) words_.seen[0] = taken;
  }
  std::string judge() override {
    outcomes.insert(words_.seen[0]);
    return {};
  }
};

/// Each may lock a word and unlock it first. Then each takes a number from it, while nobody locks it; what counts is
/// that of actor 0.
template <uint32_t Alike>
class ChangedBack : public WordProgram {
 public:
  using WordProgram::WordProgram;
  bool like_previous(uint32_t actor) const override { return actor < Alike; }
  void run(uint32_t actor) override {
    if (explorer_.choose(2) == 1 && exchange(0, 1)) store(words_.x, 0);
    for (;;) {
      explorer_.mark(2);
      if (exchange(0, 2) || exchange(2, 4)) break;
      xio::arch::pause(0);
    }
    if (actor == 0) words_.seen[0] = words_.x;
  }
  std::string judge() override {
    outcomes.insert(words_.seen[0] / 2 - 1);
    return {};
  }

 private:
  bool exchange(uint64_t expected, uint64_t desired) {
    return xio::arch::compare_exchange<Scope::agent>(&words_.x, expected, desired);
  }
};

/// Actor 0 sets a word and clears it at once. Actor 1 loads it.
class SetAndCleared : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t actor) override {
    if (actor == 0) {
      store(words_.x, 1);
      store(words_.x, 0);
    } else {
      words_.seen[1] = load(words_.x);
    }
  }
  std::string judge() override {
    outcomes.insert(words_.seen[1]);
    return {};
  }
};

/// Actor 0 changes a word three times. Actor 1 loads it each time and adds up what it sees, or forgets it.
template <bool Remembers>
class Loads : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t actor) override {
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= 3; ++i) {
      if (actor == 0) {
        store(words_.x, i);
      } else {
        const uint64_t seen = load(words_.x);
        if (Remembers) sum = sum << 2 | seen;
      }
    }
    if (Remembers && actor == 1) words_.seen[1] = sum;
  }
  std::string judge() override {
    outcomes.insert(words_.seen[1]);
    return {};
  }
};

/// Actor 0 may stop. Actor 1 waits for it, sets and clears a word in each round, and reads the time in each seventh
/// one.
class SlowDeadline : public Stopped {
 public:
  using Stopped::Stopped;
  void run(uint32_t actor) override {
    if (actor == 0) return store(words_.x, 1);
    for (uint32_t round = 1; load(words_.x) == 0; ++round) {
      store(words_.y, 1);
      store(words_.y, 0);
      if (round % 7 == 0 && xio::arch::clock() != early) {
        words_.done = 2;
        return;
      }
      xio::arch::pause(0);
    }
    words_.done = 1;
  }
};

/// Actor 0 sets and clears a word in each round, until actor 1 has ended, which hopes to see the word set three times.
class Blinks : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t actor) override {
    if (actor == 0) {
      while (load(words_.done) == 0) {
        store(words_.x, 1);
        store(words_.x, 0);
        xio::arch::pause(0);
      }
      return;
    }
    bool all = true;
    for (uint64_t i = 0; i < 5 && all; ++i) all = load(words_.x) == (i + 1) % 2;
    words_.seen[1] = all;
    store(words_.done, 1);
  }
  std::string judge() override {
    outcomes.insert(words_.seen[1]);
    return {};
  }
};

/// Both lock a word and unlock it in each round. What they wait for does not come.
template <bool Weak>
class BothWait : public WordProgram {
 public:
  using WordProgram::WordProgram;
  bool weak() const override { return Weak; }
  void run(uint32_t) override {
    while (load(words_.y) == 0) {
      uint64_t free = 0;
      if (xio::arch::compare_exchange<Scope::agent>(&words_.x, free, uint64_t{1})) store(words_.x, 0);
      xio::arch::pause(0);
    }
  }
  std::string judge() override { return {}; }
};

/// Actor 0 changes a word, then sets another one. Actor 1 waits for that, and has read the first word before, which
/// does not matter to it.
template <bool Call>
class Forgets : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void run(uint32_t actor) override {
    if (actor == 0) {
      for (uint64_t i = 1; i <= 3; ++i) store(words_.x, i);
      return store(words_.done, 1);
    }
    Call ? explorer_.mark_call(2) : explorer_.mark(2);
    const volatile uint64_t unused = load(words_.x);
    while (load(words_.done) == 0) xio::arch::pause(0);
    static_cast<void>(unused);
  }
  std::string judge() override {
    outcomes.insert(words_.x);
    return {};
  }
};

/// Words without actors that use them.
class ManyWords : public WordProgram {
 public:
  using WordProgram::WordProgram;
  void* memory() override { return words; }
  size_t memory_bytes() const override { return sizeof words; }
  void run(uint32_t) override {}
  std::string judge() override { return {}; }

  uint64_t words[64]{};
};

template <class P>
std::string failure_of(const Limits& limits) {
  Explorer explorer;
  return explorer.explore([](Explorer& self) { return std::make_unique<P>(self); }, limits).failure;
}

template <class P>
std::set<uint64_t> outcomes_of() {
  outcomes.clear();
  explore_all<P>();
  return outcomes;
}

}  // namespace

TEST_CASE("The explorer finds every outcome, and no other one") {
  using Set = std::set<uint64_t>;
  CHECK(outcomes_of<Race>() == Set{1, 2});
  CHECK(outcomes_of<StoreBuffers<false>>() == Set{1, 2, 3});
  CHECK(outcomes_of<StoreBuffers<true>>() == Set{0, 1, 2, 3});
  CHECK(outcomes_of<Stopped>() == Set{1, 2});
  CHECK(outcomes_of<Choice>() == Set{0, 1, 2});
}

TEST_CASE("The explorer tries all orders around a word that few executions change") {
  CHECK(outcomes_of<RareChange>() == std::set<uint64_t>{0, 1, 3});
  CHECK(outcomes_of<SetAndCleared>() == std::set<uint64_t>{0, 1});
}

TEST_CASE("The explorer lets an actor that waits go on with what others can see") {
  CHECK(outcomes_of<Blinks>() == std::set<uint64_t>{0, 1});
}

TEST_CASE("The explorer lets time pass until all rounds of a deadline are over") {
  CHECK(outcomes_of<SlowDeadline>() == std::set<uint64_t>{1, 2});
}

TEST_CASE("The explorer finds out that all wait for ever, though each changes memory and changes it back") {
  CHECK(failure_of<BothWait<false>>(Limits{}) == "stuck: actor 0 waits for ever");
  CHECK(failure_of<BothWait<false>>(Limits{0, 1}) == "stuck: actor 0 waits for ever");
  CHECK(failure_of<BothWait<true>>(Limits{}) == "stuck: actor 0 waits for ever");
}

TEST_CASE("The explorer names the actor that waits for a stopped one without a deadline") {
  CHECK(failure_of<WaitsForStopped>(Limits{}) == "stuck: actor 1 waits for ever, though the deadlines have passed");
}

TEST_CASE("Of actors that are alike, the explorer lets the first one change memory first") {
  CHECK(outcomes_of<Numbers<0>>() == std::set<uint64_t>{0, 1, 2});
  CHECK(outcomes_of<Numbers<2>>() == std::set<uint64_t>{0, 1});
  CHECK(outcomes_of<Numbers<3>>() == std::set<uint64_t>{0});
  CHECK(outcomes_of<ChangedBack<0>>() == std::set<uint64_t>{0, 1});
  CHECK(outcomes_of<ChangedBack<2>>() == std::set<uint64_t>{0, 1});
}

TEST_CASE("Two words whose values differ in one bit may not be exchanged unnoticed") {
  Explorer explorer;
  ManyWords program(explorer);
  const SharedWords memory(program);
  uint32_t missed = 0;
  for (uint32_t at = 0; at < 64 * 64 * 64; ++at) {
    const uint32_t one = at / 64 % 64, other = at / 4096;
    const uint64_t value = 0x0800010000000001, changed = value ^ uint64_t { 1 } << at % 64;
    if (one >= other) continue;
    program.words[one] = value;
    program.words[other] = changed;
    const uint64_t digest = memory.digest();
    std::swap(program.words[one], program.words[other]);
    missed += memory.digest() == digest;
    program.words[one] = program.words[other] = 0;
  }
  CHECK(missed == 0);
}

TEST_CASE("The explorer takes states for one that differ in forgotten values only") {
  outcomes.clear();
  const uint64_t kept = explore_with<Loads<true>>(Limits{}).states;
  CHECK(outcomes.size() == 20);  // three loads of 0 to 3, in ascending order
  CHECK(explore_with<Loads<false>>(Limits{}).states < kept);
  CHECK(explore_with<Forgets<true>>(Limits{}).states < explore_with<Forgets<false>>(Limits{}).states);
}
