// SPDX-License-Identifier: MIT

/// @file
/// @brief The NVMe kernels of the scenarios that the explorer runs, too.

#include <scenarios/kernels/kernel.hpp>
#include <scenarios/kernels/nvme_buffers.hpp>
#include <scenarios/kernels/nvme_every.hpp>
#include <scenarios/kernels/nvme_others.hpp>

using scenarios::NvmeJob;
using xio::Sharing;

#define KERNEL(name, ...) SCENARIO(NvmeJob, name, __VA_ARGS__)

KERNEL(thread, write_read<Sharing::thread, xio::Policy<>>)
KERNEL(wave, write_read<Sharing::wave, xio::Policy<>>)
KERNEL(grid, write_read<Sharing::grid, xio::Policy<>>)
KERNEL(thread_session, session<Sharing::thread, xio::Policy<>>)
KERNEL(wave_session, session<Sharing::wave, xio::Policy<>>)
KERNEL(grid_tokens, many_tokens<Sharing::grid>)
KERNEL(grid_unwaited, unwaited<Sharing::grid>)
KERNEL(grid_others, others<Sharing::grid>)
KERNEL(wave_tail, tail)
KERNEL(thread_every_call, every_call<Sharing::thread>)
// In less registers clang 19 loads scratch memory of gfx90a that no lane stored.
SCENARIO_OF(64, NvmeJob, wave_every_call, every_call<Sharing::wave>)
KERNEL(block_every_call, every_call<Sharing::block>)
KERNEL(grid_every_call, every_call<Sharing::grid>)

#undef KERNEL
