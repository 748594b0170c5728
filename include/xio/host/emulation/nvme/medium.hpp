// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Storage of a namespace of the in-process NVMe controller: blocks, and which of them are unreadable.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// The blocks of one namespace. Not thread-safe.
class Medium {
 public:
  /// @param store_data  false: nothing is stored, and block() returns null
  Medium(const NvmeNamespaceConfig& config, bool store_data) : config_(config) {
    while (uint32_t{1} << shift_ < config.block_bytes) ++shift_;
    if (!store_data) return;
    // calloc commits pages on first write, so a large namespace costs only the memory that is used.
    data_.reset(static_cast<unsigned char*>(std::calloc(config.blocks, config.block_bytes)));
    if (!data_)
      throw host::Error("emulated NVMe controller: no memory for a namespace of " + std::to_string(config.blocks) +
                        " blocks of " + std::to_string(config.block_bytes) + " bytes; make it smaller");
  }

  uint32_t nsid() const { return config_.nsid; }
  uint64_t blocks() const { return config_.blocks; }
  uint32_t block_bytes() const { return config_.block_bytes; }
  uint32_t block_shift() const { return shift_; }
  bool write_protected() const { return config_.write_protected; }

  /// Returns whether [lba, lba + count) lies inside the namespace. Safe against overflow.
  bool contains(uint64_t lba, uint64_t count) const { return lba <= blocks() && count <= blocks() - lba; }

  /// First byte of a block of the namespace; null if nothing is stored.
  unsigned char* block(uint64_t lba) { return data_ ? data_.get() + (lba << shift_) : nullptr; }

  /// Begins to keep what is permanent: now all, and later what was flushed.
  void keep_flushed() {
    if (data_) flushed_.assign(data_.get(), data_.get() + (blocks() << shift_));
  }
  void flush(uint64_t lba, uint64_t count) {
    if (!flushed_.empty()) std::memcpy(flushed_.data() + (lba << shift_), block(lba), count << shift_);
  }
  void flush() { flush(0, blocks()); }
  /// Loses what was not flushed. Marks of unreadable blocks stay as they are.
  void cut_power() {
    if (!flushed_.empty()) std::memcpy(data_.get(), flushed_.data(), flushed_.size());
  }

  void zero(uint64_t lba, uint64_t count) {
    if (data_) std::memset(block(lba), 0, count << shift_);
  }

  /// Returns whether no block of the range is marked by Write Uncorrectable. A later write clears the mark.
  bool readable(uint64_t lba, uint64_t count) const {
    if (unreadable_ == 0) return true;
    for (uint64_t i = lba; i < lba + count; ++i) {
      if (marks_[i]) return false;
    }
    return true;
  }
  void mark(uint64_t lba, uint64_t count, bool unreadable) {
    if (!unreadable && unreadable_ == 0) return;
    if (marks_.empty()) marks_.resize(blocks());
    for (uint64_t i = lba; i < lba + count; ++i) {
      if (marks_[i] == unreadable) continue;
      marks_[i] = unreadable;
      unreadable_ += unreadable ? uint64_t{1} : ~uint64_t{0};
    }
  }

 private:
  struct Free {
    void operator()(unsigned char* data) const { std::free(data); }
  };

  NvmeNamespaceConfig config_;
  uint32_t shift_ = 0;
  std::unique_ptr<unsigned char, Free> data_;
  std::vector<unsigned char> flushed_;  ///< empty: nothing is ever lost
  std::vector<bool> marks_;
  uint64_t unreadable_ = 0;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
