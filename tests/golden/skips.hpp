// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The skip table: which recorded cases this library rightly does not reproduce, and why. docs/golden-skips.md
/// is its readable form; a test holds the two together.

#include <array>
#include <string>

namespace golden {

/// One case, by its id.
struct SkippedCase {
  const char* vendor;
  const char* id;
  const char* reason;
};

/// A kind of case; the vendor's handler decides which cases it covers.
struct SkipRule {
  const char* vendor;
  const char* name;
  const char* reason;
};

inline constexpr std::array<SkippedCase, 0> skipped_cases{};

inline constexpr std::array<SkipRule, 6> skip_rules{{
    {"nvme", "operation_not_offered", "operation not offered: the library has no encoder for this command"},
    {"nvme", "ring_not_power_of_two", "the library's rings have a power of two of entries, at least two"},
    {"nvme", "block_not_power_of_two", "logical blocks with metadata at their end are not offered"},
    {"nvme", "driver_splits_scattered_data",
     "the library refuses scattered data that PRPs cannot describe, where the recorded driver splits the command"},
    {"nvme", "driver_list_limit",
     "the recorded driver refuses PRP lists of more than 503 entries; the library chains list pages"},
    {"nvme", "list_pages_apart",
     "the library's list memory is contiguous on the bus, so a chain has no choice of pages"},
}};

/// Reason why a case is skipped by its id; null where it is not.
inline const char* reason_for_id(const std::string& vendor, const std::string& id) {
  for (const SkippedCase& skipped : skipped_cases) {
    if (vendor == skipped.vendor && id == skipped.id) return skipped.reason;
  }
  return nullptr;
}

/// Reason of a rule; null where the table has none of that name.
inline const char* reason_for_rule(const std::string& vendor, const std::string& name) {
  for (const SkipRule& rule : skip_rules) {
    if (vendor == rule.vendor && name == rule.name) return rule.reason;
  }
  return nullptr;
}

}  // namespace golden
