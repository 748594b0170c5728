// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What an actor does at its steps: it gives way, accesses memory, and its stores wait.

#include "model/execution.hpp"

namespace model {

inline void Actor::yield(uint32_t) {
  const size_t depth = fibre.depth(__builtin_frame_address(0));
  hurries = true;
  execution_.wait(mix(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), depth));
  hurries = false;
}

inline uint64_t Actor::now() {
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
  actor.execution_.mark(0);  // has begun
  actor.execution_.program_->run(actor.number);
  actor.ended = true;
  actor.request = Request::end;
  return actor.main_;
}

}  // namespace model
