// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Which lanes go on first where lanes of one wave wait at different places of a kernel.
///
/// A GPU compiler knows where the ways of a kernel join; the executor sees only where lanes wait, and guesses so that
/// the lanes that are behind catch up: deepest call first, so that calls return before their caller goes on; in one
/// source file the earlier line first, so that a loop ends for all lanes before any goes past it; else the place that a
/// lane reached earlier in this run; else the lower address. A wrong guess makes groups smaller, never an answer wrong.

#include <cstddef>
#include <functional>
#include <vector>

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// A place where lanes wait in active(): what they called from, and how deep.
struct Site {
  arch::CallSite call{};
  size_t depth = 0;  ///< bytes of stack in use; tells calls of one function from different places apart

  friend bool operator==(const Site& a, const Site& b) {
    return a.call.address == b.call.address && a.call.line == b.call.line && a.depth == b.depth;
  }
};

/// The order of one wave's sites; remembers when it met them.
class SiteOrder {
 public:
  /// Forgets all sites: a new block begins.
  void clear() {
    known_.clear();
    step_ = 0;
  }

  /// A group of lanes goes on: sites met from now on come after those met before.
  void next_step() { ++step_; }

  /// Lanes wait at `site`.
  void note(const Site& site) {
    if (!find(site)) known_.push_back({site, step_});
  }

  /// Whether the lanes at `site` shall go on before those at `other`. Both have been noted.
  bool goes_before(const Site& site, const Site& other) const {
    if (site.depth != other.depth) return site.depth > other.depth;
    if (site.call.file == other.call.file && site.call.line != other.call.line) return site.call.line < other.call.line;
    const uint64_t step = find(site)->step;
    const uint64_t other_step = find(other)->step;
    if (step != other_step) return step < other_step;
    return std::less<const void*>()(site.call.address, other.call.address);
  }

 private:
  struct Known {
    Site site;
    uint64_t step;
  };

  const Known* find(const Site& site) const {
    for (const Known& known : known_) {
      if (known.site == site) return &known;
    }
    return nullptr;
  }

  std::vector<Known> known_;
  uint64_t step_ = 0;
};

}  // namespace simt::detail

XIO_NAMESPACE_END
