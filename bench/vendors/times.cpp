// SPDX-License-Identifier: MIT
/// @file
/// @brief Times of a post and a poll on this CPU; compiled without counters.

#include "vendors/instruction_counter.hpp"
#include "vendors/measurements.hpp"
#include "vendors/rig.hpp"

#include <algorithm>
#include <chrono>

#if XIO_COUNT_OPERATIONS
#error "counting takes time"
#endif

namespace vendors {

namespace {

using xio::Sharing;

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Times and instructions of one call, one sample per repetition.
struct Samples {
  std::vector<double> nanoseconds;
  std::vector<double> instructions;

  CallCost cost(bool counted) const {
    CallCost result;
    result.nanoseconds = median(nanoseconds);
    if (counted) result.instructions = median(instructions);
    return result;
  }
};

[[gnu::noinline]] void nothing() { asm volatile("" ::: "memory"); }

/// Measures series of calls.
class Stopwatch {
 public:
  bool counted() const { return counter_.available(); }

  template <class Call>
  void measure(Samples& samples, Call call) {
    // Cost of the loop and of an empty call, to be subtracted.
    const uint64_t idle = instructions_of([] { nothing(); });
    const auto begin = std::chrono::steady_clock::now();
    const uint64_t instructions = instructions_of(call);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    samples.nanoseconds.push_back(spent.count() / batch_size);
    samples.instructions.push_back((static_cast<double>(instructions) - static_cast<double>(idle)) / batch_size);
  }

 private:
  template <class Call>
  uint64_t instructions_of(Call call) const {
    const uint64_t begin = counter_.read();
    for (uint32_t i = 0; i < batch_size; ++i) call();
    return counter_.read() - begin;
  }

  InstructionCounter counter_;
};

/// A kind of queue that is measured repeatedly.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void measure(Stopwatch& watch) = 0;
  virtual Timed result(bool counted) const = 0;
};

// As in the callgrind budgets: each call is a function that is not inlined; the caller owns the queue object.
template <class Rig, class Policy>
[[gnu::noinline]] xio::Token post(typename Rig::template Queue<Sharing::thread, Policy>& queue,
                                  const typename Rig::Data& data) {
  return Rig::post(queue, data);
}
template <class Queue>
[[gnu::noinline]] uint32_t poll(Queue& queue) {
  return queue.drain();
}

template <class Rig>
class QueueSubject final : public Subject {
  template <class Policy>
  using Queue = typename Rig::template Queue<Sharing::thread, Policy>;

 public:
  void measure(Stopwatch& watch) override {
    // Warm-up: the first series after those of other queues finds cold caches.
    Samples unused;
    row(watch, unchecked_, unused, unused);
    row(watch, checked_, unused, unused);
    row(watch, unchecked_, unchecked_samples_, poll_samples_);
    row(watch, checked_, checked_samples_, poll_samples_);
    rig_.require_peace();
  }

  Timed result(bool counted) const override {
    return {Rig::name, unchecked_samples_.cost(counted), checked_samples_.cost(counted), poll_samples_.cost(counted)};
  }

 private:
  template <class Policy>
  void row(Stopwatch& watch, Queue<Policy>& queue, Samples& posts, Samples& polls) {
    const auto data = rig_.data();
    uint32_t posted = 0;
    watch.measure(posts, [&] { posted += post<Rig, Policy>(queue, data).count; });
    rig_.execute();
    uint32_t taken = 0;
    watch.measure(polls, [&] { taken += poll(queue); });
    if (posted != batch_size || taken != batch_size)
      throw std::runtime_error(std::string(Rig::name) + ": of " + std::to_string(batch_size) + " operations " +
                               std::to_string(posted) + " were posted and " + std::to_string(taken) + " ended");
  }

  Rig rig_;
  Queue<xio::Unchecked> unchecked_{rig_.handle()};
  Queue<xio::Policy<>> checked_{rig_.handle()};
  Samples unchecked_samples_;
  Samples checked_samples_;
  Samples poll_samples_;
};

struct MakeSubject {
  std::vector<std::unique_ptr<Subject>>& all;
  template <class Rig>
  void run() {
    all.push_back(std::make_unique<QueueSubject<Rig>>());
  }
};

}  // namespace

std::vector<Timed> time_all(uint32_t repetitions) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for_each_kind(MakeSubject{subjects});
  Stopwatch watch;
  for (uint32_t i = 0; i < repetitions; ++i) {
    for (const auto& subject : subjects) subject->measure(watch);
  }
  std::vector<Timed> results;
  for (const auto& subject : subjects) results.push_back(subject->result(watch.counted()));
  return results;
}

}  // namespace vendors
