// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Interface that a controller must offer to be driven by xio: registers, memory and doorbell words.

#include <cstddef>
#include <memory>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller_access.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Access to one NVMe controller. Derive from it to plug in your own controller: pass the object to NvmeController, and
/// everything above works (examples/custom_controller.cpp).
///
/// Offsets are bytes from the start of BAR0 (NVM Express Base Specification 2.0, section 3.1.3). Values are in the
/// CPU's byte order; the transport converts them as its bus requires. Every function may be called from several threads
/// concurrently. Functions that access the controller throw Error if it is removed or does not respond within a
/// deadline that the transport sets; none may block indefinitely.
class NvmeTransport {
 public:
  virtual ~NvmeTransport() = default;
  NvmeTransport(const NvmeTransport&) = delete;
  NvmeTransport& operator=(const NvmeTransport&) = delete;

  virtual uint32_t read32(uint64_t offset) = 0;
  /// Reads a 64-bit register; on a bus without 64-bit access, by two 32-bit reads, the low half first.
  virtual uint64_t read64(uint64_t offset) = 0;
  /// Writes a register. The controller has received the value on return, as far as the bus can guarantee.
  virtual void write32(uint64_t offset, uint32_t value) = 0;
  virtual void write64(uint64_t offset, uint64_t value) = 0;

  /// Stores a doorbell without waiting for the controller. Stays ordered with the writes around it.
  virtual void ring(uint64_t offset, uint32_t value) { write32(offset, value); }

  /// Allocates memory for queues, lists and data: zeroed, contiguous on the bus, accessible to the controller, the CPU
  /// and the executing side.
  /// @param bytes      at least 1
  /// @param alignment  power of two, in bytes; holds for the CPU's address and for the bus address
  virtual DmaBuffer allocate(size_t bytes, size_t alignment) = 0;

  /// Makes externally allocated memory, GPU memory included, accessible to the controller until the buffer is
  /// destroyed.
  /// @param data   address on the CPU, a multiple of the page size, as is `bytes`
  /// @param owner  keeps the memory alive
  /// Throws Error if this transport's controller can access only the memory of allocate(), or if the kernel refuses.
  virtual DmaBuffer map_memory(void* data, size_t bytes, const std::shared_ptr<void>& owner) {
    static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(owner);
    throw Error(description() +
                " can access only its own memory; GPU memory is not supported: use memory of allocate()");
  }

  /// Where kernels store doorbells: 32-bit words laid out like the doorbell registers from BAR0 + 0x1000, with the
  /// controller's stride. Either the mapped registers themselves, or memory whose contents are forwarded
  /// (DoorbellProxy).
  virtual uint32_t* doorbell_words() = 0;

  /// Whether the doorbell words are device registers, which are mapped for a GPU differently from memory.
  virtual bool doorbells_are_registers() const { return true; }

  /// Called before the queue of word `index` is created, and before the word is used. If the words are memory, the
  /// transport zeroes this one and begins to watch it; mapped registers are left unchanged.
  virtual void open_doorbell(uint32_t index) { static_cast<void>(index); }

  /// Called before the queue is deleted. Nothing is forwarded from word `index` after the call returns.
  virtual void close_doorbell(uint32_t index) { static_cast<void>(index); }

  /// Access to a controller and admin queue that another driver keeps, owned by the transport. Null: the library owns
  /// the controller, and resets, enables and commands it through its registers.
  virtual ControllerAccess* keeper() { return nullptr; }

  /// Resets the controller through its bus, if it no longer responds to its registers: it loses all state and is
  /// disabled. Returns false if the bus has no such reset.
  virtual bool reset_device() { return false; }

  /// One-line human-readable description: what this is and where.
  virtual std::string description() const = 0;

  /// False once the controller cannot respond any more: removed, or its process has ended.
  virtual bool alive() const { return true; }

  /// The region that contains everything that allocate() returns, so that a GPU runtime can register it once; empty if
  /// allocate() does not work on one region.
  virtual Span<unsigned char> dma_window() const { return {}; }

 protected:
  NvmeTransport() = default;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
