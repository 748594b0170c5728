// SPDX-License-Identifier: MIT
// The shadow doorbell's full fence, on two real threads: the driver stores the shadow and then looks at EventIdx, the device
// stores EventIdx and then looks at the shadow. If both look too early, the kick is lost: the device sleeps on an entry that
// it does not know of. With the fence that never happens; a copy without it shows how soon it does.

#include <cstdio>
#include <thread>

#include <xio/device/doorbell.hpp>

#include <skip.hpp>

using namespace xio;

namespace {

/// ShadowDoorbell::ring without its fence.
struct UnfencedDoorbell {
  static void ring(const DoorbellTarget& target, uint32_t value) {
    const uint32_t before = arch::load<arch::Scope::system>(target.shadow);
    arch::store<arch::Scope::system>(target.shadow, value);
    const uint32_t event = arch::load<arch::Scope::system>(target.event_index);
    if (ShadowDoorbell::must_kick(event, before, value)) XioComDoorbell<order::Relaxed>(target.word, value);
  }
};

/// Each word on a cache line of its own, as in a driver.
struct alignas(128) Word {
  uint32_t value = 0;
};

struct Words {
  Word shadow, event_index, doorbell, driver_round, device_round;
};

void meet(uint32_t* mine, const uint32_t* other, uint32_t round) {
  __atomic_store_n(mine, round, __ATOMIC_SEQ_CST);
  for (uint32_t spins = 0; static_cast<int32_t>(__atomic_load_n(other, __ATOMIC_SEQ_CST) - round) < 0; ++spins) {
    if (spins % 4096 == 4095) std::this_thread::yield();
  }
}

struct Result {
  uint64_t rounds;
  uint64_t lost;
};

/// Rounds until the time is over, or a kick was lost.
template <class Doorbell>
Result play(Duration time) {
  Words words;
  Result result{};
  bool slept = false;
  bool over = false;
  const DoorbellTarget target{&words.doorbell.value, &words.shadow.value, &words.event_index.value};
  // Three meetings a round: the device is awake; both act at once; both have acted.
  std::thread device([&] {
    for (uint32_t round = 1, meeting = 0;; ++round) {
      const uint32_t seen = round - 1;
      arch::store<arch::Scope::system>(&words.event_index.value, seen - 100);
      meet(&words.device_round.value, &words.driver_round.value, ++meeting);
      if (over) return;
      meet(&words.device_round.value, &words.driver_round.value, ++meeting);
      arch::store<arch::Scope::system>(&words.event_index.value, seen);
      __atomic_thread_fence(__ATOMIC_SEQ_CST);
      slept = arch::load<arch::Scope::system>(&words.shadow.value) == seen;
      meet(&words.device_round.value, &words.driver_round.value, ++meeting);
    }
  });
  const Deadline end = deadline(time);
  for (uint32_t round = 1, meeting = 0;; ++round) {
    over = result.lost != 0 || (round % 64 == 0 && end.passed());
    meet(&words.driver_round.value, &words.device_round.value, ++meeting);
    if (over) break;
    meet(&words.driver_round.value, &words.device_round.value, ++meeting);
    Doorbell::ring(target, round);
    meet(&words.driver_round.value, &words.device_round.value, ++meeting);
    const bool kicked = arch::load<arch::Scope::system>(&words.doorbell.value) == round;
    result.lost += slept && !kicked;
    ++result.rounds;
  }
  device.join();
  return result;
}

}  // namespace

int main() {
  if (std::thread::hardware_concurrency() < 2) return xio_tests::skip("one CPU cannot show store buffering");
  const Result fenced = play<ShadowDoorbell>(3_s);
  std::printf("with the fence: %llu kicks lost in %llu rounds\n", static_cast<unsigned long long>(fenced.lost),
              static_cast<unsigned long long>(fenced.rounds));
  const Result unfenced = play<UnfencedDoorbell>(5_s);
  std::printf("without it:     %llu kicks lost in %llu rounds%s\n", static_cast<unsigned long long>(unfenced.lost),
              static_cast<unsigned long long>(unfenced.rounds),
              unfenced.lost ? "" : " (not seen this time: the threads hardly ran at once)");
  return fenced.lost == 0 && fenced.rounds != 0 ? 0 : 1;
}
