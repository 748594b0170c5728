// SPDX-License-Identifier: MIT

/// @file
/// @brief The RDMA kernels of the scenarios, for each vendor.

#include <each_vendor.hpp>
#include <scenarios/kernels/kernel.hpp>
#include <scenarios/kernels/rdma_by_lane.hpp>
#include <scenarios/kernels/rdma_called.hpp>
#include <scenarios/kernels/rdma_reused.hpp>

using scenarios::has_atomics;
using scenarios::IonicCollapsed;
using scenarios::Mlx5Collapsed;
using scenarios::RdmaJob;
using xio::Sharing;

#define KERNEL(name, ...) SCENARIO(RdmaJob, name, __VA_ARGS__)
#define VENDOR(name, Vendor)                                                                           \
  KERNEL(name##_thread, put_get<Vendor, Sharing::thread, xio::Policy<>, has_atomics<Vendor>>)          \
  KERNEL(name##_wave, put_get<Vendor, Sharing::wave, xio::Policy<>, has_atomics<Vendor>>)              \
  KERNEL(name##_grid, put_get<Vendor, Sharing::grid, xio::Policy<>, has_atomics<Vendor>>)              \
  KERNEL(name##_grid_puts, puts<Vendor, Sharing::grid>)                                                \
  KERNEL(name##_quiet, put_quiet<Vendor>)                                                              \
  KERNEL(name##_messages, send_receive<Vendor, Sharing::grid>)

XIO_EACH_VENDOR(VENDOR)

// Policies have the same effect for all vendors: not every combination is tested.
KERNEL(mlx5_wave_deferred, put_get<xio::mlx5::Vendor<>, Sharing::wave, xio::Policy<xio::Deferred<4>>, true>)
KERNEL(mlx5_grid_on_gpu, put_get<xio::mlx5::Vendor<>, Sharing::grid, xio::Policy<xio::InGpuMemory>, true>)
KERNEL(mlx5_wave_on_gpu, put_get<xio::mlx5::Vendor<>, Sharing::wave, xio::Policy<xio::InGpuMemory>, true>)
KERNEL(mlx5_thread_puts, puts<xio::mlx5::Vendor<>, Sharing::thread>)
KERNEL(mlx5_wave_puts, puts<xio::mlx5::Vendor<>, Sharing::wave>)
KERNEL(mlx5_wave_apart, apart<xio::mlx5::Vendor<>>)
KERNEL(bnxt_batches, batches<xio::bnxt::Vendor<>>)
KERNEL(mlx5_signals, signals<xio::mlx5::Vendor<>>)
KERNEL(mlx5_quiet_unsignaled, quiet_unsignaled<xio::mlx5::Vendor<>>)
KERNEL(bnxt_quiet_unsignaled, quiet_unsignaled<xio::bnxt::Vendor<>>)
KERNEL(mlx5_receives_late, receive_late<xio::mlx5::Vendor<>, Sharing::grid>)
KERNEL(mlx5_block_receives_late, receive_late<xio::mlx5::Vendor<>, Sharing::block>)
KERNEL(mlx5_block_others, others<xio::mlx5::Vendor<>, Sharing::block>)
KERNEL(mlx5_grid_others, others<xio::mlx5::Vendor<>, Sharing::grid>)
KERNEL(ionic_grid_others, others<xio::ionic::Vendor<>, Sharing::grid>)
KERNEL(mlx5_posts, posts<xio::mlx5::Vendor<>, Sharing::grid, xio::Policy<>>)
KERNEL(mlx5_deferred_posts, posts<xio::mlx5::Vendor<>, Sharing::grid, xio::Policy<xio::Deferred<4>>>)
KERNEL(mlx5_messages_polled, send_receive<xio::mlx5::Vendor<>, Sharing::grid, true>)
KERNEL(bnxt_messages_polled, send_receive<xio::bnxt::Vendor<>, Sharing::grid, true>)
KERNEL(bnxt_block_messages, send_receive<xio::bnxt::Vendor<>, Sharing::block>)
KERNEL(bnxt_block_messages_polled, send_receive<xio::bnxt::Vendor<>, Sharing::block, true>)
KERNEL(mlx5_wave_messages, send_receive<xio::mlx5::Vendor<>, Sharing::wave>)
KERNEL(bnxt_thread_messages, send_receive<xio::bnxt::Vendor<>, Sharing::thread>)
KERNEL(rxe_wave_messages_polled, send_receive<xio::rxe::Vendor<>, Sharing::wave, true>)
KERNEL(ionic_thread_messages_polled, send_receive<xio::ionic::Vendor<>, Sharing::thread, true>)
KERNEL(bnxt_block, put_get<xio::bnxt::Vendor<>, Sharing::block, xio::Policy<>, true>)
KERNEL(ionic_grid_deferred, put_get<xio::ionic::Vendor<>, Sharing::grid, xio::Policy<xio::Deferred<4>>, true>)
KERNEL(mlx5_collapsed_thread, put_get<xio::mlx5::Vendor<Mlx5Collapsed>, Sharing::thread, xio::Policy<>, true>)
KERNEL(mlx5_collapsed_wave, put_get<xio::mlx5::Vendor<Mlx5Collapsed>, Sharing::wave, xio::Policy<>, true>)
KERNEL(mlx5_collapsed_grid, put_get<xio::mlx5::Vendor<Mlx5Collapsed>, Sharing::grid, xio::Policy<>, true>)
KERNEL(ionic_collapsed_wave, put_get<xio::ionic::Vendor<IonicCollapsed>, Sharing::wave, xio::Policy<>, true>)
KERNEL(ionic_collapsed_grid, put_get<xio::ionic::Vendor<IonicCollapsed>, Sharing::grid, xio::Policy<>, true>)
KERNEL(rxe_grid_through, put_get<xio::rxe::Vendor<>, Sharing::grid, xio::Policy<xio::WriteThrough>, true>)
KERNEL(mlx5_several, several<xio::mlx5::Vendor<>, Sharing::grid>)
KERNEL(bnxt_several, several<xio::bnxt::Vendor<>, Sharing::block>)
KERNEL(rxe_several, several<xio::rxe::Vendor<>, Sharing::wave>)
KERNEL(bnxt_sessions, sessions<xio::bnxt::Vendor<>, Sharing::thread>)
KERNEL(ionic_sessions, sessions<xio::ionic::Vendor<>, Sharing::wave>)
KERNEL(mlx5_messages_immediate, immediates<xio::mlx5::Vendor<>, Sharing::grid>)
KERNEL(ernic_messages_immediate, immediates<xio::ernic::Vendor, Sharing::grid>)
KERNEL(mlx5_thread_messages_immediate, immediates<xio::mlx5::Vendor<>, Sharing::thread>)
KERNEL(bnxt_wave_messages_immediate, immediates<xio::bnxt::Vendor<>, Sharing::wave>)
KERNEL(mlx5_block_messages_immediate, immediates<xio::mlx5::Vendor<>, Sharing::block>)
KERNEL(mlx5_thread_every_call, every_call<xio::mlx5::Vendor<>, Sharing::thread>)
KERNEL(mlx5_wave_every_call, every_call<xio::mlx5::Vendor<>, Sharing::wave>)
KERNEL(bnxt_block_every_call, every_call<xio::bnxt::Vendor<>, Sharing::block>)
KERNEL(ionic_grid_every_call, every_call<xio::ionic::Vendor<>, Sharing::grid>)
KERNEL(mlx5_wave_by_lane, by_lane<xio::mlx5::Vendor<>, Sharing::wave>)
KERNEL(mlx5_grid_by_lane, by_lane<xio::mlx5::Vendor<>, Sharing::grid>)
KERNEL(bnxt_block_by_lane, by_lane<xio::bnxt::Vendor<>, Sharing::block>)
KERNEL(ernic_signals, signals<xio::ernic::Vendor, false>)
using Placed = xio::Policy<xio::Placed<xio::Memory::host, xio::Memory::device>>;
KERNEL(mlx5_wave_placed, put_get<xio::mlx5::Vendor<>, Sharing::wave, Placed, true>)
KERNEL(bnxt_thread_loaded, loaded<xio::bnxt::Vendor<>, xio::Policy<xio::Unchecked>>)
KERNEL(bnxt_thread_loaded_through, loaded<xio::bnxt::Vendor<>, xio::Policy<xio::Unchecked, xio::WriteThrough>>)
KERNEL(rxe_grid_zeroed_through, zeroed<xio::rxe::Vendor<>, xio::Policy<xio::WriteThrough>>)
KERNEL(mlx5_thread_flushed, flushed<xio::mlx5::Vendor<>>)
KERNEL(mlx5_wave_placed_quiet, placed_quiet<xio::mlx5::Vendor<>, Sharing::wave>)
KERNEL(bnxt_grid_placed_quiet, placed_quiet<xio::bnxt::Vendor<>, Sharing::grid>)
KERNEL(rxe_grid_placed, put_get<xio::rxe::Vendor<>, Sharing::grid, Placed, true>)

#undef VENDOR
#undef KERNEL
