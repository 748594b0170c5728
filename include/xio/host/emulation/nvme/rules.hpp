// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Bits of a submission queue entry that a host may set; all others are reserved or unused and must be zero
/// (NVM Express Base Specification 2.0, figures 87, 88 and sections 5 and 7; NVM Command Set Specification 1.0,
/// section 3.2; Zoned Namespace Command Set Specification 1.1, section 3.4).

#include <array>
#include <cstdint>
#include <string>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Fields that the entry of one command may use.
struct EntryRule {
  bool known = false;
  bool data = false;  ///< the data pointer is used
  bool nsid = false;
  bool fused = false;
  uint32_t cdw2 = 0, cdw3 = 0, cdw10 = 0, cdw11 = 0, cdw12 = 0, cdw13 = 0, cdw14 = 0, cdw15 = 0;  ///< bits in use
};

namespace detail {

/// Rule for commands with a range of blocks and tags in dwords 2, 3, 10, 11, 14 and 15.
constexpr EntryRule block_rule(bool data, uint32_t cdw12, uint32_t cdw13) {
  EntryRule rule;
  rule.known = rule.nsid = rule.fused = true;
  rule.data = data;
  rule.cdw2 = rule.cdw10 = rule.cdw11 = rule.cdw14 = rule.cdw15 = ~0u;
  rule.cdw3 = 0xffff;
  rule.cdw12 = cdw12 | 0xffffu;
  rule.cdw13 = cdw13;
  return rule;
}

constexpr EntryRule plain_rule(bool data, bool nsid, uint32_t cdw10, uint32_t cdw11 = 0, uint32_t cdw12 = 0,
                               uint32_t cdw13 = 0, uint32_t cdw14 = 0, uint32_t cdw15 = 0) {
  EntryRule rule;
  rule.known = true;
  rule.data = data;
  rule.nsid = nsid;
  rule.cdw10 = cdw10;
  rule.cdw11 = cdw11;
  rule.cdw12 = cdw12;
  rule.cdw13 = cdw13;
  rule.cdw14 = cdw14;
  rule.cdw15 = cdw15;
  return rule;
}

inline EntryRule io_rule(uint8_t opcode) {
  constexpr uint32_t checks = 0xfd000000;  // LR, FUA, PRINFO, STC; not bit 25
  constexpr uint32_t directive = 0x00f00000;
  switch (opcode) {
    case spec::io_flush: return plain_rule(false, true, 0);
    case spec::io_read: return block_rule(true, checks, 0xff);
    case spec::io_compare: return block_rule(true, checks, 0);
    case spec::io_write: return block_rule(true, checks | directive, 0xffff00ff);
    case spec::io_write_zeroes: return block_rule(false, checks | 1u << 25, 0);
    case spec::io_verify: return block_rule(false, checks, 0);
    case spec::io_write_uncorrectable: return plain_rule(false, true, ~0u, ~0u, 0xffff);
    case spec::io_dataset_management: return plain_rule(true, true, 0xff, 7);
    case spec::io_zone_append: return block_rule(true, checks | directive | 1u << 25, 0xffff0000);
    case spec::io_reservation_register: return plain_rule(true, true, 0xc000000f);
    case spec::io_reservation_report: return plain_rule(true, true, ~0u, 1);
    case spec::io_reservation_acquire:
    case spec::io_reservation_release: return plain_rule(true, true, 0xff0f);
    case spec::io_management_receive: return plain_rule(true, true, 0xffff00ff, ~0u);
    case spec::io_management_send: return plain_rule(true, true, 0xffff00ff);
    case spec::io_copy: {
      EntryRule rule = block_rule(true, checks | directive | 0xfff, 0xffff0000);
      rule.fused = false;
      return rule;
    }
    case spec::io_zone_send: return plain_rule(true, true, ~0u, ~0u, 0, 0x3ff);
    case spec::io_zone_receive: return plain_rule(true, true, ~0u, ~0u, ~0u, 0x1ffff);
    default: return {};
  }
}

/// Of the Key Value Command Set.
inline EntryRule key_rule(uint8_t opcode) {
  const auto with_key = [](bool data, uint32_t cdw11) {
    EntryRule rule = plain_rule(data, true, data ? ~0u : 0, cdw11, 0, 0, ~0u, ~0u);
    rule.cdw2 = rule.cdw3 = ~0u;
    return rule;
  };
  switch (opcode) {
    case spec::kv_store: return with_key(true, 0x7ff);
    case spec::kv_retrieve: return with_key(true, 0x1ff);
    case spec::kv_list: return with_key(true, 0xff);
    case spec::kv_delete:
    case spec::kv_exist: return with_key(false, 0xff);
    // Their numbers mean something else, or nothing.
    case spec::io_write_uncorrectable:
    case spec::io_compare:
    case spec::io_write_zeroes:
    case spec::io_dataset_management:
    case spec::io_verify:
    case spec::io_copy:
    case spec::io_zone_send:
    case spec::io_zone_receive:
    case spec::io_zone_append: return {};
    default: return io_rule(opcode);
  }
}

inline EntryRule admin_rule(uint8_t opcode) {
  switch (opcode) {
    case spec::admin_delete_sq:
    case spec::admin_delete_cq: return plain_rule(false, false, 0xffff);
    case spec::admin_create_sq: return plain_rule(true, false, ~0u, 0xffff0007, 0xffff);
    case spec::admin_create_cq: return plain_rule(true, false, ~0u, 0xffff0003);
    case spec::admin_get_log_page: return plain_rule(true, true, ~0u, ~0u, ~0u, ~0u, 0xff80007f);
    case spec::admin_identify: return plain_rule(true, true, 0xffff00ff, 0xff00ffff, 0, 0, 0x7f);
    case spec::admin_abort: return plain_rule(false, false, ~0u);
    case spec::admin_set_features: return plain_rule(true, true, 0x800000ff, ~0u, ~0u, ~0u, ~0u, ~0u);
    case spec::admin_get_features: return plain_rule(true, true, 0x7ff, ~0u, 0, 0, 0x7f);
    case spec::admin_async_event_request: return plain_rule(false, false, 0);
    case spec::admin_doorbell_buffer_config: return plain_rule(true, false, 0);
    default: return {};
  }
}

}  // namespace detail

