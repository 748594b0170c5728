// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Registers of a PCI function that is bound to a kernel driver, mapped through sysfs.

#include <sys/mman.h>

#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory/revocable_mapping.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// BAR0 of an NVMe controller: read-only by convention, except for doorbells. Usable from several threads. Not movable.
class KernelRegisters {
 public:
  static constexpr uint64_t doorbell_base = 0x1000;
  /// Size of the registers of a controller with an admin queue only.
  static constexpr size_t min_bytes = doorbell_base + 2 * sizeof(uint32_t);

  /// Takes ownership of a mapping of all of BAR0.
  /// @param bytes  at least min_bytes
  KernelRegisters(void* data, size_t bytes)
      : bytes_(bytes), data_(static_cast<unsigned char*>(data)), unmap_{data, bytes}, revocable_(data, bytes) {}
  KernelRegisters(const KernelRegisters&) = delete;
  KernelRegisters& operator=(const KernelRegisters&) = delete;

  /// @param offset  a multiple of 4
  uint32_t read32(uint64_t offset) const {
    if (offset > bytes_ - sizeof(uint32_t))
      throw Error("kernel-shared: register " + to_hex(offset) + " lies beyond the end of BAR0");
    const uint32_t value = *reinterpret_cast<const volatile uint32_t*>(data_ + offset);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return value;
  }
  /// Whether the kernel has revoked the registers and a late access occurred; detected only with a BusErrorGuard.
  bool lost() const { return revocable_.lost(); }
  /// See RevocableMapping.
  void let_go() { revocable_.let_go(); }
  uint32_t* doorbells() const { return reinterpret_cast<uint32_t*>(data_ + doorbell_base); }
  size_t doorbell_count() const { return (bytes_ - doorbell_base) / sizeof(uint32_t); }

 private:
  struct Unmap {
    void* data;
    size_t bytes;
    ~Unmap() { ::munmap(data, bytes); }
  };

  size_t bytes_;
  unsigned char* data_;
  Unmap unmap_;
  RevocableMapping revocable_;
};

}  // namespace host

XIO_NAMESPACE_END
