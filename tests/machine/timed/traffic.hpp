// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the memory system of a GPU is busy with, and how long one more access takes.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <machine/timed/latencies.hpp>

namespace machine::timed {

enum class Reach : uint8_t { block, gpu, system };

/// Times when what a thread has issued is done; those of stores: when they left the multiprocessor.
struct Outstanding {
  double near_store = -1e9;  ///< to this GPU's memory
  double far_store = -1e9;   ///< to host memory
  double loads = -1e9;
};

/// One lane's part of an instruction.
struct Access {
  const void* instruction;
  uint64_t address;
  uint32_t warp;
  uint32_t block;
  bool far;  ///< in host memory
  double at;
};

/// Calls come in the order of their times, as far as others can notice.
class Traffic {
 public:
  explicit Traffic(const Latencies& latencies) : latencies_(latencies) {}
  void reset(uint32_t warps, uint32_t blocks);

  /// Each returns when the access is done; a store's has then left the multiprocessor.
  /// A cached load may be served by the first-level cache; a constant one also by what was loaded before an acquire.
  double load(const Access& access, bool cached, bool constant, bool& from_cache);
  double store(const Access& access);
  double atomic(const Access& access);
  /// When a fence ends that a thread of a warp issues at `at`.
  double fence(uint32_t warp, const Outstanding& outstanding, Reach reach, double at);
  /// An acquire: what the block's multiprocessor has cached is old.
  void invalidate(uint32_t block) { ++blocks_[block].epoch; }

 private:
  /// Lanes that issue one instruction within this time do it together.
  static constexpr double together_ns = 6;
  struct Warp {
    const void* instruction = nullptr;  ///< of its last load or store
    double at = 0;
    double ready = 0;
    uint64_t address = 0;
    bool repeats(const Access& access) const {
      return instruction == access.instruction && at < access.at + together_ns && access.at < at + together_ns;
    }
  };
  struct Block {
    uint64_t epoch = 1;  ///< number of acquires
    double path = 0;     ///< until when its path to memory is busy
  };
  double behind(uint64_t what, double at, double each);

  const Latencies& latencies_;
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  std::unordered_map<uint64_t, double> busy_;      ///< lines and words of the L2, until when
  std::unordered_map<uint64_t, uint64_t> cached_;  ///< epochs, by line and block
  struct Fence {
    uint32_t warp;
    double end;
  };
  std::vector<Fence> fences_[2];  ///< in progress: of the GPU's scope, of system scope; one for each warp
  double far_path_ = 0;
};

}  // namespace machine::timed
