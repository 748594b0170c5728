// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Keys and values of one namespace of the in-process NVMe controller.

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/config.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// The values of one namespace, in the order of their keys' bytes. Not thread-safe.
class KeyValues {
 public:
  using Values = std::map<std::string, std::string>;

  explicit KeyValues(const NvmeNamespaceConfig& config) : config_(config) {}

  uint32_t nsid() const { return config_.nsid; }
  const NvmeNamespaceConfig& config() const { return config_; }
  uint64_t capacity() const { return config_.blocks * config_.block_bytes; }
  uint64_t used() const { return used_; }  ///< bytes of keys and values
  const Values& values() const { return values_; }

  /// The value of a key; null: it does not exist.
  const std::string* find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  /// Stores a value; false: there is no room for it, and nothing has changed.
  bool store(const std::string& key, std::string value) {
    const std::string* const before = find(key);
    if (!before && config_.most_keys != 0 && values_.size() >= config_.most_keys) return false;
    const uint64_t freed = before ? key.size() + before->size() : 0;
    const uint64_t needed = key.size() + value.size();
    if (used_ - freed + needed > capacity()) return false;
    used_ += needed - freed;
    values_[key] = std::move(value);
    return true;
  }
  /// What List returns in a buffer of `room` bytes: a number of keys from `from` on, and each with its length, on 4
  /// bytes.
  std::string listed(const std::string& from, uint32_t room) const {
    std::string text(4, '\0');
    uint32_t count = 0;
    for (auto at = values_.lower_bound(from); at != values_.end(); ++at) {
      const auto length = static_cast<uint16_t>(at->first.size());
      const size_t bytes = (sizeof length + length + 3) / 4 * 4;
      if (text.size() + bytes > room) break;
      text.append(reinterpret_cast<const char*>(&length), sizeof length).append(at->first);
      text.resize((text.size() + 3) / 4 * 4);
      ++count;
    }
    std::memcpy(text.data(), &count, sizeof count);
    return text;
  }
  /// Returns whether the key existed.
  bool remove(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    used_ -= key.size() + found->second.size();
    values_.erase(found);
    return true;
  }

 private:
  NvmeNamespaceConfig config_;
  Values values_;
  uint64_t used_ = 0;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
