// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The software endpoint: a kernel and a host thread send messages to each other through rings in memory, with
/// the three primitives and nothing else.

#include <xio/device/core/com.hpp>
#include <xio/device/core/deadline.hpp>
#include <xio/device/core/pattern.hpp>
#include <xio/device/core/telemetry.hpp>

#include "tester/measure/latency.hpp"

namespace tester {

/// How one side learns that the other has sent something.
enum class Announcement : uint32_t {
  polling,   ///< a flag for each message, which the receiver polls in turn
  doorbell,  ///< one word that says how many messages were sent
};

/// One message; as large as a queue entry.
struct alignas(64) Message {
  uint64_t number;
  uint64_t words[7];
};

/// Messages in one direction.
struct MessageRing {
  Message* entries;    ///< `mask + 1` of them
  uint64_t* flags;     ///< polling: for each entry, the number of the message in it plus 1
  uint64_t* doorbell;  ///< doorbell: messages sent so far
  uint32_t mask;
  Announcement announcement;

  /// Stores a message; announce() makes it known.
  XIO_DEVICE void put(const Message& message) const { xio::XioComEnqueue(message, entries + (message.number & mask)); }

  /// Tells the other side of the messages from `first` to `end - 1`.
  XIO_DEVICE void announce(uint64_t first, uint64_t end) const {
    if (announcement == Announcement::doorbell) {
      xio::XioComDoorbell(doorbell, end);
      return;
    }
    // One release covers all the messages.
    xio::arch::release_system();
    for (uint64_t number = first; number < end; ++number)
      xio::XioComDoorbell<xio::order::Relaxed>(flags + (number & mask), number + 1);
  }

  /// How many messages are there, as far as can be seen from number `next` on: `next` or more.
  XIO_DEVICE uint64_t sent(uint64_t next) const {
    if (announcement == Announcement::doorbell) return xio::arch::observe<xio::arch::Scope::system>(doorbell);
    return next + (xio::arch::observe<xio::arch::Scope::system>(flags + (next & mask)) == next + 1);
  }

  XIO_DEVICE Message get(uint64_t number) const { return xio::XioComDequeue(entries + (number & mask)); }
};

/// What the host thread answers.
XIO_DEVICE Message answer_to(const Message& request) {
  Message answer = request;
  for (uint32_t i = 0; i < 7; ++i) answer.words[i] = ~request.words[6 - i];
  return answer;
}

/// One pair of rings with its kernel's results.
struct Endpoint {
  MessageRing requests;
  MessageRing answers;
  Latency* latency;
  uint64_t* progress;  ///< round trips so far, for the host to read meanwhile
  uint64_t began;      ///< tick
  uint64_t ended;      ///< tick
  uint64_t trips;      ///< round trips that ended
  uint64_t wrong;      ///< answers that were not what they should be
  uint32_t late;       ///< not 0: an answer did not come in time
  xio::telemetry::Steps steps;
};

struct EndpointJob {
  Endpoint* endpoints;
  uint64_t iterations;  ///< round trips of each endpoint
  uint32_t batch;       ///< messages that are announced together
  bool coarse_timing;   ///< the clock is read for the answers of a look instead of for each of them
  uint64_t deadline_ticks;
  const uint32_t* stop;
};

XIO_DEVICE Message request_of(uint64_t number) {
  Message message{number, {}};
  xio::pattern::fill(message.words, sizeof message.words, xio::pattern::Block(1, number));
  return message;
}

XIO_DEVICE bool right_answer(const Message& answer, uint64_t number) {
  const Message wanted = answer_to(request_of(number));
  bool right = answer.number == wanted.number;
  for (uint32_t i = 0; i < 7; ++i) right = right && answer.words[i] == wanted.words[i];
  return right;
}

/// The kernel: one thread for each endpoint. Sends a batch, waits for all answers, sends the next one.
/// @tparam Telemetry  xio::telemetry::Steps or Off. Steps are those of NVMe's: an answer that is taken out of its ring
/// and
///                    compared is Step::cq_doorbell.
template <class Telemetry = xio::telemetry::Off>
XIO_DEVICE void endpoint_kernel(const EndpointJob& job) {
  using xio::telemetry::Step;
  Telemetry telemetry;
  Endpoint& mine = job.endpoints[xio::arch::block_index()];
  mine.began = xio::arch::clock();
  for (uint64_t first = 0; first < job.iterations;) {
    const uint64_t left = job.iterations - first;
    const uint64_t end = first + (left < job.batch ? left : job.batch);
    const uint64_t started = xio::arch::clock();
    for (uint64_t number = first; number < end; ++number) {
      const uint64_t building = Telemetry::start();
      const Message message = request_of(number);
      telemetry.stop(Step::build, building);
      const uint64_t storing = Telemetry::start();
      mine.requests.put(message);
      telemetry.stop(Step::enqueue, storing);
    }
    const uint64_t ringing = Telemetry::start();
    mine.requests.announce(first, end);
    telemetry.stop(Step::sq_doorbell, ringing);
    const xio::Deadline until{started + job.deadline_ticks};
    for (uint64_t number = first; number < end;) {
      uint64_t there = number;
      const uint64_t polling = Telemetry::start();
      const xio::Status status = xio::poll_until([&] { return (there = mine.answers.sent(number)) > number; }, until);
      telemetry.stop(Step::cq_poll, polling);
      if (!status.is_ok()) {
        mine.late = 1;
        break;
      }
      xio::arch::acquire_system();
      const uint64_t seen = job.coarse_timing ? xio::arch::clock() : 0;
      for (; number < there; ++number) {
        const uint64_t taking = Telemetry::start();
        mine.wrong += !right_answer(mine.answers.get(number), number);
        telemetry.stop(Step::cq_doorbell, taking);
        mine.latency->record((job.coarse_timing ? seen : xio::arch::clock()) - started);
        ++mine.trips;
      }
    }
    if (mine.late != 0) break;
    first = end;
    xio::arch::store<xio::arch::Scope::system>(mine.progress, mine.trips);
    if (xio::arch::load<xio::arch::Scope::system>(job.stop) != 0) break;
  }
  mine.ended = xio::arch::clock();
  if constexpr (Telemetry::enabled) mine.steps = telemetry;
}

}  // namespace tester
