// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of NVMe files: one function for each list of cases.

#include <optional>
#include <string>

#include <xio/vendors/nvme/encode.hpp>

#include "golden.hpp"

namespace golden::nvme {

void replay_file(const Json& file, Report& report);

/// One request, or a row of equal ones, posted to a submission queue: "sqe".
void replay_submission(const Json& recorded);
/// Completions taken from a completion queue: "cqe".
void replay_completion(const Json& recorded);
/// Words of a passthrough command: "passthru".
void replay_passthrough(const Json& recorded);
/// Vectors derived from the specification: "spec_derived".
void replay_derived(const Json& recorded);

/// The words of a recorded command, as they lie in its entry; the data pointer is left out.
struct RecordedWords {
  uint8_t opcode = 0;
  uint8_t flags = 0;
  uint32_t nsid = 0;
  uint32_t cdw2 = 0;
  uint32_t cdw3 = 0;
  uint64_t mptr = 0;
  uint32_t cdw10 = 0;
  uint32_t cdw11 = 0;
  uint32_t cdw12 = 0;
  uint32_t cdw13 = 0;
  uint32_t cdw14 = 0;
  uint32_t cdw15 = 0;
};
RecordedWords words_of_entry(const Bytes& entry);

/// The request behind a command: what the case states in its parameters. What it does not state is taken, field by
/// field and by the specification's bit positions, from the recorded words; they are zeros where nothing was recorded.
/// A case that states its range of blocks states all that is not zero, but for the namespace.
struct Request {
  std::string command;  ///< its name in the case, where it has one
  bool admin = false;
  uint8_t opcode = 0;
  Json params;
  RecordedWords recorded;

  /// Forgets the recorded words that the parameters leave no need for.
  void forget_stated();
  /// The first of `keys` that the parameters state as a number.
  std::optional<uint64_t> stated(std::initializer_list<const char*> keys) const;
  /// The same, otherwise `unstated`.
  uint64_t get(std::initializer_list<const char*> keys, uint64_t unstated) const;
  /// As get(), for parameters that may be written as names joined by '|'.
  uint64_t get_flags(std::initializer_list<const char*> keys, uint64_t unstated) const;
};

/// Opcode of a command's name in a case; none where it is not known.
std::optional<uint8_t> opcode_of(const std::string& name, bool& admin);

/// The request as a command, built with the library's encoders.
/// @throws Skipped where the library has none for its opcode.
xio::nvme::Command build(const Request& request);

inline bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }
/// The smallest n with 2^n >= `value`.
inline uint32_t log2_of(uint64_t value) {
  uint32_t shift = 0;
  while (uint64_t{1} << shift < value) ++shift;
  return shift;
}

/// Bytes of data that a command moves, for logical blocks of `block_bytes`; 0 where it moves none.
uint64_t data_bytes(const xio::nvme::Command& command, bool admin, uint64_t block_bytes);

}  // namespace golden::nvme
