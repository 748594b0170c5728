// SPDX-License-Identifier: MIT

/// @file
/// @brief Message passing between a kernel and a device, two threads here: ThreadSanitizer sees whether each side
/// orders what it must. Data and entries are plain memory, as they are for a real device.

#include <sched.h>

#include <cstring>
#include <thread>
#include <vector>

#include <xio/device/nvme/queue.hpp>

#include "catch.hpp"

namespace {

using xio::nvme::CompletionFormat;
using xio::nvme::Cqe;
using xio::nvme::Sqe;

constexpr uint32_t entries = 8;
constexpr uint32_t laps = 400;

/// Rings and doorbells that both sides know.
struct Shared {
  alignas(64) Sqe sq[entries]{};
  alignas(64) Cqe cq[entries]{};
  alignas(64) uint32_t sq_doorbell = 0;
  alignas(64) uint32_t cq_doorbell = 0;
  uint64_t data[entries]{};
};

/// Takes one entry after the other, moves its data and completes it.
void device(Shared& shared) {
  for (uint32_t i = 0; i < entries * laps; ++i) {
    while (__atomic_load_n(&shared.sq_doorbell, __ATOMIC_ACQUIRE) == i % entries) sched_yield();
    const Sqe entry = shared.sq[i % entries];
    shared.data[i % entries] += entry.cdw10;
    auto* const words = reinterpret_cast<uint64_t*>(&shared.cq[i % entries]);
    const uint64_t phase = (i / entries) % 2 == 0;
    __atomic_store_n(words, uint64_t{entry.cdw10} << 8, __ATOMIC_RELAXED);
    __atomic_store_n(words + 1, phase << 48 | uint64_t{entry.cdw0 >> 16} << 32, __ATOMIC_RELEASE);
  }
}

}  // namespace

TEST_CASE("an entry is seen with its doorbell, a completion with all of its words and its data", "[H27][H9]") {
  Shared shared;
  std::thread other([&] { device(shared); });
  uint64_t wrong = 0;
  uint64_t sum[entries]{};
  for (uint32_t i = 0; i < entries * laps; ++i) {
    Sqe entry{};
    entry.cdw0 = 2 | i << 16;
    entry.cdw10 = i * 3 + 1;
    xio::XioComEnqueue(entry, shared.sq, i % entries);
    xio::XioComDoorbell(&shared.sq_doorbell, (i + 1) % entries);

    const Cqe* const completion = &shared.cq[i % entries];
    uint64_t word = 0;
    do {
      word = CompletionFormat::look(completion);
      if (CompletionFormat::valid(word, xio::ring::phase(i, entries - 1))) break;
      sched_yield();
    } while (true);
    xio::arch::order_loads<xio::arch::Scope::system>();
    const Cqe copy = xio::XioComDequeue(completion);
    xio::arch::acquire_system();
    sum[i % entries] += i * 3 + 1;
    wrong += CompletionFormat::key(word) != (i & 0xffff) ||
             CompletionFormat::result(completion) != uint64_t{i * 3 + 1} << 8 || copy.dw0 != (i * 3 + 1) << 8 ||
             shared.data[i % entries] != sum[i % entries];
  }
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("a word that a drain or a peer writes is seen with what was stored before it", "[H27]") {
  uint64_t word = 0;
  std::vector<uint64_t> data(512);
  std::thread peer([&] {
    for (uint64_t i = 0; i < data.size(); ++i) {
      data[i] = i + 1;
      xio::arch::release_system();
      xio::arch::fetch_add<xio::arch::Scope::system>(&word, uint64_t{1});
    }
  });
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < data.size(); ++i) {
    if (!xio::wait_until(&word, i + 1, xio::deadline(xio::Duration{60000000000})).is_ok()) ++wrong;
    wrong += data[i] != i + 1;
  }
  peer.join();
  CHECK(wrong == 0);
}

TEST_CASE("publish and observe carry what one wave stored to another", "[H27]") {
  uint64_t turn = 0;
  uint64_t payload = 0;  // plain: only the turn protects it
  const auto wave = [&](uint64_t self) {
    for (uint64_t i = self; i < 1000; i += 2) {
      while (xio::arch::observe<xio::arch::Scope::agent>(&turn) != i) sched_yield();
      payload = payload * 3 + i;
      xio::arch::publish<xio::arch::Scope::agent>(&turn, i + 1);
    }
  };
  std::thread other([&] { wave(1); });
  wave(0);
  other.join();
  uint64_t expected = 0;
  for (uint64_t i = 0; i < 1000; ++i) expected = expected * 3 + i;
  CHECK(payload == expected);
}
