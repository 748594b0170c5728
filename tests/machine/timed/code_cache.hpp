// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An instruction cache: lines, of which the one not used for longest makes room. What follows a line that was
/// missing comes with it.

#include <cstdint>
#include <list>
#include <unordered_map>

namespace machine::timed {

class CodeCache {
 public:
  explicit CodeCache(uint64_t lines = 1) : lines_(lines) {}

  /// When a line is there that is wanted at `at`; `fetch` returns when it comes if it is not. Lines that follow the
  /// last one fetched are on their way already, and come when it does, at the earliest.
  template <class Fetch>
  double find(uint64_t line, double at, Fetch&& fetch) {
    const auto found = places_.find(line);
    if (found != places_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return found->second->ready > at ? found->second->ready : at;
    }
    if (places_.size() >= lines_) {
      places_.erase(used_.back().line);
      used_.pop_back();
    }
    if (line != stream_ + 1) stream_ready_ = fetch();
    stream_ = line;
    used_.push_front({line, stream_ready_});
    places_.emplace(line, used_.begin());
    return stream_ready_ > at ? stream_ready_ : at;
  }

 private:
  struct Line {
    uint64_t line;
    double ready;
  };
  uint64_t lines_;
  uint64_t stream_ = ~uint64_t{1};  ///< the line fetched last
  double stream_ready_ = 0;
  std::list<Line> used_;
  std::unordered_map<uint64_t, std::list<Line>::iterator> places_;
};

}  // namespace machine::timed
