// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Common parts of the queue protocol tests: a controller with queues and data, stamps, checks inside kernels.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emulation/strictness.hpp"
#include "small_rings.hpp"

#include <xio/device/nvme/queue.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/simt/simt.hpp>

namespace protocol_tests {

using namespace xio::literals;
using emulation_tests::Kind;
using xio::Deadline;
using xio::Deferred;
using xio::Notification;
using xio::Notify;
using xio::Policy;
using xio::Sharing;
using xio::Status;
using xio::Token;
using xio::WriteThrough;
using xio::emulation::Match;
using xio::emulation::NvmeConfig;
using xio::emulation::NvmeExecution;
using xio::host::DmaBuffer;
using xio::host::NvmeQueue;
using xio::host::QueueOptions;
using xio::nvme::ContiguousPages;
using xio::nvme::NoData;
using xio::nvme::Queue;
using xio::nvme::QueueHandle;
using xio::simt::Grid;

/// Timeout that is not reached even on a busy machine. The environment variable XIO_TESTS_PATIENCE overrides it, in
/// seconds, for runs that must fail.
inline xio::Duration patience() {
  static const char* const seconds = std::getenv("XIO_TESTS_PATIENCE");
  static const xio::Duration result{seconds ? std::strtoull(seconds, nullptr, 10) * 1000000000 : (60_s).nanoseconds};
  return result;
}
inline Deadline soon() { return xio::deadline(patience()); }

/// The `lanes` that exist in the calling wave, as lanes that use a queue together.
inline uint64_t in_wave(uint64_t lanes) { return lanes & xio::arch::together(0); }

/// Status field of a completion: type and code.
inline uint16_t code_of(Status status) { return status.vendor & 0x7ff; }

/// Check inside a kernel: Catch2's macros may be used by one thread only.
inline void expect(bool condition, const char* what, int line) {
  if (condition) return;
  throw std::logic_error(std::string(what) + " (line " + std::to_string(line) + ", block " +
                         std::to_string(xio::arch::block_index()) + ", thread " +
                         std::to_string(xio::arch::thread_index()) + ")");
}
inline void expect_ok(Status status, const char* what, int line) {
  if (status.is_ok()) return;
  expect(false, (std::string(what) + " is " + xio::name(status.code) + " " + std::to_string(status.vendor)).c_str(),
         line);
}

/// A 64-bit number that depends on every bit of both arguments (SplitMix64).
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Fills whole blocks so that each word encodes its block, its position and a version.
inline void stamp(void* memory, uint64_t lba, uint32_t blocks, uint64_t version, uint32_t block_bytes = 512) {
  auto* bytes = static_cast<unsigned char*>(memory);
  const uint32_t per_block = block_bytes / 8;
  for (uint32_t i = 0; i < blocks * per_block; ++i) {
    const uint64_t word = mix(mix(lba + i / per_block, version), i % per_block);
    std::memcpy(bytes + size_t{8} * i, &word, 8);  // data may start at any multiple of 4
  }
}
inline bool stamped(const void* memory, uint64_t lba, uint32_t blocks, uint64_t version, uint32_t block_bytes = 512) {
  const auto* bytes = static_cast<const unsigned char*>(memory);
  const uint32_t per_block = block_bytes / 8;
  for (uint32_t i = 0; i < blocks * per_block; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + size_t{8} * i, 8);
    if (word != mix(mix(lba + i / per_block, version), i % per_block)) return false;
  }
  return true;
}

/// An enabled in-process controller and memory for data. Its host must comply with the specification.
class Rig {
 public:
  explicit Rig(NvmeConfig config = {}, size_t data_bytes = size_t{1} << 20)
      : Rig(std::make_unique<xio::emulation::NvmeController>(std::move(config)), data_bytes) {}

  NvmeQueue queue(uint32_t depth, const std::function<void(QueueOptions&)>& adjust = {}) {
    QueueOptions options;
    options.depth = depth;
    if (adjust) adjust(options);
    xio_tests::keep_cq_small(options, controller.max_queue_entries());
    return controller.create_queue(options);
  }
  /// A queue with the smallest possible completion table, which wraps soon.
  NvmeQueue tight_queue(uint32_t depth, uint32_t sq_entries = 0) {
    uint32_t slots = 2;
    while (slots < 2 * depth) slots *= 2;
    return queue(depth, [&](QueueOptions& options) {
      options.completion_slots = slots;
      options.sq_entries = sq_entries;
    });
  }
  unsigned char* bytes(size_t offset = 0) { return static_cast<unsigned char*>(data.data()) + offset; }
  uint64_t bus(size_t offset = 0) const { return data.bus() + offset; }
  xio::emulation::QueueStatistics statistics(const NvmeQueue& queue) const {
    return model.statistics().queues[queue.qid()];
  }

  emulation_tests::Strictness strictness;
  xio::emulation::NvmeController& model;
  xio::host::NvmeController controller;
  DmaBuffer data;

 private:
  Rig(std::unique_ptr<xio::emulation::NvmeController> transport, size_t data_bytes)
      : model(*transport), controller(std::move(transport)), data(controller.allocate(data_bytes)) {
    strictness.watch(model.violations());
  }
};

inline NvmeConfig stepped(NvmeConfig config = {}) {
  config.execution = NvmeExecution::stepped;
  return config;
}

/// Runs the calling thread as a wave of one lane with a callback at every pause: the device of a stepped rig advances
/// exactly when the library waits, so that a test knows what every poll observes.
class PausingWave final : public xio::arch::WaveOps {
 public:
  /// @param pause called with the number of the pause, counted from 1
  explicit PausingWave(std::function<void(uint64_t)> pause)
      : pause_(std::move(pause)), outer_(xio::arch::current_wave) {
    xio::arch::current_wave = this;
  }
  ~PausingWave() override { xio::arch::current_wave = outer_; }
  PausingWave(const PausingWave&) = delete;
  PausingWave& operator=(const PausingWave&) = delete;

  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override { pause_(++pauses); }

  uint64_t pauses = 0;

 private:
  std::function<void(uint64_t)> pause_;
  xio::arch::WaveOps* outer_;
};

}  // namespace protocol_tests

#define EXPECT(...) ::protocol_tests::expect((__VA_ARGS__), #__VA_ARGS__, __LINE__)
#define EXPECT_OK(...) ::protocol_tests::expect_ok((__VA_ARGS__), #__VA_ARGS__, __LINE__)