/// Rules for all opcodes of admin or I/O queues.
class EntryRules {
 public:
  enum Kind { io, key_values, admin };
  explicit EntryRules(Kind kind) : admin_(kind == admin) {
    for (uint32_t i = 0; i < rules_.size(); ++i) {
      const auto opcode = static_cast<uint8_t>(i);
      rules_[i] = kind == admin        ? detail::admin_rule(opcode)
                  : kind == key_values ? detail::key_rule(opcode)
                                       : detail::io_rule(opcode);
    }
  }

  /// Checks an entry. Returns a description of the violation, or null. There is no metadata: MPTR must be zero.
  /// @param moves  whether the command moves data, if the opcode does not determine it
  const char* check(const nvme::Sqe& sqe, bool moves) const {
    const EntryRule& rule = rules_[sqe.cdw0 & 0xff];
    if ((sqe.cdw0 >> 10 & 0xf) != 0) return "bits 13:10 of dword 0 are reserved";
    if ((sqe.cdw0 >> 8 & 3) == 3) return "FUSE is 3";
    if ((sqe.cdw0 >> 14 & 3) == 3) return "PSDT is 3";
    if (admin_ && (sqe.cdw0 >> 14 & 3) != 0) return "an admin command with an SGL";
    // The remaining fields of an unknown opcode are unknown too.
    if (!rule.known) return nullptr;
    if (!rule.fused && (sqe.cdw0 >> 8 & 3) != 0) return "a command that cannot be fused is fused";
    if (!rule.nsid && sqe.nsid != 0) return "NSID is not used by this command";
    if (sqe.mptr != 0) return "MPTR is set although there is no separate metadata";
    if (!(rule.data && moves) && (sqe.prp1 != 0 || sqe.prp2 != 0 || (sqe.cdw0 >> 14 & 3) != 0))
      return "a data pointer is set although no data is moved";
    struct Word {
      uint32_t value, allowed;
      const char* wrong;
    };
    for (const Word& word : {Word{sqe.cdw2, rule.cdw2, "reserved bits of dword 2"},
                             {sqe.cdw3, rule.cdw3, "reserved bits of dword 3"},
                             {sqe.cdw10, rule.cdw10, "reserved bits of dword 10"},
                             {sqe.cdw11, rule.cdw11, "reserved bits of dword 11"},
                             {sqe.cdw12, rule.cdw12, "reserved bits of dword 12"},
                             {sqe.cdw13, rule.cdw13, "reserved bits of dword 13"},
                             {sqe.cdw14, rule.cdw14, "reserved bits of dword 14"},
                             {sqe.cdw15, rule.cdw15, "reserved bits of dword 15"}}) {
      if ((word.value & ~word.allowed) != 0) return word.wrong;
    }
    return nullptr;
  }

 private:
  bool admin_;
  std::array<EntryRule, 256> rules_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
