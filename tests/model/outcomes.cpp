// SPDX-License-Identifier: MIT

/// @file
/// @brief Refusals, fences, errors, notifications and long commands under every schedule of two or three waves and a
/// device.

#include "model/device.hpp"
#include "model/explore.hpp"

namespace {

using namespace model;
using xio::Deferred;
using xio::Notify;
using xio::Policy;
using xio::Sharing;
using xio::nvme::Queue;

constexpr uint64_t enough = 60000;

/// Waves submit without waiting until some of their reads are accepted; nobody else is in their way for ever.
template <class Policy>
class Refused : public QueueProgram {
 public:
  using QueueProgram::QueueProgram;
  bool like_previous(uint32_t actor) const override { return actor < waves_; }

 protected:
  void wave(uint32_t number) override {
    Queue<Sharing::grid, Policy> queue(handle());
    for (uint32_t i = 0; i < 2; ++i) {
      explorer_.mark(i);
      for (;;) {
        const Token token = read(queue, number * 2 + i);
        if (token.submitted()) break;
        explorer_.require(token.status == Status::would_block, "refused for another reason");
        queue.drain();
        xio::arch::pause(0);
      }
    }
    queue.ring();
  }
};

/// Wave 0 submits one read and relies on fence(); the others come and go.
template <class Policy>
class Fenced : public QueueProgram {
 public:
  using QueueProgram::QueueProgram;

 protected:
  void wave(uint32_t number) override {
    Queue<Sharing::grid, Policy> queue(handle());
    if (number == 0) {
      const Token token = read(queue, 0, forever());
      explorer_.mark(mix(2, token.last));
      explorer_.require(queue.fence(forever()).is_ok(), "the fence failed");
      explorer_.require(done(0), "the fence returned while the operation was in flight");
      explorer_.require(queue.test(token).is_ok(), "the fence returned before the completion was filed");
    } else {
      for (uint32_t i = 0; i < 2; ++i) {
        const Token token = read(queue, number * 2 + i, forever());
        explorer_.mark(mix(i + 2, token.last));
        explorer_.require(queue.wait(token, forever()).is_ok(), "a wait failed");
        explorer_.mark(i);
      }
    }
  }
};

/// Reads of odd blocks fail. Wave 0 waits for its error, wave 1 leaves it to quiet().
class Failing : public QueueProgram {
 public:
  using QueueProgram::QueueProgram;

 protected:
  uint16_t status_of(uint64_t block) const override { return block % 2 == 1 ? 0x281 : 0; }
  void wave(uint32_t number) override {
    Queue<Sharing::grid> queue(handle());
    const Token token = read(queue, number * 2 + 1, forever());
    const Status error(Status::read_error, 0x281);
    explorer_.mark(mix(2, token.last));
    if (number == 0) {
      explorer_.require(queue.wait(token, forever()) == error, "the error did not reach the waiter");
    } else {
      explorer_.require(queue.quiet(forever()) == error, "the error that nobody waited for was lost");
      explorer_.mark(token.last);
      explorer_.require(queue.wait(token, forever()) == error, "the token forgot its error");
    }
  }
  std::string verdict() override {
    return memory_.state.error_count == 0 ? "" : "errors are counted that somebody was told of";
  }
};

/// All reads are counted by one notification; one in three fails.
class Notified : public QueueProgram {
 public:
  using QueueProgram::QueueProgram;

 protected:
  uint16_t status_of(uint64_t block) const override { return block % 3 == 1 ? 0x281 : 0; }
  void wave(uint32_t number) override {
    Queue<Sharing::grid, Policy<Notify>> queue(handle());
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t block = number * 2 + i;
      (void)queue.submit(xio::nvme::read(block, 1), xio::nvme::DataPointer{uint64_t{block} << 12}, forever(),
                         xio::Options().notify(memory_.notification));
      ++device_.accepted;
      explorer_.mark(i);
    }
    // Whoever comes first takes the completions; the word tells all of them.
    for (;;) {
      const uint64_t failed = xio::arch::observe<xio::arch::Scope::system>(&memory_.notification.failed);
      const uint64_t ended = xio::arch::observe<xio::arch::Scope::system>(&memory_.notification.done);
      explorer_.require(failed <= 1 && ended <= 4, "counted twice");
      if (ended == 4) break;
      queue.drain();
      xio::arch::pause(0);
    }
    explorer_.require(memory_.notification.failed == 1, "an error was counted after its end");
  }
};

/// Commands of three parts each, on a queue that holds two.
class Split : public QueueProgram {
 public:
  using QueueProgram::QueueProgram;
  bool like_previous(uint32_t actor) const override { return actor < waves_; }

 protected:
  void wave(uint32_t number) override {
    Queue<Sharing::grid> queue(handle());
    const Token token = queue.submit(xio::nvme::read(number * 32, 8 * 2 + 3), Anywhere{}, forever());
    device_.accepted += 3;
    explorer_.require(token.submitted(), "refused");
    explorer_.mark(mix(token.status.is_ok() ? 2 : 3, token.last));
    explorer_.require(queue.wait(token, forever()).is_ok(), "a part failed, or was forgotten");
    for (uint32_t part = 0; part < 3; ++part) {
      explorer_.require(done(number * 32 + part * 8), "the token ended before its parts");
    }
  }

 private:
  struct Anywhere {
    static uint64_t bus(uint64_t) { return 4096; }
  };
};

}  // namespace

TEMPLATE_TEST_CASE("a refused claim leaves no trace under any schedule", "[H37]", xio::Policy<>, Policy<Deferred<3>>) {
  explore<Refused<TestType>>(enough, Sizes{4, 4, 4, 2}, 2u);
  explore<Refused<TestType>>(enough, Sizes{2, 2, 2, 1}, 2u);
}

TEMPLATE_TEST_CASE("fence returns after the caller's operation under any schedule", "[H4]", xio::Policy<>,
                   Policy<Deferred<2>>) {
  explore<Fenced<TestType>>(enough, Sizes{4, 8, 8, 3}, 2u);
  explore<Fenced<TestType>>(enough, Sizes{4, 8, 8, 2}, 2u);
}

TEST_CASE("errors reach a waiter or quiet, and are counted out, under any schedule", "[H16]") {
  explore<Failing>(enough, Sizes{4, 8, 4, 2}, 2u);
  explore<Failing>(enough, Sizes{4, 8, 2, 1}, 2u);
}

TEST_CASE("Notifications count each end once under any schedule") {
  explore<Notified>(enough, Sizes{4, 8, 4, 2}, 2u);
  explore<Notified>(enough, Sizes{4, 8, 8, 3}, 2u);
}

TEST_CASE("Long commands whose parts mix end when their parts have, under any schedule") {
  explore<Split>(enough, Sizes{4, 8, 8, 2}, 2u);
  explore<Split>(enough, Sizes{4, 4, 8, 3}, 2u);
}
