// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Deviations of real controllers that the in-process NVMe controller can show.

#include <optional>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/specification.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// How a controller deviates from what is usual today; by default not at all.
struct NvmeQuirks {
  /// Admin commands with this opcode, and this value in bits 7:0 of dword 10 (CNS, feature, log page).
  struct Admin {
    uint8_t opcode;
    uint8_t about;
    uint32_t value;  ///< `refused`: status field; `answers`: dword 0 of the completion
  };

  uint32_t version = spec::version_1_4;  ///< VS
  uint8_t cns_bits = 0xff;               ///< bits of CNS that the controller looks at
  std::optional<uint16_t> mqes;          ///< what CAP.MQES says; empty: NvmeConfig::mqes
  std::vector<Admin> refused;
  std::vector<Admin> answers;
  bool reports_head = true;  ///< false: SQHD of every completion is 0
  uint32_t found_cc = 0;     ///< CC as an earlier user left it; it never becomes ready before CC.EN = 0
  uint32_t shutdown_ms = 0;  ///< how long a shutdown takes
  uint32_t shutdown_us = 0;  ///< how long it takes by Identify Controller (RTD3E); 0: not reported

  NvmeQuirks& refuse(uint8_t opcode, uint8_t about, spec::Status status = spec::invalid_field) {
    return refused.push_back({opcode, about, spec::final_status(status)}), *this;
  }
  NvmeQuirks& answer(uint8_t opcode, uint8_t about, uint32_t dword0) {
    return answers.push_back({opcode, about, dword0}), *this;
  }
  static const Admin* find(const std::vector<Admin>& list, uint32_t opcode, uint32_t cdw10) {
    for (const Admin& one : list)
      if (one.opcode == (opcode & 0xff) && one.about == (cdw10 & 0xff)) return &one;
    return nullptr;
  }
};

/// A row of the table of known deviations.
struct NvmeQuirk {
  const char* name;
  const char* meaning;
  void (*apply)(NvmeQuirks&);
};

/// Every deviation that the library copes with: tests run with each of them, and `emulated:quirks=` names them.
inline constexpr NvmeQuirk nvme_quirks[] = {
    {"nvme-1.0", "VS is 1.0, and Identify looks at bit 0 of CNS",
     [](NvmeQuirks& q) { q.version = 0x00010000, q.cns_bits = 1; }},
    {"no-list", "Identify refuses the list of active namespaces (CNS 02h)",
     [](NvmeQuirks& q) { q.refuse(spec::admin_identify, 2); }},
    {"fixed-queues", "Set Features refuses Number of Queues (07h)",
     [](NvmeQuirks& q) { q.refuse(spec::admin_set_features, 7); }},
    {"unknown-queues", "Set and Get Features refuse Number of Queues (07h)",
     [](NvmeQuirks& q) { q.refuse(spec::admin_set_features, 7).refuse(spec::admin_get_features, 7); }},
    {"all-queues", "Number of Queues is FFFFFFFFh",
     [](NvmeQuirks& q) { q.answer(spec::admin_set_features, 7, ~0u).answer(spec::admin_get_features, 7, ~0u); }},
    {"mqes-0", "CAP.MQES is 0", [](NvmeQuirks& q) { q.mqes = 0; }},
    {"no-head", "completions do not report the head of the SQ (SQHD = 0)",
     [](NvmeQuirks& q) { q.reports_head = false; }},
    {"shut-down", "found with CC.EN = 1, shut down, CSTS.RDY = 0", [](NvmeQuirks& q) { q.found_cc = 0x00464001; }},
    {"unready", "found with CC.EN = 1 and CSTS.RDY = 0, which stays so",
     [](NvmeQuirks& q) { q.found_cc = 0x00460001; }},
    {"slow-shutdown", "a shutdown takes 3 s", [](NvmeQuirks& q) { q.shutdown_ms = 3000; }},
};

/// Adds a deviation by its name. Returns false if there is none of that name.
inline bool add_quirk(const std::string& name, NvmeQuirks& quirks) {
  for (const NvmeQuirk& one : nvme_quirks) {
    if (name != one.name) continue;
    one.apply(quirks);
    return true;
  }
  return false;
}

/// Names of all deviations, for messages: "nvme-1.0, no-list, ...".
inline std::string nvme_quirk_names() {
  std::string names;
  for (const NvmeQuirk& one : nvme_quirks) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
