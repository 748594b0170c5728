// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Order in which lanes resume that wait at different sites of a kernel.
///
/// A GPU compiler knows where control flow reconverges. The executor only sees where lanes wait; this heuristic lets
/// the lagging lanes catch up. It resumes the deepest call first, so that calls return before their caller continues;
/// within one source file the earlier line, so that all lanes leave a loop before any lane runs past it; else the site
/// that was reached earlier in this run; else the lower address. A wrong guess makes groups smaller but never affects
/// results.

#include <cstddef>
#include <functional>
#include <vector>

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// A call of active() that lanes wait in: call site and stack depth.
struct Site {
  arch::CallSite call{};
  size_t depth = 0;  ///< bytes of stack in use; distinguishes calls of one function from different call chains

  friend bool operator==(const Site& a, const Site& b) {
    return a.call.address == b.call.address && a.call.line == b.call.line && a.depth == b.depth;
  }
};

/// Orders the sites of one wave; records when each was first reached.
class SiteOrder {
 public:
  /// Removes all sites at the start of a new block.
  void clear() {
    known_.clear();
    step_ = 0;
  }

  /// Advances the step when a group resumes: sites first reached later order after earlier sites.
  void next_step() { ++step_; }

  /// Records that lanes wait at `site`.
  void note(const Site& site) {
    if (!find(site)) known_.push_back({site, step_});
  }

  /// Returns whether lanes at `site` resume before lanes at `other`.
  /// @pre note() was called for both sites
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
