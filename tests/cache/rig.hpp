// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Drives with known content, a cache over them, and what a launch of kernels.hpp has found.

#include <cstdlib>
#include <memory>
#include <vector>

#include "cache/kernels.hpp"

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/cache.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/simt/simt.hpp>

namespace cache_tests {

using namespace xio::literals;
using xio::emulation::Match;

XIO_KERNEL void read_only(CacheHandle cache, Job job, Result* result) { work<xio::ReadOnly>(cache, job, result); }
XIO_KERNEL void write_back(CacheHandle cache, Job job, Result* result) { work<xio::WriteBack>(cache, job, result); }

/// flush() by all waves.
XIO_KERNEL void flush(CacheHandle cache, Duration limit, Result* result) {
  namespace arch = xio::arch;
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  xio::Cache<xio::WriteBack> all(cache, thread / arch::wave_size());
  const Status status = all.flush(xio::deadline(limit));
  if (status.is_ok()) return;
  arch::fetch_add<arch::Scope::system>(&result->failed, uint64_t{1});
  arch::store<arch::Scope::system>(&result->first, status.pack());
}

struct Shape {
  uint32_t drives = 1;
  uint32_t frames = 1;
  uint32_t ways = 4;
  uint32_t page_bytes = 4096;
  uint64_t pages = 8;  ///< of all drives, rounded up to the drives
  uint32_t queues_per_drive = 1;
  uint8_t mdts = 7;
  uint32_t depth = 64;
  bool stepped = false;  ///< the drives do what is due where they are asked to
};

/// Longer than any wait that ends by itself on a busy machine. XIO_TESTS_PATIENCE overrides it, in seconds, for runs
/// that must fail.
inline const xio::Duration patience = [] {
  const char* const seconds = std::getenv("XIO_TESTS_PATIENCE");
  return seconds != nullptr ? xio::Duration{std::strtoull(seconds, nullptr, 10) * 1000000000} : 60_s;
}();

/// The drives hold version 0.
class Rig {
 public:
  explicit Rig(const Shape& shape, const xio::host::Executor& executor = {},
               const xio::emulation::MemorySource& memory = {})
      : shape_(shape) {
    xio::emulation::NvmeConfig config;
    config.memory = memory;
    config.mdts = shape.mdts;
    if (shape.stepped) config.execution = xio::emulation::NvmeExecution::stepped;
    const uint64_t page_blocks = shape.page_bytes / 512;
    const uint64_t each = (shape.pages + shape.drives - 1) / shape.drives;
    config.namespaces[0].blocks = each * page_blocks;
    std::vector<xio::host::NvmeController*> all;
    for (uint32_t i = 0; i < shape.drives; ++i) {
      auto model = std::make_unique<xio::emulation::NvmeController>(config);
      models.push_back(model.get());
      models.back()->faults().reorder(4);
      controllers.push_back(std::make_unique<xio::host::NvmeController>(std::move(model)));
      all.push_back(controllers.back().get());
    }
    xio::host::CacheOptions options;
    options.page_bytes = shape.page_bytes;
    options.bytes = size_t{shape.frames} * shape.page_bytes;
    options.ways = shape.ways;
    options.queue.depth = shape.depth;
    options.queues_per_drive = shape.queues_per_drive;
    cache = std::make_unique<xio::host::NvmeCache>(xio::host::make_cache(executor, all, options));
    fill(0);
  }

  uint64_t elements() const { return cache->elements(8); }
  /// Makes the drives hold a version.
  void fill(uint64_t version) {
    std::vector<uint64_t> page(shape_.page_bytes / 8);
    for (uint64_t n = 0; n < cache->pages(); ++n) {
      for (size_t k = 0; k < page.size(); ++k) page[k] = content(n * page.size() + k, version);
      models[n % shape_.drives]->write_blocks(1, lba_of(n), shape_.page_bytes / 512, page.data());
    }
  }
  uint64_t lba_of(uint64_t page) const { return page / shape_.drives * (shape_.page_bytes / 512); }
  /// Elements of the drives that are not of the version.
  uint64_t differing(uint64_t version) {
    std::vector<uint64_t> page(shape_.page_bytes / 8);
    uint64_t count = 0;
    for (uint64_t n = 0; n < cache->pages(); ++n) {
      models[n % shape_.drives]->read_blocks(1, lba_of(n), shape_.page_bytes / 512, page.data());
      for (size_t k = 0; k < page.size(); ++k) count += page[k] != content(n * page.size() + k, version);
    }
    return count;
  }

  /// Commands of an opcode that the drives have fetched.
  uint64_t commands(uint8_t opcode) const {
    uint64_t sum = 0;
    for (const auto* model : models) {
      const auto queues = model->statistics().queues;
      for (size_t qid = 1; qid < queues.size(); ++qid) sum += queues[qid].by_opcode[opcode];
    }
    return sum;
  }

  /// As of protocol::ClaimWord::break_queue(): waits end, and claims are refused.
  void break_queue(uint32_t drive) {
    xio::QueueState* const state = cache->drives().queues()[drive].handle().state;
    __atomic_store_n(&state->broken, 1, __ATOMIC_RELEASE);
    __atomic_fetch_xor(&state->reserved, xio::protocol::broken_bit | xio::protocol::broken_bit >> 32, __ATOMIC_ACQ_REL);
  }

  template <class Kernel, class... Arguments>
  Result launch(uint32_t threads, Kernel kernel, const Arguments&... arguments) {
    Result result{};
    xio::simt::Grid grid;
    grid.threads_per_block = threads < 64 ? threads : 64;
    grid.blocks = threads / grid.threads_per_block;
    grid.wave_size = wave_size;
    xio::simt::launch(grid, kernel, cache->handle(), arguments..., &result);
    return result;
  }
  template <class Kernel>
  Result run(uint32_t threads, Kernel kernel, Work work, uint32_t steps, uint64_t version = 0,
             xio::Duration limit = patience) {
    return launch(threads, kernel, Job{elements(), version, steps, work, limit});
  }
  Result write_everything(uint32_t threads, uint64_t version, xio::Duration limit = patience) {
    return run(threads, write_back, Work::put, static_cast<uint32_t>((elements() + threads - 1) / threads), version,
               limit);
  }
  Result flush_all(uint32_t threads = 64, xio::Duration limit = patience) { return launch(threads, flush, limit); }

  std::vector<xio::emulation::NvmeController*> models;
  std::vector<std::unique_ptr<xio::host::NvmeController>> controllers;
  std::unique_ptr<xio::host::NvmeCache> cache;
  uint32_t wave_size = 64;

 private:
  Shape shape_;
};

}  // namespace cache_tests
