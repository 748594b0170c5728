// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An emulated drive for the snippets of NVMe queues: each snippet is a kernel with its own queue.

#include <memory>
#include <type_traits>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

#include "check.hpp"

namespace snippets {

constexpr uint32_t block_bytes = 512;
constexpr uint64_t block_words = block_bytes / sizeof(uint64_t);
constexpr uint64_t stored_blocks = 1024;  ///< the drive's first blocks hold word(0), word(1), ...
constexpr uint64_t free_blocks = 4096;    ///< first block that the snippets write to

/// A thread's data: block `lba` of the drive, and `bytes` bytes at `offset` in the data memory.
struct Mine {
  uint32_t i;
  uint64_t lba;
  uint64_t offset;
  uint32_t bytes;
};
XIO_DEVICE Mine mine() {
  const uint32_t i = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  return {i, i, uint64_t{i} * block_bytes, block_bytes};
}

class Drive {
 public:
  static constexpr uint32_t most_threads = 64;
  static constexpr uint64_t data_bytes = 512 * 1024;

  Drive() : Drive(std::make_unique<xio::emulation::NvmeController>(config())) {}

  /// Runs `kernel(handle, data, status, more...)` with a new queue and zeroed memory.
  /// @return whether every thread has reported success
  template <class... More>
  bool run(uint32_t threads, void (*kernel)(xio::nvme::QueueHandle, xio::Region, xio::Status*, More...),
           const std::enable_if_t<true, More>&... more) {
    xio::host::QueueOptions options;
    options.flush_bus = data_.bus();
    const xio::host::NvmeQueue queue = controller.create_queue(on(executor, options));
    for (auto& one : status_.span<xio::Status>()) one = xio::Status::not_ready;
    xio::host::launch(executor, {1, threads}, kernel, queue.handle(), data_.region(),
                      executor.address(status_.as<xio::Status>()), more...);
    bool good = true;
    for (uint32_t i = 0; i < threads; ++i) good = good && status(i).is_ok();
    return good;
  }

  xio::Status status(uint32_t thread) const { return status_.span<xio::Status>()[thread]; }
  uint64_t* words() const { return data_.as<uint64_t>(); }
  uint64_t bus() const { return data_.bus(); }
  /// Memory for anything else, zeroed; it stays until the drive is destroyed.
  template <class T>
  T* more(size_t count) {
    more_.push_back(executor.share(controller.allocate(count * sizeof(T))));
    return more_.back().as<T>();
  }

  /// Clears the data memory, runs a kernel that reads the drive's first `blocks` blocks into it, and checks them.
  template <class... More>
  void check_read(const char* snippet, uint64_t blocks, uint32_t threads,
                  void (*kernel)(xio::nvme::QueueHandle, xio::Region, xio::Status*, More...),
                  const std::enable_if_t<true, More>&... more) {
    for (uint64_t i = 0; i < blocks * block_words; ++i) words()[i] = 0;
    const bool good = run(threads, kernel, more...);
    check(snippet, good && holds(words(), blocks * block_words, 0));
  }
  /// Fills the data memory, runs a kernel that writes its first `blocks` blocks to `free_blocks`, and checks the drive.
  template <class... More>
  void check_write(const char* snippet, uint64_t blocks, uint32_t threads,
                   void (*kernel)(xio::nvme::QueueHandle, xio::Region, xio::Status*, More...),
                   const std::enable_if_t<true, More>&... more) {
    const uint64_t first = ++writes_ << 32;
    fill(words(), blocks * block_words, first);
    const bool good = run(threads, kernel, more...);
    std::vector<uint64_t> found(blocks * block_words);
    model->read_blocks(1, free_blocks, blocks, found.data());
    check(snippet, good && holds(found.data(), found.size(), first));
  }

  xio::emulation::NvmeController* model;
  xio::host::NvmeController controller;
  xio::host::Executor executor = xio::host::default_executor();

 private:
  explicit Drive(std::unique_ptr<xio::emulation::NvmeController> drive)
      : model(drive.get()), controller(std::move(drive)) {
    std::vector<uint64_t> words(stored_blocks * block_words);
    fill(words.data(), words.size(), 0);
    model->write_blocks(1, 0, stored_blocks, words.data());
  }
  static xio::emulation::NvmeConfig config() {
    xio::emulation::NvmeConfig config;
    config.transfer_only_commands = true;  // accepts Copy, Zone Append and others
    return config;
  }

  xio::host::DmaBuffer data_ = executor.share(controller.allocate(data_bytes));
  xio::host::DmaBuffer status_ = executor.share(controller.allocate(most_threads * sizeof(xio::Status)));
  std::vector<xio::host::DmaBuffer> more_;
  uint64_t writes_ = 0;
};

}  // namespace snippets
