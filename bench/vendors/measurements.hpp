// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Measurements of xio-vendors. This header uses nothing of the library: the counting and the timing parts are
/// compiled differently.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vendors {

/// Cost of operations that are posted together, averaged over many rounds. Each operation reads or writes one
/// contiguous buffer.
struct CountedPosts {
  uint32_t operations = 1;         ///< posted together: 1 by a thread, else one per lane of a wave
  double stores16 = 0;             ///< store instructions of 16 bytes: entries
  double stores8 = 0;              ///< store instructions of 8 bytes: entries and side tables
  double stores4 = 0;              ///< store instructions of 4 bytes: doorbell records
  double releases = 0;             ///< releases; on a GPU each is a cache write-back
  double store_waits = 0;          ///< waits for stores, without a write-back
  double atomics = 0;              ///< read-modify-write operations, including those of polling
  double doorbells = 0;            ///< register stores of the send or submission queue
  double doorbell_bytes = 0;       ///< width of a doorbell
  double completions = 0;          ///< entries that the device wrote
  double acknowledgements = 0;     ///< stores that release completion entries to the device
  double acknowledged_bytes = 0;   ///< bytes of these stores
  double bytes_per_operation = 0;  ///< see pcie_bytes()
};

/// PCIe bytes of one operation, without its data and packet headers, each counted once, whichever side transfers it:
///
///   (16 stores16 + 8 stores8 + 4 stores4 + doorbells * width
///    + completions * bytes of a completion entry + acknowledged bytes) / operations
///
/// The first line is entry, side table, record and doorbell of all lanes.
///
/// With rings in GPU memory, the device fetches entry, table and record from there, and writes completions there; with
/// rings in host memory, the GPU's stores also cross PCIe. A device can fetch more than was stored, up to the whole
/// slot of an entry.
double pcie_bytes(const CountedPosts& posts, double entry_stores, double narrow_stores, uint32_t completion_bytes);

/// One kind of queue, counted.
struct Counted {
  std::string name;
  bool is_rdma = false;
  uint32_t entry_bytes = 0;       ///< bytes stored per operation
  uint32_t slot_bytes = 0;        ///< distance of consecutive entries in the ring
  uint32_t completion_bytes = 0;  ///< size of a completion entry
  CountedPosts single;
  CountedPosts batch;
};

/// Runs every kind of queue on its model. Throws std::runtime_error if a model reports a violation or an operation
/// fails.
std::vector<Counted> count_all();

constexpr uint32_t batch_size = 64;  ///< operations of a batch: one per lane of a wave of 64

/// Cost of one call on this CPU: the median of the repetitions.
struct CallCost {
  double nanoseconds = 0;
  std::optional<double> instructions;  ///< by the hardware counter; empty if it is unavailable
};

/// One kind of queue, timed. Calls are timed in series of 64.
struct Timed {
  std::string name;
  CallCost post_unchecked;  ///< policy Unchecked
  CallCost post_checked;    ///< Policy<>: bounds and arguments checked
  CallCost poll;            ///< poll that consumes one completion
};

/// Runs every kind of queue on its model, `repetitions` times in turn, so that other load of the machine affects all
/// alike.
std::vector<Timed> time_all(uint32_t repetitions);

}  // namespace vendors
