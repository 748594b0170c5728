// SPDX-License-Identifier: MIT
// The shadow doorbell's full fence, on two real threads: the driver stores the shadow and then looks at EventIdx, the
// device stores EventIdx and then looks at the shadow. If both look too early, the kick is lost: the device sleeps on
// an entry that it does not know of. With the fence that never happens; a copy without it shows how soon it does.

#include <sched.h>

#include <cstdio>
#include <thread>

#include <xio/device/core/deadline.hpp>
#include <xio/device/core/doorbell.hpp>

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
  uint64_t rounds = 0;
  uint64_t lost = 0;
};

struct Results {
  Result fenced, unfenced;
};

/// Binds the calling thread to the nth of the CPUs that it may use: two threads on one CPU show nothing.
void bind_to(int nth) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || nth-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

/// Rounds with and without the fence in turn, so that both meet the same conditions, until enough kicks were lost
/// without it, or the time is over.
Results play(uint64_t enough, Duration time) {
  Words words;
  Results results;
  bool slept = false;
  bool over = false;
  const DoorbellTarget target{&words.doorbell.value, &words.shadow.value, &words.event_index.value};
  // Three meetings a round: the device is awake; both act at once; both have acted.
  std::thread device([&] {
    bind_to(1);
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
  bind_to(0);
  const Deadline end = deadline(time);
  for (uint32_t round = 1, meeting = 0;; ++round) {
    over = results.unfenced.lost >= enough || (round % 64 == 0 && end.passed());
    meet(&words.driver_round.value, &words.device_round.value, ++meeting);
    if (over) break;
    const bool with_fence = round % 2 == 0;
    meet(&words.driver_round.value, &words.device_round.value, ++meeting);
    if (with_fence) {
      ShadowDoorbell::ring(target, round);
    } else {
      UnfencedDoorbell::ring(target, round);
    }
    meet(&words.driver_round.value, &words.device_round.value, ++meeting);
    const bool kicked = arch::load<arch::Scope::system>(&words.doorbell.value) == round;
    Result& result = with_fence ? results.fenced : results.unfenced;
    result.lost += slept && !kicked;
    ++result.rounds;
  }
  device.join();
  return results;
}

void print(const char* what, const Result& result) {
  std::printf("%s %llu of %llu kicks lost\n", what, static_cast<unsigned long long>(result.lost),
              static_cast<unsigned long long>(result.rounds));
}

}  // namespace

int main() {
  if (std::thread::hardware_concurrency() < 2) {
    std::printf("skipped: one CPU cannot show store buffering\n");
    return 77;
  }
  const Results results = play(200, 10_s);
  print("with the fence:", results.fenced);
  print("without it:    ", results.unfenced);
  if (results.unfenced.lost == 0) std::printf("(the two threads hardly ran at the same time)\n");
  return results.fenced.lost == 0 && results.fenced.rounds != 0 ? 0 : 1;
}
