// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs kernels on the CPU: waves are threads, the lanes of a wave are fibres.
///
/// The kernel is the source that a GPU runs. It gets its indices from xio::arch (thread_index, block_index, lane, …)
/// and may use all wave operations, block_barrier() and pause().
///
/// @snippet host.cpp simt_launch
///
/// Differences from a GPU:
///  - Between two wave operations the lanes of a wave run one after the other, not in lockstep: lanes that communicate
///    need a collective (or pause()) in between, as on NVIDIA GPUs.
///  - A lane that waits in a loop must call xio::arch::pause(), as all waits of this library do.
///  - Lanes of a wave share thread-local variables, errno and the floating-point control words.
///  - The stack of a lane is small, see Grid::stack_bytes; an overflow faults immediately.
///
/// A kernel may throw. The first exception ends the launch: the other lanes exit at their next wave operation, and
/// launch() rethrows the exception. A collective or barrier that can never complete throws a host::Error that lists
/// which lanes wait for what.
///
/// In the GPU passes of a compiler a call of launch() is rejected with a message.

#include <xio/config.hpp>

#if XIO_HAS_SIMT

#include <memory>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/simt/fibre_wave.hpp>
#include <xio/host/simt/launch_state.hpp>
#include <xio/host/simt/thread_wave.hpp>

XIO_NAMESPACE_BEGIN

namespace simt {
/// @addtogroup host_launch
/// @{

namespace detail {

inline void check(const Grid& grid) {
  if (grid.wave_size != 1 && grid.wave_size != 8 && grid.wave_size != 32 && grid.wave_size != 64) {
    throw host::Error("a wave of " + std::to_string(grid.wave_size) + " lanes is not supported; use 1, 8, 32 or 64");
  }
  if (grid.blocks == 0 || grid.threads_per_block == 0) {
    throw host::Error("an empty grid cannot be launched; use at least one block of one thread");
  }
}

/// Runs wave `number` of each block assigned to `slot`, on the calling thread.
template <class Wave>
void run_waves(LaunchState& state, BlockSlot& slot, uint32_t number) noexcept {
  arch::WaveOps* const outer = arch::current_wave;
  try {
    Wave wave(state, slot, number);
    arch::current_wave = &wave;
    for (uint32_t block = slot.first_block(); block < state.grid.blocks; block = slot.advance()) wave.run(block);
  } catch (...) {
    // Only the construction of the wave can throw.
    state.fail(std::current_exception());
    slot.abandon_wave();
  }
  arch::current_wave = outer;
}

inline void run_waves(LaunchState& state, BlockSlot& slot, uint32_t number) noexcept {
  if (state.grid.wave_size == 1) {
    run_waves<ThreadWave>(state, slot, number);
  } else {
    run_waves<FibreWave>(state, slot, number);
  }
}

/// Runs the whole grid. The calling thread runs the last wave of the last block slot.
inline void run_grid(const Grid& grid, LaunchState::Kernel kernel, void* context) {
  check(grid);
  const uint32_t waves = grid.waves_per_block();
  const uint32_t fitting = grid.resident_waves / waves > 0 ? grid.resident_waves / waves : 1;
  const uint32_t slots = fitting < grid.blocks ? fitting : grid.blocks;

  LaunchState state(grid, kernel, context);
  std::vector<BlockSlot*> room;
  for (uint32_t i = 0; i < slots; ++i) room.push_back(&state.add_slot());

  const uint64_t all = uint64_t{slots} * waves;
  std::vector<std::thread> threads;
  threads.reserve(all - 1);
  uint64_t next = 0;
  try {
    for (; next + 1 < all; ++next) {
      threads.emplace_back([&state, &room, next, waves] {
        run_waves(state, *room[next / waves], static_cast<uint32_t>(next % waves));
        state.add_counts(arch::operation_counts);
      });
    }
  } catch (const std::system_error& error) {
    state.fail(std::make_exception_ptr(host::Error("cannot start thread " + std::to_string(next + 1) + " of " +
                                                   std::to_string(all) + " for the waves of a grid (" + error.what() +
                                                   "); lower Grid::resident_waves")));
    for (; next + 1 < all; ++next) room[next / waves]->abandon_wave();
  }
  run_waves(state, *room[(all - 1) / waves], static_cast<uint32_t>((all - 1) % waves));
  for (std::thread& thread : threads) thread.join();
  state.finish();
}

}  // namespace detail

/// Runs `kernel(arguments...)` on every thread of the grid and waits for completion.
///
/// The arguments are copied once per launch, as on a GPU, and passed as constants. The calling thread runs one wave
/// itself, so a launch of one wave starts no thread. The waves' arch::operation_counts are added to the caller's
/// counts.
/// @throws host::Error if the grid is invalid, a thread cannot be started, or the waves deadlock
/// @throws the first exception that a kernel threw
///
/// @snippet host.cpp simt_launch
template <class Kernel, class... Arguments>
void launch(const Grid& grid, Kernel&& kernel, Arguments&&... arguments) {
  auto body = [&kernel, copies = std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...)] {
    std::apply(kernel, copies);
  };
  using Body = decltype(body);
  detail::run_grid(grid, [](void* context) { (*static_cast<const Body*>(context))(); }, &body);
}

/// @}
}  // namespace simt

XIO_NAMESPACE_END

#else

#include <cstdint>

XIO_NAMESPACE_BEGIN

namespace simt {

namespace detail {
template <class...>
constexpr bool on_the_cpu = false;
}

struct Grid {
  template <class... Numbers>
  static Grid of_waves(Numbers...) {
    return {};
  }
  uint32_t blocks, threads_per_block, wave_size, resident_waves;
};

/// Refuses to compile.
template <class... Arguments>
void launch(const Grid&, Arguments&&...) {
  static_assert(
      detail::on_the_cpu<Arguments...>,
      "xio::simt runs kernels on the CPU, and this pass is for a GPU: call xio::host::launch(), which does both");
}

}  // namespace simt

XIO_NAMESPACE_END

#endif
