// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Obstacles to sharing a controller of the kernel's driver, as values, and their receivers.

#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// An obstacle to sharing a controller.
struct SharingObstacle {
  std::string what;            ///< for a list below the controller's name
  std::string message;         ///< one self-contained line, with a remedy
  std::string fix;             ///< a command if there is one, else an instruction; empty: only boot_parameter helps
  std::string boot_parameter;  ///< kernel parameter that removes it; empty: none
};

/// Receives the findings of an inspection. Either function may throw, which ends the inspection.
class SharingFindings {
 public:
  SharingFindings() = default;
  SharingFindings(const SharingFindings&) = delete;
  SharingFindings& operator=(const SharingFindings&) = delete;
  virtual ~SharingFindings() = default;

  virtual void add(const SharingObstacle& obstacle) = 0;
  /// Called when a query to the kernel or the controller fails, inside the handler of `reason`, so that `throw;`
  /// rethrows it.
  virtual void unanswered(const Error& reason) = 0;
};

/// Throws Error with the message of the first obstacle, and rethrows failed queries.
class RefuseSharing final : public SharingFindings {
 public:
  void add(const SharingObstacle& obstacle) override { throw Error(obstacle.message); }
  void unanswered(const Error&) override { throw; }
};

/// Collects all findings.
class ListSharingFindings final : public SharingFindings {
 public:
  void add(const SharingObstacle& obstacle) override { obstacles.push_back(obstacle); }
  void unanswered(const Error& reason) override { questions.emplace_back(reason.what()); }

  std::vector<SharingObstacle> obstacles{};
  std::vector<std::string> questions{};  ///< messages of failed queries
};

}  // namespace host

XIO_NAMESPACE_END
