// SPDX-License-Identifier: MIT

/// @file
/// @brief The NVMe kernels of the scenarios.

#include <scenarios/kernels/nvme_buffers.hpp>
#include <scenarios/kernels/nvme_every.hpp>
#include <scenarios/kernels/nvme_failures.hpp>
#include <scenarios/kernels/nvme_others.hpp>
#include <scenarios/kernels/nvme_small.hip>
#include <scenarios/kernels/nvme_told.hpp>

namespace {

/// The ringing wave hands over to others as soon as more entries are published.
template <class Base>
struct Hasty : Base {
  static constexpr uint32_t most_doorbells = 1;
};

}  // namespace

#define KERNEL(name, ...) SCENARIO(NvmeJob, name, __VA_ARGS__)

KERNEL(thread_deferred, write_read<Sharing::thread, xio::Policy<xio::Deferred<4>>>)
KERNEL(wave_through, write_read<Sharing::wave, xio::Policy<xio::WriteThrough>>)
KERNEL(wave_shadow, write_read<Sharing::wave, xio::Policy<>, xio::ShadowDoorbell>)
KERNEL(wave_placed, write_read<Sharing::wave, xio::Policy<xio::Placed<xio::Memory::host, xio::Memory::device>>>)
KERNEL(thread_gives_up, gives_up<Sharing::thread>)
KERNEL(wave_gives_up, gives_up<Sharing::wave>)
KERNEL(grid_gives_up, gives_up<Sharing::grid>)
KERNEL(block, write_read<Sharing::block, xio::Policy<>>)
KERNEL(grid_deferred, write_read<Sharing::grid, xio::Policy<xio::Deferred<8>>>)
KERNEL(grid_parts, in_parts<xio::Policy<xio::Deferred<4096>>>)
KERNEL(grid_through, write_read<Sharing::grid, xio::Policy<xio::WriteThrough>>)
KERNEL(grid_on_gpu, write_read<Sharing::grid, xio::Policy<xio::InGpuMemory>>)
KERNEL(grid_shadow, write_read<Sharing::grid, xio::Policy<>, xio::ShadowDoorbell>)
KERNEL(wave_tokens, many_tokens<Sharing::wave>)
KERNEL(wave_batches, batches<xio::Policy<>>)
KERNEL(wave_batches_through, batches<xio::Policy<xio::WriteThrough>>)
KERNEL(grid_transfers, transfers)
KERNEL(grid_transfers_failing, transfers_failing)
KERNEL(thread_unwaited, unwaited<Sharing::thread>)
KERNEL(grid_posts, posts<Sharing::grid, Hasty<xio::Policy<>>>)
KERNEL(grid_deferred_posts, posts<Sharing::grid, xio::Policy<xio::Deferred<4>>>)
KERNEL(grid_hasty_posts, posts<Sharing::grid, Hasty<xio::Policy<xio::Deferred<4>>>>)
KERNEL(grid_shadow_posts, posts<Sharing::grid, xio::Policy<>, xio::ShadowDoorbell>)
KERNEL(block_hasty_posts, posts<Sharing::block, Hasty<xio::Policy<>>>)
KERNEL(block_posts, posts<Sharing::block, xio::Policy<>>)
KERNEL(thread_notified, notified<Sharing::thread>)
KERNEL(grid_notified, notified<Sharing::grid>)
KERNEL(grid_forgotten, forgotten)
KERNEL(grid_failing, failing<Sharing::grid>)
KERNEL(block_failing, failing<Sharing::block>)
KERNEL(block_others, others<Sharing::block>)
KERNEL(grid_lost, lost)
KERNEL(grid_watched, watched<Sharing::grid, false>)
KERNEL(block_watched, watched<Sharing::block, false>)
KERNEL(grid_taken, watched<Sharing::grid, true>)
KERNEL(thread_reads, reads<Sharing::thread>)
KERNEL(wave_reads, reads<Sharing::wave>)
KERNEL(grid_reads, reads<Sharing::grid>)
KERNEL(thread_processed, processed)
KERNEL(thread_answered, answered<Sharing::thread>)
KERNEL(grid_answered, answered<Sharing::grid>)
KERNEL(grid_kept_failing, kept_failing<Sharing::grid>)
KERNEL(grid_long, long_commands<xio::Policy<>>)
KERNEL(grid_long_through, long_commands<xio::Policy<xio::WriteThrough>>)
KERNEL(grid_long_failing, failing_early<Sharing::grid>)
KERNEL(block_long_failing, failing_early<Sharing::block>)
KERNEL(wave_apart, apart<Sharing::wave>)
KERNEL(grid_apart, apart<Sharing::grid>)
KERNEL(grid_striped, striped<Sharing::grid>)
KERNEL(block_striped, striped<Sharing::block>)
KERNEL(block_handed, handed<xio::Policy<>, scenarios::BlockBarrier>)
KERNEL(block_handed_through, handed<xio::Policy<xio::WriteThrough>, scenarios::BlockBarrier>)
KERNEL(block_synced, handed<xio::Policy<>, scenarios::SyncThreads>)
KERNEL(thread_loaded, loaded<Sharing::thread, xio::Policy<xio::Unchecked>>)
KERNEL(thread_loaded_through, loaded<Sharing::thread, xio::Policy<xio::Unchecked, xio::WriteThrough>>)
KERNEL(grid_zeroed, zeroed<xio::Policy<>>)
KERNEL(grid_zeroed_through, zeroed<xio::Policy<xio::WriteThrough>>)
KERNEL(wave_by_lane, by_lane<Sharing::wave, xio::Policy<>>)
KERNEL(block_by_lane, by_lane<Sharing::block, xio::Policy<>>)
KERNEL(grid_by_lane, by_lane<Sharing::grid, xio::Policy<>>)
KERNEL(grid_by_lane_deferred, by_lane<Sharing::grid, xio::Policy<xio::Deferred<8>>>)
KERNEL(thread_mixed, mixed<Sharing::thread>)
KERNEL(thread_untold, untold<Sharing::thread>)
KERNEL(grid_untold, untold<Sharing::grid>)

// On AMD GPUs a kernel has the registers of the functions that it calls: here more than 1024 threads can have.
SCENARIO_OF(256, NvmeJob, grid_called, called<Sharing::grid>)

#undef KERNEL
