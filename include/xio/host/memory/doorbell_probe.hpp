// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a mapping of registers is tried on: a register that may be stored to without ringing anything.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// A register in the same BAR as the doorbells that can be stored to without consequences, and read by another way.
///
/// A doorbell itself is no such register: it cannot be read, and to NVMe a value that was stored before is an error
/// (Base Specification 2.0, asynchronous event "Invalid Doorbell Write Value").
class DoorbellProbe {
 public:
  virtual ~DoorbellProbe() = default;
  DoorbellProbe(const DoorbellProbe&) = delete;
  DoorbellProbe& operator=(const DoorbellProbe&) = delete;

  /// Bytes from the start of the registers; a multiple of 4.
  virtual uint64_t offset() const = 0;
  /// What try number `attempt` stores: each another value, none of them what the register held at first.
  virtual uint32_t value(uint32_t attempt) const = 0;
  /// What the device holds now, read without the mapping that is being tried.
  virtual uint32_t read() = 0;
  /// Puts back what the register held at first.
  virtual void restore() = 0;

 protected:
  DoorbellProbe() = default;
};

}  // namespace host

XIO_NAMESPACE_END
