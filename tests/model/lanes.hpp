// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The lanes of a wave that is an actor, and the loops in which it waits.
///
/// A lane goes on until it meets others or pauses; then the next one does: of all orders of the lanes of one wave, the
/// explorer takes this one.

#include <cstdint>

namespace model {

/// A digest of two values. Each bit of them matters to all of its bits: the digest of memory is a sum of such.
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15 + b + 1;
  z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 32)) * 0x94d049bb133111eb;
  return z ^ (z >> 32);
}

constexpr uint32_t most_lanes = 2;

/// Where a lane waits for others of its wave.
enum class Meeting : uint32_t { none, ballot, shuffle, alike, active, barrier, pause, end };

struct Lane {
  Meeting at = Meeting::none;
  uint32_t source = 0;
  uint64_t key = 0;  ///< the lanes that meet, or a digest of the place
  uint64_t value = 0;
  uint64_t result = 0;
  uintptr_t low = 0;  ///< its stack is not in use below this address

  bool waits() const { return at != Meeting::none; }
  bool is_with(const Lane& other) const { return at == other.at && key == other.key; }
  void come(Meeting what, uint64_t with, uint64_t what_it_has, uint32_t from = 0) {
    at = what;
    key = with;
    value = what_it_has;
    source = from;
  }
  uint64_t digest() const { return mix(mix(static_cast<uint64_t>(at) << 32 | source, key), mix(value, result)); }
};

/// Gives the lanes of a meeting what each gets, and lets them go on.
inline void end_meeting(Lane* lanes, uint32_t arrived) {
  Meeting what = Meeting::none;
  for (uint32_t i = 0; i < most_lanes; ++i) {
    if ((arrived >> i & 1) == 0) continue;
    what = lanes[i].at;
    uint64_t votes = 0;
    uint64_t same = 0;
    for (uint32_t k = 0; k < most_lanes; ++k) {
      if ((arrived >> k & 1) == 0) continue;
      votes |= (lanes[k].value & 1) << k;
      same |= uint64_t{lanes[k].value == lanes[i].value} << k;
    }
    lanes[i].result = what == Meeting::ballot    ? votes
                      : what == Meeting::shuffle ? lanes[lanes[i].source].value
                      : what == Meeting::alike   ? same
                                                 : arrived;
  }
  for (uint32_t i = 0; i < most_lanes; ++i) {
    if ((arrived >> i & 1) != 0) lanes[i].at = Meeting::none;
  }
}

/// Ends the meetings at which nobody is missing.
inline void settle(Lane* lanes, uint32_t count) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < count; ++i) live |= uint32_t{lanes[i].at != Meeting::end} << i;
  for (uint32_t i = 0; i < count; ++i) {
    const Meeting what = lanes[i].at;
    if (what != Meeting::ballot && what != Meeting::shuffle && what != Meeting::alike && what != Meeting::barrier)
      continue;
    uint32_t arrived = 0;
    for (uint32_t k = 0; k < count; ++k) arrived |= uint32_t{lanes[k].is_with(lanes[i])} << k;
    const auto mask = what == Meeting::barrier ? live : static_cast<uint32_t>(lanes[i].key);
    const uint32_t missing = (what == Meeting::alike ? mask & live : mask) & ~arrived;
    if (missing == 0) end_meeting(lanes, arrived);
  }
}

/// The loops of an actor that does not say what it knows (Program::unmarked()). Two rounds after each other that read
/// the same are one state: but for the number of rounds, nothing has changed. A round that reads nothing waits for
/// nothing.
class Loops {
 public:
  void read(uint64_t offset, uint64_t value) {
    for (Loop& loop : loops_) loop.round = mix(mix(loop.round, offset), value);
  }
  /// What is known at a pause, if `known` is what was read.
  uint64_t pause(uint64_t site, uint64_t known) {
    Loop& loop = find(site);
    if (loop.round == nothing || loop.round != loop.before) loop.known = known;
    loop.before = loop.round;
    loop.round = nothing;
    return loop.known;
  }

 private:
  static constexpr uint64_t nothing = 1;
  static constexpr uint32_t loops = 8;
  struct Loop {
    uint64_t site = 0;
    uint64_t round = nothing;  ///< digest of what was read since the last pause
    uint64_t before = 0;       ///< the same of the round before
    uint64_t known = 0;
  };

  Loop& find(uint64_t site) {
    for (Loop& loop : loops_) {
      if (loop.site == site) return loop;
    }
    Loop& loop = loops_[next_++ % loops];
    loop = Loop();
    loop.site = site;
    return loop;
  }

  Loop loops_[loops];
  uint64_t next_ = 0;
};

}  // namespace model
