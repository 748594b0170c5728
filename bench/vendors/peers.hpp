// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Writes of other libraries beside ours, as the tests of this build tree have executed them on a model of the
/// GPU.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace vendors {

/// The rows of `peers.<target>.json` in `folder` by target, as tests/peers/peers.py writes them; empty if the tests
/// have not run. Throws std::runtime_error for a malformed file.
nlohmann::ordered_json read_peers(const std::string& folder);

/// A Markdown table for each target with what a round costs: one write of each lane of a wave, and its wait.
std::string peers_markdown(const nlohmann::ordered_json& peers);

}  // namespace vendors
