// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Violations of the specification by the host, as detected by the in-process NVMe controller.

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// One violation of the specification by the host, independent of how the controller handles it.
struct NvmeViolation {
  enum Kind {
    memory,      ///< the controller had to access an unmapped address
    pointer,     ///< an invalid offset in a PRP, a PRP list or an SGL
    reserved,    ///< a reserved field, bit or value, or a field that the command does not use, is not zero
    identifier,  ///< a command identifier that is in use, or FFFFh
    limit,       ///< a limit that the controller reports is exceeded: MDTS, VSL, …
    doorbell,    ///< a doorbell of a queue that does not exist, or an invalid doorbell value
    entry,       ///< a doorbell covered an entry that was not stored (NvmeConfig::poison_fetched_entries)
    setup,       ///< an invalid register write, or one at the wrong time
  };
  Kind kind;
  uint32_t qid;      ///< queue identifier; 0: the admin queue
  std::string what;  ///< human-readable description
};

/// The first violations and their total number. Thread-safe.
class NvmeViolations {
 public:
  static constexpr size_t kept = 64;

  void add(NvmeViolation::Kind kind, uint32_t qid, std::string what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    if (list_.size() < kept) list_.push_back({kind, qid, "queue " + std::to_string(qid) + ": " + std::move(what)});
  }
  /// Number of violations since the last take().
  uint64_t count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }
  /// Returns the first violations, up to `kept`, and clears all.
  std::vector<NvmeViolation> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    count_ = 0;
    return std::exchange(list_, {});
  }
  /// Formats the kept violations, one per line; empty if there are none.
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
