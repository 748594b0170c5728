// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parts of LLVM's sequences that the litmus kernels do not need, with reasons.

#include <string>

namespace machine_tests {

/// The reason; empty if the part is needed. If a text occurs several times, at least one occurrence may still be
/// needed.
inline std::string unneeded(const std::string& target, const std::string& kernel, const std::string& text,
                            const std::string& change) {
  const auto has = [](const std::string& in, const char* part) { return in.find(part) != std::string::npos; };
  const bool of_scope = has(change, "scope");
  const bool on_one_gpu = has(kernel, "_sys");
  if (of_scope && has(text, "_load_") && !has(kernel, "relaxed") && !has(kernel, "buffering"))
    return "a loop asks again, and invalidates in between; where it does not, what it asks first is not needed";
  if (on_one_gpu && change == "agent scope") return "both sides are on one GPU";
  if (on_one_gpu && target == "gfx90a" && (text == "buffer_wbl2" || text == "buffer_invl2"))
    return "both sides are on one GPU, which has one L2";
  if (has(text, "global_wb") && (on_one_gpu || !has(text, "SCOPE_SYS")))
    return "stores go through to the L2, of which there is one";
  if (has(kernel, "buffering") && (has(text, "_inv") || has(text, "_wb")))
    return "all that is shared are the two words, whose accesses go past the caches";
  if (has(kernel, "fences") && (has(text, "vscnt") || has(text, "storecnt")))
    return "LLVM waits for stores in fences that acquire, too; those that release are needed";
  if (has(kernel, "chain_device") &&
      (has(text, "vscnt") || has(text, "storecnt") || text == "s_waitcnt vmcnt(0)" || text == "buffer_wbl2 sc1"))
    return "the wave between stores nothing but flags: what it tells the first needs no release";
  if (has(kernel, "barrier_device") && (has(text, "inv") || has(text, "vscnt") || has(text, "storecnt")))
    return "of the two barriers of a round, the first needs no acquire and the second no release";
  if (kernel == "barrier_device" && text == "s_waitcnt vmcnt(0)")
    return "LLVM's wait and the kernel's own after a write-back, of which one is enough";
  return "";
}

}  // namespace machine_tests
