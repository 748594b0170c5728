// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Commands of key-value namespaces of the in-process NVMe controller (NVM Express Key Value Command Set
/// Specification 1.0, section 3.2).

#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Executes Store, Retrieve, List, Delete, Exist and Flush.
class KeyCommands {
 public:
  explicit KeyCommands(ControllerCore& core) : core_(core) {}

  /// Moves the data and returns the status of the completion without the phase bit.
  /// @param result  dword 0 of the completion
  uint16_t execute(const nvme::Sqe& sqe, KeyValues& keys, uint32_t& result) {
    if ((sqe.cdw0 >> 8 & 3) != 0) return spec::final_status(spec::invalid_field);
    const auto opcode = static_cast<uint8_t>(sqe.cdw0);
    if (opcode == spec::io_flush) return spec::success;
    if (!known(opcode)) return spec::final_status(spec::invalid_opcode);
    const uint32_t length = sqe.cdw11 & 0xff;
    const uint32_t shortest = opcode == spec::kv_list ? 0 : 1;
    if (length < shortest || length > keys.config().longest_key) return spec::final_status(spec::invalid_key_size);
    const std::string key = key_of(sqe, length);
    if (moves_data(sqe) && core_.max_transfer() != 0 && sqe.cdw10 > core_.max_transfer())
      return spec::final_status(spec::invalid_field);
    const uint16_t missing = spec::final_status(spec::key_does_not_exist);
    switch (opcode) {
      case spec::kv_store: return store(sqe, keys, key);
      case spec::kv_retrieve: return retrieve(sqe, keys, key, result);
      case spec::kv_list: return send(sqe, keys.listed(key, sqe.cdw10));
      case spec::kv_delete: return keys.remove(key) ? uint16_t{spec::success} : missing;
      default: return keys.find(key) ? uint16_t{spec::success} : missing;
    }
  }

  /// Returns whether the data pointer of an entry is used.
  static bool moves_data(const nvme::Sqe& sqe) {
    const auto opcode = static_cast<uint8_t>(sqe.cdw0);
    return (opcode == spec::kv_store || opcode == spec::kv_retrieve || opcode == spec::kv_list) && sqe.cdw10 != 0;
  }

  /// The key of a command, of which `length` bytes are used.
  static std::string key_of(const nvme::Sqe& sqe, uint32_t length) {
    char bytes[16];
    std::memcpy(bytes, &sqe.cdw2, 4);
    std::memcpy(bytes + 4, &sqe.cdw3, 4);
    std::memcpy(bytes + 8, &sqe.cdw14, 4);
    std::memcpy(bytes + 12, &sqe.cdw15, 4);
    return {bytes, length};
  }

 private:
  static bool known(uint8_t opcode) {
    return opcode == spec::kv_store || opcode == spec::kv_retrieve || opcode == spec::kv_list ||
           opcode == spec::kv_delete || opcode == spec::kv_exist;
  }

  uint16_t store(const nvme::Sqe& sqe, KeyValues& keys, const std::string& key) {
    const bool must_exist = (sqe.cdw11 >> 8 & 1) != 0;
    const bool must_not_exist = (sqe.cdw11 >> 9 & 1) != 0;
    if (sqe.cdw10 > keys.config().longest_value) return spec::final_status(spec::invalid_value_size);
    if (must_exist && !keys.find(key)) return spec::final_status(spec::key_does_not_exist);
    if (must_not_exist && keys.find(key)) return spec::final_status(spec::key_exists);
    std::string value(sqe.cdw10, '\0');
    if (!value.empty()) {
      if (const uint16_t status = core_.data.map(sqe, value.size(), false, true)) return status;
      core_.data.copy_from_host(reinterpret_cast<unsigned char*>(value.data()), value.size());
    }
    core_.counters.bytes_written.add(value.size());
    if (!keys.store(key, std::move(value))) return spec::final_status(spec::capacity_exceeded);
    return spec::success;
  }

  /// What the buffer has no room for is cut; dword 0 is the size of the value.
  uint16_t retrieve(const nvme::Sqe& sqe, const KeyValues& keys, const std::string& key, uint32_t& result) {
    const std::string* const value = keys.find(key);
    if (!value) return spec::final_status(spec::key_does_not_exist);
    result = static_cast<uint32_t>(value->size());
    return send(sqe, *value);
  }

  /// Stores the first bytes of `data` in the host's buffer, which keeps the others.
  uint16_t send(const nvme::Sqe& sqe, const std::string& data) {
    if (sqe.cdw10 == 0) return spec::success;
    if (const uint16_t status = core_.data.map(sqe, sqe.cdw10, true, true)) return status;
    const size_t bytes = sqe.cdw10 < data.size() ? sqe.cdw10 : data.size();
    core_.data.copy_to_host(reinterpret_cast<const unsigned char*>(data.data()), bytes);
    core_.counters.bytes_read.add(bytes);
    return spec::success;
  }

  ControllerCore& core_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
