// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The skip table: which recorded cases this library rightly does not reproduce, and why.
/// docs/internals/golden-skips.md is its readable form; a test holds the two together.

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

inline constexpr std::array<SkipRule, 19> skip_rules{{
    {"nvme", "operation_not_offered", "operation not offered: the library has no encoder for this command"},
    {"nvme", "ring_not_power_of_two", "the library's rings have a power of two of entries, at least two"},
    {"nvme", "block_not_power_of_two", "logical blocks with metadata at their end are not offered"},
    {"nvme", "driver_splits_scattered_data",
     "the library refuses scattered data that PRPs cannot describe, where the recorded driver splits the command"},
    {"nvme", "driver_list_limit",
     "the recorded driver refuses PRP lists of more than 503 entries; the library chains list pages"},
    {"nvme", "list_pages_apart",
     "the library's list memory is contiguous on the bus, so a chain has no choice of pages"},
    {"mlx5", "operation_not_offered", "operation not offered: the library has no encoder for this operation"},
    {"bnxt_re", "operation_not_offered", "operation not offered: the library has no encoder for this operation"},
    {"ionic", "operation_not_offered", "operation not offered: the library has no encoder for this operation"},
    {"ernic (PVRDMA wire ABI)", "operation_not_offered",
     "operation not offered: the library has no encoder for this operation"},
    {"mlx5", "another_user_index",
     "an entry of version 1 with another user index: the recorded driver goes by that alone, the library by the queue "
     "pair's number"},
    {"bnxt_re", "driver_send_invalidate",
     "the recorded driver has no number for sends with invalidate and stores 0xff; the device's is 2"},
    {"bnxt_re", "driver_omits_invalidated_key",
     "the recorded driver does not report that a key was invalidated; the library does"},
    {"ionic", "error_without_status",
     "an entry with the error bit and status 0: success to the recorded driver, a device error to the library"},
    {"ionic", "driver_puts_off_cq_doorbell",
     "the recorded driver rings for the completion queue while it posts, by a count that the case does not hold"},
    {"ionic", "express_doorbell_over_data",
     "an atomic of version 1 in 64 bytes: the recorded driver stores its pointer over the express doorbell; the "
     "library "
     "refuses it"},
    {"ionic", "receive_never_posted",
     "the entry names a receive that was never posted: the recorded driver takes it for the first one"},
    {"ernic (PVRDMA wire ABI)", "driver_send_invalidate",
     "the recorded driver passes the number of the verbs, 9, and no key; the kernel's interface has 8"},
    {"ernic (PVRDMA wire ABI)", "inline_flag_without_inline_data",
     "the recorded driver passes the flag on, though the data lie elsewhere; the library's inline data are inline"},
}};

/// A kind of case that is replayed with encoders and decoders alone: the library's own queues do not have it.
struct EncodersRule {
  const char* name;
  const char* reason;
};

inline constexpr std::array<EncodersRule, 12> encoders_rules{{
    {"both_queues", "the library's completion queues belong to a send queue or to a receive queue"},
    {"completion_ring_not_power_of_two", "the library's completion queues have a power of two of entries"},
    {"completions_out_of_order", "MLX5: the case's entries name operations that cannot have been posted in this order"},
    {"entry_of_another_queue_pair",
     "IONIC: the driver passes over an entry of a queue pair that does not exist; the library's queue is broken by it"},
    {"express_doorbell", "IONIC: entries that ring for themselves are no option of the library's queue pairs"},
    {"impossible_counter",
     "ERNIC: a producer counter that no queue can have; the library's own cannot be brought there"},
    {"inline_payload",
     "ERNIC: the driver takes the flag, though entries hold no data; the library's queue pairs refuse it"},
    {"local_invalidate", "IONIC: a local invalidate does not end in its turn; the library's queue pairs refuse it"},
    {"receive_entry_not_power_of_two", "the library's receive queues have entries of a power of two of bytes"},
    {"receives_out_of_order", "messages take the library's receives in the order in which those were posted"},
    {"room_in_operations", "MLX5: the driver's limit counts operations, the library's units of the ring"},
    {"refused_receive_in_a_batch",
     "receives of one call are posted by the lanes of a wave; where one is refused, the others are not"},
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

/// Reason of a rule for cases that the library's own queues do not have; null where the table has none of that name.
inline const char* reason_for_encoders(const std::string& name) {
  for (const EncodersRule& rule : encoders_rules) {
    if (name == rule.name) return rule.reason;
  }
  return nullptr;
}

}  // namespace golden
