// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What every vendor's handler needs: numbers and bytes of golden files, checks, and the report.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace golden {

using Json = nlohmann::json;
using Bytes = std::vector<uint8_t>;

/// The file does not have the form that this program knows.
struct UnknownForm : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A case did not come out as recorded.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A case is covered by a rule of the skip table.
struct Skipped {
  std::string rule;
};

/// A case that the library's own queues cannot express: encoders and decoders alone are compared, by a rule of the skip
/// table.
struct EncodersAlone {
  std::string rule;
};

/// A number, a boolean, or a string with a decimal or hexadecimal number.
uint64_t number(const Json& value);
/// Whether number() understands it.
bool is_number(const Json& value);
/// Member `key` of an object as a number; `fallback` where there is none.
uint64_t number_or(const Json& object, const char* key, uint64_t fallback);
/// Member `key` of an object as a number. @throws Mismatch where there is none.
uint64_t number_at(const Json& object, const char* key);
/// Member `key` of an object. @throws Mismatch where there is none.
const Json& member(const Json& object, const char* key);
/// Member `key` of an object as a list; an empty one where there is none.
const Json& list_or_empty(const Json& object, const char* key);

/// A number that a Word has room for. @throws Mismatch where it has not: memory is made and found by it.
template <class Word>
Word number_in(uint64_t value) {
  if (value > std::numeric_limits<Word>::max()) throw Mismatch("a number that is too large: " + std::to_string(value));
  return static_cast<Word>(value);
}
/// `value`, which must lie from `least` to `most`. @throws Mismatch
inline uint64_t number_within(const char* what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return value;
  throw Mismatch(std::string(what) + ": " + std::to_string(value) + " is impossible");
}

/// Bytes in ascending memory order from their hexadecimal digits.
Bytes from_hex(const std::string& digits);
std::string to_hex(const uint8_t* data, size_t bytes);
inline std::string to_hex(const Bytes& data) { return to_hex(data.data(), data.size()); }
/// "0x…"
std::string hex_number(uint64_t value);

/// @throws Mismatch where the two differ.
void expect_number(const std::string& what, uint64_t expected, uint64_t actual);
/// @throws Mismatch where bytes differ whose mask byte is not 0; an empty mask means all.
void expect_bytes(const std::string& what, const Bytes& expected, const Bytes& actual, const Bytes& mask = {});

/// Counts what became of the cases of one file, and prints what is not a pass.
class Report {
 public:
  Report(std::string file, std::string vendor) : file_(std::move(file)), vendor_(std::move(vendor)) {}

  /// Replays one case of `section`; `replay` throws Mismatch or Skipped, or returns.
  void run(const std::string& section, const Json& recorded, const std::function<void(const Json&)>& replay);
  /// For a case that is being replayed: `replay` does it again with the library's own queues; it throws Mismatch or
  /// EncodersAlone, or returns.
  void run_queues(const std::function<void()>& replay);
  /// Prints the file's lines.
  void finish() const;

  size_t passed() const { return passed_; }
  size_t failed() const { return failed_; }
  size_t skipped() const { return skipped_; }

 private:
  void skip(const std::string& name, const std::string& rule, const std::string& reason);

  std::string file_;
  std::string vendor_;
  size_t passed_ = 0;
  size_t failed_ = 0;
  size_t skipped_ = 0;
  size_t through_queues_ = 0;
  std::map<std::string, size_t> encoders_alone_;  ///< cases of each rule
};

/// Replays all cases of a file of one vendor. @throws UnknownForm
using Handler = void (*)(const Json& file, Report& report);
/// A vendor's source registers the handler of its files by a constant of this type.
struct Registered {
  Registered(const char* vendor, Handler handler);
};

/// The handler of a vendor; null where there is none.
Handler find_handler(const std::string& vendor);
/// Names of all vendors that have a handler, separated by commas.
std::string known_vendors();

}  // namespace golden
