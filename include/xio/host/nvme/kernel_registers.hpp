// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Registers of a PCI function that a driver of the kernel has, mapped from sysfs.

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/file_descriptor.hpp>
#include <xio/host/kernel_calls.hpp>
#include <xio/host/pci.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// BAR0 of an NVMe controller: to be read, but for its doorbells. Usable from several threads. Not movable.
class KernelRegisters {
 public:
  static constexpr uint64_t doorbell_base = 0x1000;

  /// Throws Error, with the way out, where the kernel does not let the registers be mapped.
  KernelRegisters(KernelCalls& calls, const PciFunction& pci) {
    const std::string path = pci.resource(0);
    const std::string start = "kernel-shared: BAR0 of " + pci.address() + " cannot be mapped";
    const int opened = calls.open(path);
    if (opened < 0 && (errno == EPERM || errno == EACCES))
      throw Error(start + ": run as root, and without kernel lockdown (secure boot switches it on); or use vfio");
    const FileDescriptor fd(opened, start);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) throw_system_error(start, errno);
    bytes_ = static_cast<size_t>(info.st_size);
    if (bytes_ < doorbell_base + 2 * sizeof(uint32_t))
      throw Error(start + ": it has " + std::to_string(bytes_) + " bytes; this is no NVMe controller");
    void* const data = calls.map(fd.get(), bytes_);
    if (data == MAP_FAILED && errno == EINVAL)
      throw Error(start +
                  " while the driver has it (CONFIG_IO_STRICT_DEVMEM): boot with iomem=relaxed, or use vfio: "
                  "scripts/xio-bind bind " +
                  pci.address());
    if (data == MAP_FAILED) throw_system_error(start, errno);
    data_ = static_cast<unsigned char*>(data);
  }
  KernelRegisters(const KernelRegisters&) = delete;
  KernelRegisters& operator=(const KernelRegisters&) = delete;
  ~KernelRegisters() { ::munmap(data_, bytes_); }

  /// @param offset  a multiple of 4
  uint32_t read32(uint64_t offset) const {
    if (offset > bytes_ - sizeof(uint32_t))
      throw Error("kernel-shared: register " + to_hex(offset) + " lies beyond the end of BAR0");
    const uint32_t value = *reinterpret_cast<const volatile uint32_t*>(data_ + offset);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return value;
  }
  uint32_t* doorbells() const { return reinterpret_cast<uint32_t*>(data_ + doorbell_base); }
  size_t doorbell_count() const { return (bytes_ - doorbell_base) / sizeof(uint32_t); }

 private:
  size_t bytes_ = 0;
  unsigned char* data_ = nullptr;
};

}  // namespace host

XIO_NAMESPACE_END
