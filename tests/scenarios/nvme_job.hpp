// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The memory of a kernel that uses NVMe queues, whatever reaches their controllers.

#include <algorithm>
#include <vector>

#include <scenarios/arena.hpp>
#include <scenarios/launch.hpp>

namespace scenarios {

/// Threads of a workgroup, of the whole grid that take part, and waves.
struct Shape {
  Shape(const Gpu& gpu, const Case& one)
      : threads(one.threads != 0 ? one.threads : gpu.wave_size()),
        lanes(one.lanes != 0 ? one.lanes : one.blocks * threads),
        waves(one.blocks * ((threads + gpu.wave_size() - 1) / gpu.wave_size())) {}
  uint32_t threads;
  uint32_t lanes;
  uint32_t waves;
};

/// Whether commands are longer than a page.
inline bool is_long(const Case& one) { return (one.features & (small_pages | page_lists)) != 0; }

/// Bytes of data of a kernel.
inline size_t data_bytes(const Case& one, uint32_t lanes) {
  const uint32_t each = is_long(one) ? one.count * block_bytes : thread_bytes;
  const uint32_t pieces = (one.features & pairs) != 0 ? one.count : lanes;
  return size_t{each} * std::max(pieces, lanes) + 4096;
}

/// The job of a kernel whose data lies at `bus` for its controllers.
inline NvmeJob nvme_job(Arena& arena, const Gpu& gpu, const Case& one, uint64_t seed, const Shape& shape,
                        const std::vector<xio::nvme::QueueHandle>& handles, uint64_t* data, uint64_t bus) {
  const MemoryKind kind = data_kind(gpu, one, seed);
  if ((one.features & filled) != 0) fill_blocks(data, shape.lanes);
  NvmeJob job{};
  job.report = arena.make<Report>(1, MemoryKind::local, "report");
  auto* const own = arena.make<xio::nvme::QueueHandle>(handles.size(), MemoryKind::local, "handles");
  std::copy(handles.begin(), handles.end(), own);
  job.queues = own;
  job.bus = bus;
  job.data = data;
  job.lanes = shape.lanes;
  job.rounds = one.rounds;
  job.count = one.count;
  job.words = 6;
  job.patience_ns = gpu.patience_ns();
  const MemoryKind told_in = (one.features & watched) != 0 || seed % 2 == 0 ? kind : MemoryKind::local;
  job.notifications = arena.make<xio::Notification>(3 * shape.lanes, told_in, "notifications");
  job.kept = arena.make<xio::KeptResult>(size_t{shape.lanes} * one.rounds, told_in, "kept results");
  job.answers = arena.make<Answer>(shape.lanes, kind, "answers");
  job.turns = arena.make<Turn>(shape.lanes, MemoryKind::local, "turns");
  if (one.count != 0) {
    const uint32_t each = (one.features & pairs) != 0 ? one.count : one.count * shape.waves;
    auto* const list = arena.make<xio::nvme::Piece>(2 * each, MemoryKind::local, "pieces");
    for (uint32_t i = 0; i < each; ++i) {
      const uint32_t place = (one.features & pairs) != 0 ? i : i % shape.lanes;
      list[i] = {i, bus + place * thread_bytes, 1};
      list[each + i] = {i, bus + place * thread_bytes + thread_bytes / 2, 1};
    }
    job.pieces = list;
  }
  return job;
}

}  // namespace scenarios
