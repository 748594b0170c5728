// SPDX-License-Identifier: MIT
// The ordering that xio::arch promises, as small programs of two or three threads whose plain accesses would race
// without it. The values are checked, and ThreadSanitizer, where it is on, checks the rest; weakened.sh shows that it
// does.
//
// ordering [NAME...]: runs these programs, or all; exit status 1 when one read what it must not.

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <xio/device/nvme/queue.hpp>

using namespace xio;
using arch::Scope;

namespace {

constexpr uint64_t rounds = 2000;
constexpr uint32_t slots = 8;

// What threads share is on the heap: clang's ThreadSanitizer passes over elements of arrays on the stack.
template <class T>
using Shared = std::vector<T>;

bool wrong = false;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "out of order: %s\n", what);
  __atomic_store_n(&wrong, true, __ATOMIC_RELAXED);
}

void wait_for(const uint32_t* word, uint32_t at_least) {
  while (static_cast<int32_t>(arch::load<Scope::system>(word) - at_least) < 0) std::this_thread::yield();
}

nvme::Sqe entry_of(uint64_t index) {
  return nvme::encode(nvme::read(index, 8).nsid(1), index & 0xffff, nvme::DataPointer{index * 4096});
}

bool is_entry_of(const nvme::Sqe& entry, uint64_t index) {
  const nvme::Sqe expected = entry_of(index);
  return std::memcmp(&entry, &expected, sizeof entry) == 0;
}

/// Entry, then doorbell: a device that saw the doorbell reads the whole entry. It frees the slot by a word of its own.
void entry_before_doorbell() {
  Shared<nvme::Sqe> ring(slots);
  uint32_t doorbell = 0;
  uint32_t head = 0;
  std::thread device([&] {
    for (uint32_t i = 0; i < rounds; ++i) {
      wait_for(&doorbell, i + 1);
      require(is_entry_of(ring[i % slots], i), "an entry after its doorbell");
      arch::publish<Scope::system>(&head, i + 1);
    }
  });
  for (uint32_t i = 0; i < rounds; ++i) {
    if (i >= slots) wait_for(&head, i + 1 - slots);
    XioComEnqueue(entry_of(i), ring.data(), i % slots);
    XioComDoorbell(&doorbell, i + 1);
  }
  device.join();
}

/// Entry, doorbell record, doorbell: a device that saw the doorbell finds a record that is as new, and the entries up
/// to it.
void entry_before_record_before_doorbell() {
  Shared<nvme::Sqe> ring(slots);
  uint32_t record = 0;
  uint32_t doorbell = 0;
  uint32_t head = 0;
  std::thread device([&] {
    for (uint32_t done = 0; done < rounds;) {
      wait_for(&doorbell, done + 1);
      const uint32_t rung = arch::load<Scope::system>(&doorbell);
      const uint32_t recorded = arch::load<Scope::system>(&record);
      require(static_cast<int32_t>(recorded - rung) >= 0, "a record after its doorbell");
      for (; done != recorded; ++done) require(is_entry_of(ring[done % slots], done), "an entry after its record");
      arch::publish<Scope::system>(&head, done);
    }
  });
  for (uint32_t i = 0; i < rounds; ++i) {
    if (i >= slots) wait_for(&head, i + 1 - slots);
    XioComEnqueue(entry_of(i), ring.data(), i % slots);
    XioComDoorbell<order::Release>(&record, i + 1);
    XioComDoorbell<order::Stored>(&doorbell, i + 1);
  }
  device.join();
}

/// Data, then the entry's other half, then the word with the phase: whoever saw the phase reads both.
void data_before_completion() {
  Shared<nvme::Cqe> ring(slots);
  Shared<uint64_t> data(slots);
  uint32_t acknowledged = 0;
  std::thread device([&] {
    for (uint32_t i = 0; i < rounds; ++i) {
      if (i >= slots) wait_for(&acknowledged, i + 1 - slots);
      data[i % slots] = i * uint64_t{3};
      ring[i % slots].dw0 = i;
      const uint64_t word = uint64_t{ring::phase(i, slots - 1)} << 48 | uint64_t{i & 0x7fff} << 32;
      arch::publish<Scope::system>(reinterpret_cast<uint64_t*>(&ring[i % slots]) + 1, word);
    }
  });
  using Format = nvme::CompletionFormat;
  for (uint32_t i = 0; i < rounds; ++i) {
    const nvme::Cqe* const entry = &ring[i % slots];
    uint64_t word = 0;
    while (!Format::valid(word = Format::look(entry), ring::phase(i, slots - 1))) std::this_thread::yield();
    arch::order_loads<Scope::system>();
    require(Format::key(word) == (i & 0x7fff), "the identifier with its phase");
    require(static_cast<uint32_t>(Format::result(entry)) == i, "the result after its phase");
    arch::acquire_system();
    require(data[i % slots] == i * uint64_t{3}, "data after its completion");
    arch::publish<Scope::system>(&acknowledged, i + 1);
  }
  device.join();
}

