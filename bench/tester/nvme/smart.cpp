// SPDX-License-Identifier: MIT
#include "tester/nvme/smart.hpp"

namespace tester {

namespace {

// NVM Express Base Specification 2.1, SMART / Health Information log page.
constexpr uint32_t log_bytes = 512;
constexpr size_t host_read_commands = 64;
constexpr size_t host_write_commands = 80;

uint64_t number_at(const std::vector<uint8_t>& log, size_t offset) {
  uint64_t number = 0;
  for (size_t i = 8; i-- != 0;) number = number << 8 | log[offset + i];
  return number;
}

std::string trouble_of(const char* what, uint64_t counted, uint64_t completed, uint64_t submitted, bool alone) {
  if (counted >= completed && (counted <= submitted || !alone)) return {};
  std::string ours = std::to_string(completed);
  if (submitted != completed) ours += " to " + std::to_string(submitted);
  return "the drive counted " + std::to_string(counted) + " " + what + " commands, this run had " + ours + " (--smart)";
}

}  // namespace

CommandCounts command_counts(const xio::host::NvmeController& controller) {
  const std::vector<uint8_t> log = controller.get_log_page(xio::nvme::LogId::smart, log_bytes);
  return {number_at(log, host_read_commands), number_at(log, host_write_commands)};
}

void CrossCheck::add(const PhaseResult& phase, uint32_t commands_per_operation) {
  const auto of = [&](CommandCounts& counts) -> uint64_t& {
    return phase.direction == Direction::read ? counts.reads : counts.writes;
  };
  of(completed) += phase.completed * commands_per_operation;
  of(submitted) += phase.submitted * commands_per_operation;
}

std::string CrossCheck::trouble() const {
  const std::string reads = trouble_of("read", counted.reads, completed.reads, submitted.reads, alone);
  const std::string writes = trouble_of("write", counted.writes, completed.writes, submitted.writes, alone);
  return reads + (reads.empty() || writes.empty() ? "" : "; ") + writes;
}

}  // namespace tester
