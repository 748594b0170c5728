// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Whether a run of rdma-ep is one process or one of two, by its flags or by its launcher; and what both
/// processes have to agree on.

#include <optional>
#include <string>

#include "tester/launch/launcher.hpp"
#include "tester/rdma/options.hpp"

namespace tester {

/// Fills in the role, and the host of the server. A launcher counts where no flag says what this process is.
/// Throws BadInput.
void resolve_role(RdmaOptions& options, const std::optional<Launcher>& launcher);

/// Every flag that both processes must have been given alike, with its value, one in each line.
std::string agreement_of(const RdmaOptions& options);

/// Whether somebody who says this is an rdma-ep, of whatever version and flags.
bool is_agreement(const std::string& text);

/// Throws BadInput, which names the flag, where two agreements differ.
void require_agreement(const std::string& mine, const std::string& theirs);

}  // namespace tester
