// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Drives with known content, and a cache over them.

#include <memory>
#include <vector>

#include "cache/kernels.hpp"

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/cache.hpp>
#include <xio/host/nvme/controller.hpp>

namespace cache_tests {

struct Shape {
  uint32_t frames = 1;
  uint32_t ways = 4;
  uint32_t page_bytes = 4096;
  uint32_t drives = 1;
  uint64_t pages = 8;  ///< of all drives, rounded up to the drives
  uint32_t depth = 64;
  uint32_t queues_per_drive = 1;
  uint8_t mdts = 7;
  bool gpu_memory = false;
  bool stepped = false;  ///< the drives do what is due where they are asked to
};

/// They hold version 0.
class Drives {
 public:
  Drives(const Shape& shape, const xio::emulation::MemorySource& memory, const xio::host::Executor& executor)
      : shape_(shape) {
    xio::emulation::NvmeConfig config;
    config.memory = memory;
    config.mdts = shape.mdts;
    if (shape.stepped) config.execution = xio::emulation::NvmeExecution::stepped;
    config.namespaces[0].blocks = (shape.pages + shape.drives - 1) / shape.drives * page_blocks();
    std::vector<xio::host::NvmeController*> all;
    for (uint32_t i = 0; i < shape.drives; ++i) {
      auto model = std::make_unique<xio::emulation::NvmeController>(config);
      models.push_back(model.get());
      controllers.push_back(std::make_unique<xio::host::NvmeController>(std::move(model)));
      all.push_back(controllers.back().get());
    }
    xio::host::CacheOptions options;
    options.page_bytes = shape.page_bytes;
    options.bytes = size_t{shape.frames} * shape.page_bytes;
    options.ways = shape.ways;
    options.queue.depth = shape.depth;
    options.queues_per_drive = shape.queues_per_drive;
    options.gpu_memory = shape.gpu_memory;
    cache = std::make_unique<xio::host::NvmeCache>(xio::host::make_cache(executor, all, options));
    fill(0);
  }

  uint64_t elements() const { return cache->elements(8); }
  /// Makes the drives hold a version.
  void fill(uint64_t version) {
    std::vector<uint64_t> page(shape_.page_bytes / 8);
    for (uint64_t n = 0; n < cache->pages(); ++n) {
      for (size_t k = 0; k < page.size(); ++k) page[k] = content(n * page.size() + k, version);
      models[n % shape_.drives]->write_blocks(1, lba_of(n), page_blocks(), page.data());
    }
  }
  uint64_t lba_of(uint64_t page) const { return page / shape_.drives * page_blocks(); }
  /// Elements of the drives that are not of the version.
  uint64_t differing(uint64_t version) {
    std::vector<uint64_t> page(shape_.page_bytes / 8);
    uint64_t count = 0;
    for (uint64_t n = 0; n < cache->pages(); ++n) {
      models[n % shape_.drives]->read_blocks(1, lba_of(n), page_blocks(), page.data());
      for (size_t k = 0; k < page.size(); ++k) count += page[k] != content(n * page.size() + k, version);
    }
    return count;
  }

  std::vector<xio::emulation::NvmeController*> models;
  std::vector<std::unique_ptr<xio::host::NvmeController>> controllers;
  std::unique_ptr<xio::host::NvmeCache> cache;

 private:
  uint64_t page_blocks() const { return shape_.page_bytes / 512; }

  Shape shape_;
};

}  // namespace cache_tests