/// Two waves publish in turn, and the second rings for both: the device finds the first one's entry too.
void entries_before_turns_before_doorbell() {
  Shared<nvme::Sqe> ring(2 * slots);
  uint32_t published = 0;
  uint32_t doorbell = 0;
  uint32_t head = 0;
  std::thread device([&] {
    for (uint32_t i = 0; i < rounds; ++i) {
      wait_for(&doorbell, 2 * i + 2);
      require(is_entry_of(ring[2 * i % (2 * slots)], 2 * i), "the other wave's entry");
      require(is_entry_of(ring[(2 * i + 1) % (2 * slots)], 2 * i + 1), "the ringing wave's entry");
      arch::publish<Scope::system>(&head, 2 * i + 2);
    }
  });
  std::thread first([&] {
    for (uint32_t i = 0; i < rounds; ++i) {
      while (arch::observe<Scope::agent>(&published) != 2 * i) std::this_thread::yield();
      if (i >= slots) wait_for(&head, 2 * (i + 1 - slots));
      XioComEnqueue(entry_of(2 * i), ring.data(), 2 * i % (2 * slots));
      arch::release_system();
      arch::publish<Scope::agent>(&published, 2 * i + 1);
    }
  });
  for (uint32_t i = 0; i < rounds; ++i) {
    if (i >= slots) wait_for(&head, 2 * (i + 1 - slots));
    XioComEnqueue(entry_of(2 * i + 1), ring.data(), (2 * i + 1) % (2 * slots));
    arch::release_system();
    while (arch::observe<Scope::agent>(&published) != 2 * i + 1) std::this_thread::yield();
    XioComDoorbell<order::Relaxed>(&doorbell, 2 * i + 2);
    arch::publish<Scope::agent>(&published, 2 * i + 2);
  }
  first.join();
  device.join();
}

/// Several threads finish work and count it; who sees the whole count sees all of the work.
void work_before_notification() {
  constexpr uint32_t workers = 3;
  Shared<uint64_t> work(workers);
  Notification progress{};
  for (uint64_t round = 0; round < rounds / 10; ++round) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < workers; ++i) {
      threads.emplace_back([&, i] {
        work[i] = round + i;
        nvme::detail::notify(Group<Sharing::thread>(1), &progress, i == 0 ? 6 : 0);
      });
    }
    const Status status = wait_until(&progress.done, (round + 1) * workers, deadline(60_s));
    require(status.is_ok(), "a count");
    require(arch::load<Scope::system>(&progress.failed) == round + 1, "failures before the count");
    for (uint32_t i = 0; i < workers; ++i) require(work[i] == round + i, "work before its notification");
    for (auto& thread : threads) thread.join();
  }
}

struct Litmus {
  const char* name;
  void (*run)();
};

constexpr Litmus all[] = {{"entry_before_doorbell", entry_before_doorbell},
                          {"entry_before_record_before_doorbell", entry_before_record_before_doorbell},
                          {"data_before_completion", data_before_completion},
                          {"entries_before_turns_before_doorbell", entries_before_turns_before_doorbell},
                          {"work_before_notification", work_before_notification}};

}  // namespace

int main(int argc, char** argv) {
  int run = 0;
  for (const Litmus& litmus : all) {
    bool chosen = argc == 1;
    for (int i = 1; i < argc; ++i) chosen |= std::strcmp(argv[i], litmus.name) == 0;
    if (!chosen) continue;
    litmus.run();
    std::printf("%s: %s\n", litmus.name, wrong ? "WRONG" : "in order");
    ++run;
  }
  if (run == 0) {
    std::fprintf(stderr, "no such program\n");
    return 2;
  }
  return wrong ? 1 : 0;
}
