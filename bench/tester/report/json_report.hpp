// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief JSON output of the tester; docs/internals/xio-tester.md describes the format.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tester/measure/result.hpp"
#include "tester/nvme/run.hpp"

namespace tester {

/// Schema version: changes when a member changes its meaning or is removed.
constexpr int json_schema = 1;

/// Tool, version, schema, command and the flags given: the first members of every JSON file.
nlohmann::ordered_json json_header(const std::string& command);

/// Microseconds: least, mean, std, most and percentiles.
nlohmann::ordered_json json_latency(const Summary& latency);

/// A figure that the executor counts; null where it does not.
nlohmann::ordered_json counted(const Result& result, uint64_t figure);
nlohmann::ordered_json counted(const Result& result, double figure);

/// Adds to `json` what is said of every workload: operations, latency, counts, CPU time and, with `histogram`, the
/// distribution of the latencies.
void add_result(nlohmann::ordered_json& json, const Result& result, bool histogram);
/// Statuses of failed operations.
/// @param first  member that holds StatusCount::first
nlohmann::ordered_json json_errors(const Result& result, const char* first, std::string (*text)(xio::Status));

/// Throws BadInput if the file cannot be written; does nothing for an empty name and for "-".
void check_json_file(const std::string& path);

/// Writes to a file, or to standard output for "-". Does nothing for an empty name. Throws Failed if a file cannot be
/// written completely; standard output is checked at the end (with_checked_output).
void write_json_text(const std::string& path, const std::string& text);
void write_json_file(const std::string& path, const nlohmann::ordered_json& json);

void write_json(const NvmeReport& report);

}  // namespace tester
