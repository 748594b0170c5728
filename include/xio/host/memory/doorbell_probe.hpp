// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Probe of a register mapping: a register that can be written without ringing a doorbell.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// A register in the same BAR as the doorbells that can be written without side effects, and read by another path.
///
/// A doorbell itself is unsuitable: it cannot be read, and NVMe treats a repeated value as an error (Base Specification
/// 2.0, asynchronous event "Invalid Doorbell Write Value").
class DoorbellProbe {
 public:
  virtual ~DoorbellProbe() = default;
  DoorbellProbe(const DoorbellProbe&) = delete;
  DoorbellProbe& operator=(const DoorbellProbe&) = delete;

  /// Offset in bytes from the start of the registers; a multiple of 4.
  virtual uint64_t offset() const = 0;
  /// Value stored by attempt number `attempt`: distinct for each, and never the register's initial value.
  virtual uint32_t value(uint32_t attempt) const = 0;
  /// Current value in the device, read without the mapping under test.
  virtual uint32_t read() = 0;
  /// Restores the register's initial value.
  virtual void restore() = 0;

 protected:
  DoorbellProbe() = default;
};

}  // namespace host

XIO_NAMESPACE_END
