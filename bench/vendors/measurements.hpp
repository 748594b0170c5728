// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What xio-vendors measures. Nothing of the library is named here: the parts that count and those that take the
/// time are compiled differently.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vendors {

/// What operations that are posted together cost, on the average of many rounds. A read or write of one piece of memory
/// each.
struct CountedPosts {
  uint32_t operations = 1;         ///< posted together: 1 by a thread, else one by each lane of a wave
  double stores16 = 0;             ///< store instructions of 16 bytes: entries
  double stores8 = 0;              ///< of 8 bytes: entries and side tables
  double stores4 = 0;              ///< of 4 bytes: doorbell records
  double releases = 0;             ///< a cache write-back each, on a GPU
  double store_waits = 0;          ///< waits for stores, without a write-back
  double atomics = 0;              ///< read-modify-write operations, those of taking the completions included
  double doorbells = 0;            ///< register stores of the send or submission queue
  double doorbell_bytes = 0;       ///< width of one
  double completions = 0;          ///< entries that the device wrote
  double acknowledgements = 0;     ///< stores that tell the device how far its completions were read
  double acknowledged_bytes = 0;   ///< of them
  double bytes_per_operation = 0;  ///< see pcie_bytes()
};

/// Bytes that one operation puts on PCIe beside its data and the packets' headers, each counted once, whoever moves it:
///
///   (16 stores16 + 8 stores8 + 4 stores4 + doorbells * width          of all lanes: entry, side table, record,
///   doorbell
///    + completions * bytes of a completion entry + acknowledged bytes) / operations
///
/// Where rings lie in the GPU's memory the device fetches entry, table and record, and writes completions there; in
/// host memory the GPU's stores cross PCIe too. A device can fetch more than was stored, up to the whole slot of an
/// entry.
double pcie_bytes(const CountedPosts& posts, double entry_stores, double narrow_stores, uint32_t completion_bytes);

/// One kind of queue, counted.
struct Counted {
  std::string name;
  bool is_rdma = false;
  uint32_t entry_bytes = 0;       ///< stored for one operation
  uint32_t slot_bytes = 0;        ///< from one entry to the next in the ring
  uint32_t completion_bytes = 0;  ///< of a completion entry
  CountedPosts single;
  CountedPosts batch;
};

/// Runs every kind of queue on its model. Throws std::runtime_error where a model complains or an operation fails.
std::vector<Counted> count_all();

constexpr uint32_t batch_size = 64;  ///< operations of a batch: one for each lane of a wave of 64

/// One call on this CPU, the median of the repetitions.
struct CallCost {
  double nanoseconds = 0;
  std::optional<double> instructions;  ///< by the hardware's counter; empty where it cannot be had
};

/// One kind of queue, timed. Each call is one of 64 in a row.
struct Timed {
  std::string name;
  CallCost post_unchecked;  ///< policy Unchecked
  CallCost post_checked;    ///< Policy<>: bounds and arguments checked
  CallCost poll;            ///< that takes one completion
};

/// Runs every kind of queue on its model, in turns, `repetitions` times: what the machine does meanwhile meets all
/// alike.
std::vector<Timed> time_all(uint32_t repetitions);

}  // namespace vendors
