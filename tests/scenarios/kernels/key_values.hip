// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernels of the scenarios that store values under keys.

#include <scenarios/kernels/kernel.hpp>
#include <scenarios/kernels/key_values.hpp>

using scenarios::NvmeJob;
using xio::Sharing;

#define KERNEL(name, ...) SCENARIO(NvmeJob, name, __VA_ARGS__)

KERNEL(keys_thread, keys<Sharing::thread>)
KERNEL(keys_wave, keys<Sharing::wave>)
KERNEL(keys_block, keys<Sharing::block>)
KERNEL(keys_grid, keys<Sharing::grid>)
KERNEL(keys_grid_through, keys<Sharing::grid, xio::Policy<xio::WriteThrough>>)

#undef KERNEL
