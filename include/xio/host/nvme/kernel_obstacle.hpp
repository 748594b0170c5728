// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What keeps a controller of the kernel's driver from being shared, as a value; and who is told of it.

#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Something that keeps a controller from being shared.
struct SharingObstacle {
  std::string what;            ///< for a list below the controller's name
  std::string message;         ///< one line that stands by itself, with the way out
  std::string fix;             ///< a command where there is one, else what to do; empty: boot_parameter alone helps
  std::string boot_parameter;  ///< of the kernel's, that mends it; empty: none
};

/// What becomes of that which an inspection finds. Either function may throw, which ends the inspection.
class SharingFindings {
 public:
  SharingFindings() = default;
  SharingFindings(const SharingFindings&) = delete;
  SharingFindings& operator=(const SharingFindings&) = delete;
  virtual ~SharingFindings() = default;

  virtual void add(const SharingObstacle& obstacle) = 0;
  /// The kernel or the controller did not answer a question. Called while `reason` is handled, so that `throw;` passes
  /// it on.
  virtual void unanswered(const Error& reason) = 0;
};

/// Throws Error with the message of the first, and passes on what was not answered.
class RefuseSharing final : public SharingFindings {
 public:
  void add(const SharingObstacle& obstacle) override { throw Error(obstacle.message); }
  void unanswered(const Error&) override { throw; }
};

/// Keeps them all.
class ListSharingFindings final : public SharingFindings {
 public:
  void add(const SharingObstacle& obstacle) override { obstacles.push_back(obstacle); }
  void unanswered(const Error& reason) override { questions.emplace_back(reason.what()); }

  std::vector<SharingObstacle> obstacles{};
  std::vector<std::string> questions{};  ///< why they were not answered
};

}  // namespace host

XIO_NAMESPACE_END
