// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What an actor does at its steps: it gives way, accesses memory, and its stores wait.

#include "model/execution.hpp"

namespace model {

inline void Actor::yield(uint32_t) {
  const uint64_t site =
      mix(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), fibre().depth(__builtin_frame_address(0)));
  if (place_.lanes != 1) {
    lanes[running].come(Meeting::pause, 0, site);
    return stand_back();
  }
  hurries = true;
  execution_.wait(site);
  hurries = false;
}

/// Lets other lanes go on until somebody lets this one do so.
inline void Actor::stand_back() {
  const uint32_t self = running;
  while (lanes[self].waits()) {
    uint32_t next = self;
    do next = (next + 1) % place_.lanes;
    while (next != self && lanes[next].waits());
    if (next != self) {
      hand_over(next);
    } else {
      let_some_go();
      give_precedence();
    }
  }
}

/// Where all lanes wait: those that need not wait for more go on, else, after a pause of the wave, those that pause.
inline void Actor::let_some_go() {
  uint64_t sites = 0;
  for (uint32_t i = 0; i < place_.lanes; ++i) {
    if (lanes[i].at == Meeting::active) {
      uint32_t arrived = 0;
      for (uint32_t k = 0; k < place_.lanes; ++k) arrived |= uint32_t{lanes[k].is_with(lanes[i])} << k;
      return end_meeting(lanes, arrived);
    }
    if (lanes[i].at == Meeting::pause) sites = mix(mix(sites, i), lanes[i].value);
  }
  execution_.require(sites != 0, "lanes of a wave wait for each other for ever");
  hurries = true;
  execution_.wait(sites);
  hurries = false;
  for (Lane& one : lanes) {
    if (one.at == Meeting::pause) one.at = Meeting::none;
  }
}

inline uint64_t Actor::now() {
  // Where actors do not say what they know, they may poll without a pause.
  if (unmarked_) {
    const uint64_t site =
        mix(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), fibre().depth(__builtin_frame_address(0)));
    execution_.wait(mix(site, running + uint64_t{1}));
  }
  const uint64_t* const clock = execution_.program_->clock();
  if (clock != nullptr) access(clock, sizeof *clock);
  digest = mix(digest, execution_.phase_.late);
  return (execution_.phase_.late ? late : early) + (clock != nullptr ? *clock : 0);
}

inline void Actor::perform_stores() {
  if (stores != 0) give_way(Request::step);
  while (stores != 0) perform(0);
}

inline bool Actor::store_later(void* to, const void* value, uint32_t bytes, bool entry) {
  if (!execution_.program_->weak()) {
    // Where it changes nothing it must not come later than a change of others.
    note(to, bytes, execution_.program_->memory());
    return false;
  }
  digest = mix(digest, entry);
  auto* const address = static_cast<unsigned char*>(to);
  if (entry && stores != 0) {
    Store& before = store[stores - 1];
    if (before.entry && before.to + before.bytes == address && before.bytes + bytes <= sizeof before.value) {
      std::memcpy(before.value + before.bytes, value, bytes);
      before.bytes += bytes;
      return true;
    }
  }
  execution_.require(stores < most_stores, "more stores are on their way than the explorer has room for");
  Store& next = store[stores++];
  next.to = address;
  next.bytes = bytes;
  next.entry = entry;
  std::memcpy(next.value, value, bytes);
  return true;
}

inline void Actor::access(const void* where, uint32_t bytes) {
  give_way(Request::step);
  for (uint32_t i = 0; i < stores;) {
    if (store[i].to == where) {
      perform(i);
    } else {
      ++i;
    }
  }
  // Others ran before; nobody runs between this and the access.
  read(where, bytes, execution_.program_->memory());
}

inline Actor::Strand& Actor::body(void* argument) {
  Actor& actor = *static_cast<Actor*>(argument);
  if (actor.running == 0) actor.execution_.mark(0);  // has begun
  actor.execution_.program_->run(actor.number);
  const uint32_t self = actor.running;
  actor.lanes[self].come(Meeting::end, 0, 0);
  settle(actor.lanes, actor.place_.lanes);
  for (;;) {
    bool all = true;
    for (uint32_t i = 0; i < actor.place_.lanes; ++i) {
      all = all && actor.lanes[i].at == Meeting::end;
      if (actor.lanes[i].waits()) continue;
      actor.go_to(i);
      return actor.fibre();
    }
    if (all) break;
    actor.let_some_go();
  }
  actor.ended = true;
  actor.request = Request::end;
  return actor.main_;
}

}  // namespace model
