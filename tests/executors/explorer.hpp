// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The rows of the table in shapes that are small enough for the explorer.

#include <string>

#include <model/explorer.hpp>
#include <scenarios/cases.hpp>

namespace executors {

using scenarios::Case;

/// A row as the explorer runs it.
struct Small {
  Case row;  ///< threads, lanes, depth, rounds, count: of this shape
  uint32_t wave = 1;
  std::string why;  ///< not empty: the row is not run

  uint32_t waves_in_block() const { return row.threads / wave; }
  uint32_t waves() const { return row.blocks * waves_in_block(); }
  uint32_t threads() const { return row.blocks * row.threads; }
  /// Threads that take part.
  uint32_t lanes() const { return row.lanes; }
  model::WavePlace place(uint32_t number) const {
    model::WavePlace place;
    place.lanes = wave;
    place.block = number / waves_in_block();
    place.first_thread = number % waves_in_block() * wave;
    place.block_threads = row.threads;
    place.blocks = row.blocks;
    return place;
  }
  /// Rows that are the same in this shape have the same text.
  std::string text() const {
    std::string all = row.kernel_name();
    for (const uint32_t number :
         {row.blocks, row.threads, row.lanes, row.depth, row.rounds, row.count, row.features, wave})
      all += " " + std::to_string(number);
    return all;
  }
};

constexpr uint32_t most_threads = 4;

/// Explores a kernel's row: result of a Program P for it.
template <class P>
model::Result explore(const Small& small, const model::Limits& limits) {
  model::Explorer explorer;
  return explorer.explore([&](model::Explorer& self) { return std::make_unique<P>(self, small); }, limits);
}

/// Whether the explorer has such a kernel of NVMe.
bool has_kernel(const std::string& name);
/// Explores a row of NVMe.
model::Result explore_nvme(const Small& small, const model::Limits& limits);

}  // namespace executors
