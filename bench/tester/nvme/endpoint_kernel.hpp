// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The software endpoint: a kernel and a host thread exchange messages through rings in memory, using only the
/// three primitives.

#include <xio/device/core/com.hpp>
#include <xio/device/core/deadline.hpp>
#include <xio/device/core/pattern.hpp>
#include <xio/device/core/telemetry.hpp>

#include "tester/measure/latency.hpp"

namespace tester {

/// How a side announces messages to the other.
enum class Announcement : uint32_t {
  polling,   ///< one flag per message, which the receiver polls in order
  doorbell,  ///< one word that counts the messages sent
};

/// One message; as large as a queue entry.
struct alignas(64) Message {
  uint64_t number;
  uint64_t words[7];
};

/// Messages in one direction.
struct MessageRing {
  Message* entries;    ///< `mask + 1` of them
  uint64_t* flags;     ///< polling: per entry, the number of its message plus 1
  uint64_t* doorbell;  ///< doorbell: messages sent so far
  uint32_t mask;
  Announcement announcement;

  /// Stores a message; announce() publishes it.
  XIO_DEVICE void put(const Message& message) const { xio::XioComEnqueue(message, entries + (message.number & mask)); }

  /// Announces the messages from `first` to `end - 1` to the other side.
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

  /// Number of messages sent, as visible from number `next` on; at least `next`.
  XIO_DEVICE uint64_t sent(uint64_t next) const {
    if (announcement == Announcement::doorbell) return xio::arch::observe<xio::arch::Scope::system>(doorbell);
    return next + (xio::arch::observe<xio::arch::Scope::system>(flags + (next & mask)) == next + 1);
  }

  XIO_DEVICE Message get(uint64_t number) const { return xio::XioComDequeue(entries + (number & mask)); }
};

/// Reply of the host thread.
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
  uint64_t* progress;  ///< round trips so far, read concurrently by the host
  uint64_t began;      ///< tick
  uint64_t ended;      ///< tick
  uint64_t trips;      ///< completed round trips
  uint64_t wrong;      ///< replies with wrong contents
  uint32_t late;       ///< not 0: a reply missed its deadline
  xio::telemetry::Steps steps;
};

struct EndpointJob {
  Endpoint* endpoints;
  uint64_t iterations;  ///< round trips per endpoint
  uint32_t batch;       ///< messages that are announced together
  bool coarse_timing;   ///< the clock is read once per poll instead of once per reply
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

/// The kernel: one thread per endpoint. Sends a batch, waits for all replies, sends the next batch.
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
