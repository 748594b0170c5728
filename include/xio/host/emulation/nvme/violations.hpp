// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host did that the specification forbids, as the in-process NVMe controller noticed it.

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// One thing that a host must not do, whatever the controller makes of it.
struct NvmeViolation {
  enum Kind {
    memory,      ///< the controller was made to touch an address where nothing is mapped
    pointer,     ///< an offset in a PRP, a list or an SGL that the specification excludes
    reserved,    ///< a reserved field, bit or value, or a field that the command does not use, is not zero
    identifier,  ///< a command identifier that is in use, or FFFFh
    limit,       ///< more than the controller said that it takes: MDTS, VSL and the like
    doorbell,    ///< a doorbell that does not exist, or a value that it cannot have
    entry,       ///< a doorbell covered an entry that was not stored (NvmeConfig::poison_fetched_entries)
    setup,       ///< a register that was written when, or as, it must not be
  };
  Kind kind;
  uint32_t qid;      ///< queue, 0: the admin queue
  std::string what;  ///< for people
};

/// The first of them, and how many there were. Any thread may add and look.
class NvmeViolations {
 public:
  static constexpr size_t kept = 64;

  void add(NvmeViolation::Kind kind, uint32_t qid, std::string what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    if (list_.size() < kept) list_.push_back({kind, qid, "queue " + std::to_string(qid) + ": " + std::move(what)});
  }
  /// How many there were since the last take().
  uint64_t count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  /// The first of them, up to `kept`; forgets all.
  std::vector<NvmeViolation> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    count_ = 0;
    return std::exchange(list_, {});
  }
  /// All that are kept, one a line; empty where there was none.
  std::string text() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string lines;
    for (const NvmeViolation& one : list_) lines += one.what + "\n";
    if (count_ > list_.size()) lines += "and " + std::to_string(count_ - list_.size()) + " more\n";
    return lines;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<NvmeViolation> list_;
  uint64_t count_ = 0;
};

}  // namespace emulation

XIO_NAMESPACE_END
