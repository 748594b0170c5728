// SPDX-License-Identifier: MIT

/// @file
/// @brief A graph on drives: breadth-first search over edges that are larger than the page cache.

#include <cstdio>
#include <vector>

#include <xio/cache.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/cache.hpp>
#include <xio/host/nvme/open.hpp>

using namespace xio;
constexpr uint32_t vertices = 6999, far = ~0u;
constexpr auto gpu = arch::Scope::agent;
constexpr uint32_t first_edge(uint32_t v) { return v / 7 * 28 + v % 7 * (v % 7 + 1) / 2; }
constexpr uint32_t target(uint32_t edge) { return ((edge + 1) * 0x9e3779b1u >> 7) % vertices; }
constexpr uint32_t edges = first_edge(vertices), page_of_edges = 8;  // before them: where each vertex's edges begin

XIO_BOUNDED_KERNEL(64) void visit(CacheHandle cache, uint32_t* levels, uint32_t level, uint32_t* found) {
  BlockArray<uint32_t> begins(cache, arch::block_index()), ends(cache, arch::block_index(), page_of_edges);
  const uint32_t threads = arch::grid_size() * arch::block_size();
  for (uint32_t v = arch::block_index() * arch::block_size() + arch::thread_index(); v < vertices; v += threads) {
    if (arch::load<gpu>(levels + v) != level) continue;
    for (uint32_t edge = begins[v], end = begins[v + 1]; edge < end; ++edge) {
      uint32_t none = far;
      if (arch::compare_exchange<gpu>(levels + ends[edge], none, level + 1)) arch::store<gpu>(found, 1u);
    }
  }
  if (!begins.status().is_ok() || !ends.status().is_ok()) arch::fetch_add<gpu>(found + 1, 1u);
}

int main() try {
  const host::Executor executor = host::default_executor();
  host::OpenedNvme drive = host::open_nvme("emulated");
  std::vector<uint32_t> graph(36 * 1024);  // 36 pages: what another program has left on the drive
  for (uint32_t v = 0; v <= vertices; ++v) graph[v] = first_edge(v);
  for (uint32_t edge = 0; edge < edges; ++edge) graph[page_of_edges * 1024 + edge] = target(edge);
  drive.emulated->write_blocks(1, 0, graph.size() / 128, graph.data());
  host::CacheOptions options;
  options.bytes = size_t{64} << 10;  // 16 pages
  const host::NvmeCache cache = host::make_cache(executor, {drive.controller.get()}, options);
  const host::DmaBuffer memory = executor.share(drive.controller->allocate(4 * (vertices + 2)));
  uint32_t *const found = memory.as<uint32_t>(), *const levels = found + 2, reached = 1, level = 0;
  for (uint32_t v = 0; v < vertices; ++v) levels[v] = v == 0 ? 0 : far;
  for (found[0] = 1; found[0] != 0 && found[1] == 0; ++level) {
    found[0] = 0;
    host::launch(executor, {4, 64}, visit, cache.handle(), executor.address(levels), level, executor.address(found));
  }
  for (uint32_t v = 1; v < vertices; ++v) reached += levels[v] != far;
  std::printf("%u of %u vertices reached, %u levels, %u errors\n", reached, vertices, level, found[1]);
  return found[1] == 0 && reached > vertices / 2 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
