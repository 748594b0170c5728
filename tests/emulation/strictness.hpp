// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Makes every test on the in-process NVMe controller also check that its host complies with the specification.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/emulation/nvme/violations.hpp>

namespace emulation_tests {

using Kind = xio::emulation::NvmeViolation::Kind;

/// Throws in its destructor if a controller's host violated the specification. As a fixture's first member, it is
/// destroyed after the controller, whose last steps are thus included.
class Strictness {
 public:
  Strictness() = default;
  Strictness(const Strictness&) = delete;
  Strictness& operator=(const Strictness&) = delete;
  ~Strictness() noexcept(false) {
    const std::string text = violations_ ? violations_->text() : std::string();
    if (text.empty()) return;
    if (std::uncaught_exceptions() != 0) {
      std::fprintf(stderr, "against the specification:\n%s", text.c_str());
      return;
    }
    throw std::logic_error("against the specification:\n" + text);
  }

  void watch(std::shared_ptr<xio::emulation::NvmeViolations> violations) { violations_ = std::move(violations); }

  /// Expects violations of each of these kinds, which the test provoked, and of no other; clears them.
  void provoked(std::initializer_list<Kind> kinds) {
    const std::string text = violations_->text();
    const std::vector<xio::emulation::NvmeViolation> found = permitted(kinds);
    for (const Kind kind : kinds) {
      if (std::none_of(found.begin(), found.end(), [&](const auto& one) { return one.kind == kind; }))
        throw std::logic_error("not noticed: kind " + std::to_string(kind) + "; noticed:\n" + text);
    }
  }

  /// provoked(), but the violations may be absent: what a controller on its own thread observes depends on timing.
  std::vector<xio::emulation::NvmeViolation> permitted(std::initializer_list<Kind> kinds) {
    std::vector<xio::emulation::NvmeViolation> found = violations_->take();
    for (const auto& one : found) {
      if (std::find(kinds.begin(), kinds.end(), one.kind) == kinds.end())
        throw std::logic_error("also against the specification: " + one.what);
    }
    return found;
  }

 private:
  std::shared_ptr<xio::emulation::NvmeViolations> violations_;
};

}  // namespace emulation_tests
