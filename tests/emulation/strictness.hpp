// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Every test on the in-process NVMe controller is one of how its host keeps to the specification, too.

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

/// Throws at its end where the host of a controller did what the specification forbids. As a fixture's first member, it
/// ends after the controller, whose last steps count as well.
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

  /// What a test provoked: violations of each of these kinds, and of no other. They are forgotten.
  void provoked(std::initializer_list<Kind> kinds) {
    const std::string text = violations_->text();
    const std::vector<xio::emulation::NvmeViolation> found = permitted(kinds);
    for (const Kind kind : kinds) {
      if (std::none_of(found.begin(), found.end(), [&](const auto& one) { return one.kind == kind; }))
        throw std::logic_error("not noticed: kind " + std::to_string(kind) + "; noticed:\n" + text);
    }
  }

  /// As provoked(), but none need have been noticed: what a controller with a thread of its own sees depends on its
  /// pace.
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
