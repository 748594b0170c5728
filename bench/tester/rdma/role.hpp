// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Role of an rdma-ep process, alone or one of two, from its flags or its launcher; and the options on which
/// both processes must agree.

#include <optional>
#include <string>

#include "tester/launch/launcher.hpp"
#include "tester/rdma/options.hpp"

namespace tester {

/// Sets the role and the server's host. A launcher is considered only if no flag determines the role. Throws BadInput.
void resolve_role(RdmaOptions& options, const std::optional<Launcher>& launcher);

/// All flags that must be equal in both processes, with their values, one per line.
std::string agreement_of(const RdmaOptions& options);

/// Whether the text comes from an rdma-ep of any version and flags.
bool is_agreement(const std::string& text);

/// Throws BadInput, naming the flag, if two agreements differ.
void require_agreement(const std::string& mine, const std::string& theirs);

}  // namespace tester
