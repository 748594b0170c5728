// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the actors of a program can do from a state on, up to their next changes of memory.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "model/snapshot.hpp"

namespace model {

/// A place that an actor gets to without changing memory.
struct Place {
  ActorImage image;
  std::vector<uint32_t> reads;  ///< words that the step to this place has read
  ActorAt known;                ///< the same, once a state has needed it
};

/// The places of one actor, beginning with where it is.
class Run {
 public:
  void clear() { size_ = 0; }
  Place& add(const Actor& actor) {
    if (size_ == places_.size()) places_.emplace_back();
    Place& place = places_[size_++];
    place.image.save(actor);
    place.known.image = nullptr;
    return place;
  }
  /// Whether it has a place where the actor has paused as it does now.
  bool has_pause(const Actor& actor) const {
    for (uint32_t i = 0; i < size_; ++i) {
      if (places_[i].image.state().pauses_like(actor)) return true;
    }
    return false;
  }
  uint32_t size() const { return size_; }
  Place& operator[](uint32_t number) { return places_[number]; }

 private:
  std::vector<Place> places_;  ///< the first size_ of them; the others keep their memory
  uint32_t size_ = 0;
};

/// A change of memory that an actor makes after some places of its run.
struct Change {
  uint32_t actor;
  ActorAt after;
  std::vector<uint32_t> words;
  std::shared_ptr<const Bytes> memory;
  uint64_t digest;

  /// Whether an actor must have come to this place before the change.
  bool matters_to(const Place& place) const {
    return std::any_of(place.reads.begin(), place.reads.end(),
                       [this](uint32_t word) { return std::binary_search(words.begin(), words.end(), word); });
  }
};

}  // namespace model
