// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a controller must offer to be driven by xio: registers, memory and doorbell words.

#include <cstddef>
#include <memory>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller_access.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Access to one NVMe controller. Derive from it to plug in a controller of your own: hand the object to
/// NvmeController, and everything above works (examples/custom_controller.cpp).
///
/// Offsets are bytes from the start of BAR0 (NVM Express Base Specification 2.0, section 3.1.3). Values are in the
/// CPU's byte order; the transport does what its bus needs. Every function may be called from several threads at once.
/// Functions that touch the controller throw Error when it is gone or does not answer within a deadline of the
/// transport's own; none may block for ever.
class NvmeTransport {
 public:
  virtual ~NvmeTransport() = default;
  NvmeTransport(const NvmeTransport&) = delete;
  NvmeTransport& operator=(const NvmeTransport&) = delete;

  virtual uint32_t read32(uint64_t offset) = 0;
  /// Where the bus has no 64-bit access: two 32-bit reads, the low half first.
  virtual uint64_t read64(uint64_t offset) = 0;
  /// The controller has taken the value when the call returns, as far as the bus can tell.
  virtual void write32(uint64_t offset, uint32_t value) = 0;
  virtual void write64(uint64_t offset, uint64_t value) = 0;

  /// Stores a doorbell without waiting for the controller. Stays in order with the writes around it.
  virtual void ring(uint64_t offset, uint32_t value) { write32(offset, value); }

  /// Memory for queues, lists and data: zeroed, contiguous on the bus, reachable by the controller, the CPU and the
  /// executing side.
  /// @param bytes      at least 1
  /// @param alignment  power of two, in bytes; holds for the CPU's address and for the bus address
  virtual DmaBuffer allocate(size_t bytes, size_t alignment) = 0;

  /// Lets the controller reach memory that somebody else gave out, the GPU's among it, until the buffer ends.
  /// @param data   address on the CPU, a multiple of the page size, as is `bytes`
  /// @param owner  keeps the memory
  /// Throws Error where this transport's controller reaches the memory of allocate() alone, or where the kernel does
  /// not let it.
  virtual DmaBuffer map_memory(void* data, size_t bytes, const std::shared_ptr<void>& owner) {
    static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(owner);
    throw Error(description() + " reaches its own memory alone: GPU memory is not offered here");
  }

  /// Where kernels store doorbells: 32-bit words laid out as the doorbell registers are from BAR0 + 0x1000, with the
  /// controller's stride. Either the mapped registers themselves, or memory that somebody forwards (DoorbellProxy).
  virtual uint32_t* doorbell_words() = 0;

  /// Whether they are registers of a device, which a GPU is given in another way than memory.
  virtual bool doorbells_are_registers() const { return true; }

  /// Called before the queue that word `index` belongs to is created, and before the word is used. Where the words are
  /// memory, the transport sets this one to zero and begins to watch it; mapped registers are left alone.
  virtual void open_doorbell(uint32_t index) { static_cast<void>(index); }

  /// Called before the queue is deleted. Nothing is forwarded from word `index` after the call has returned.
  virtual void close_doorbell(uint32_t index) { static_cast<void>(index); }

  /// Where another driver keeps the controller and its admin queue: the way to them, owned by the transport. Null: the
  /// controller is ours alone, and is reset, enabled and given commands by its registers.
  virtual ControllerAccess* keeper() { return nullptr; }

  /// Resets the controller by way of its bus, for one that does not listen to its registers any more: it forgets
  /// everything and is disabled. False where the bus has no such reset.
  virtual bool reset_device() { return false; }

  /// One line for people: what this is and where.
  virtual std::string description() const = 0;

  /// False once the controller cannot answer any more: removed, or its process has ended.
  virtual bool alive() const { return true; }

  /// Everything that allocate() gives out lies in here, so that a GPU runtime can register it once; empty where
  /// allocate() does not work on one region.
  virtual Span<unsigned char> dma_window() const { return {}; }

 protected:
  NvmeTransport() = default;
};

}  // namespace host

XIO_NAMESPACE_END
