// SPDX-License-Identifier: MIT
#include "tester/nvme/verification.hpp"

#include <algorithm>
#include <unordered_map>

namespace tester {

namespace {

constexpr uint64_t most_searched = uint64_t{1} << 26;  // blocks

/// Finds the blocks to which contents belong if the contents do not encode it: by one search over all blocks.
void search_holders(const NvmePlan& plan, const std::vector<WrongBlock>& wrong, std::vector<BlockFault>& faults) {
  std::unordered_multimap<uint64_t, size_t> wanted;  // first word of the content to the fault
  for (size_t i = 0; i < wrong.size(); ++i) wanted.emplace(wrong[i].found[0], i);
  const uint64_t end = std::min(plan.namespace_blocks, most_searched);
  for (uint64_t lba = 0; lba < end; ++lba) {
    uint64_t words[2];
    plan.content.first_words(lba, words);
    const auto [from, to] = wanted.equal_range(words[0]);
    for (auto found = from; found != to; ++found) {
      if (wrong[found->second].found[1] == words[1]) faults[found->second].holder = lba;
    }
  }
}

/// The block whose content begins with these words, if any.
std::optional<uint64_t> holder_of(const NvmePlan& plan, const uint64_t (&found)[2]) {
  const uint64_t lba = xio::pattern::address_of(plan.content.seed(), found[0], 0);
  if (lba >= plan.namespace_blocks) return std::nullopt;
  uint64_t words[2];
  plan.content.first_words(lba, words);
  return words[1] == found[1] ? std::optional(lba) : std::nullopt;
}

}  // namespace

void explain(const NvmePlan& plan, const PhaseResult& result, Verification& verification) {
  verification.expected += result.to_check;
  verification.verified += result.checked - result.wrong_count;
  verification.wrong += result.wrong_count;
  verification.complete = verification.complete && result.wrong.size() == result.wrong_count;
  if (result.wrong.empty()) return;

  // The same block may have been read more than once.
  std::vector<WrongBlock> wrong = result.wrong;
  std::sort(wrong.begin(), wrong.end(), [](const WrongBlock& a, const WrongBlock& b) { return a.lba < b.lba; });
  wrong.erase(
      std::unique(wrong.begin(), wrong.end(), [](const WrongBlock& a, const WrongBlock& b) { return a.lba == b.lba; }),
      wrong.end());
  std::vector<BlockFault> faults;
  for (const WrongBlock& one : wrong)
    faults.push_back({one.lba, one.offset, (one.found[0] | one.found[1]) == 0,
                      plan.content.is_lfsr() ? std::nullopt : holder_of(plan, one.found)});
  if (plan.content.is_lfsr()) search_holders(plan, wrong, faults);
  verification.faults.insert(verification.faults.end(), faults.begin(), faults.end());
}

std::string describe(const BlockFault& fault) {
  const std::string block = "LBA " + std::to_string(fault.lba);
  if (fault.holder && *fault.holder == fault.lba)
    return block + " is damaged from byte " + std::to_string(fault.offset) + " on";
  if (fault.holder) return block + " holds the content of LBA " + std::to_string(*fault.holder);
  if (fault.zeros) return block + " holds zeros";
  return block + " holds unexpected data from byte " + std::to_string(fault.offset) + " on";
}

}  // namespace tester
