// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Emulated NICs, one per rank, with a queue pair between each two: the set-up of the all-to-all example.

#include <cstring>
#include <memory>
#include <vector>

#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/error.hpp>

namespace example {

template <class Kit>
class Mesh {
 public:
  /// A rank's memory: a block to send to each rank, the number 1, a block received from each rank, a signal word from
  /// each.
  Mesh(uint32_t ranks, uint32_t bytes) : ranks_(ranks), bytes_(bytes), rows_(ranks * ranks) {
    if (bytes % 8 != 0 || bytes > most_bytes) throw xio::host::Error("a block has up to 65536 bytes, in eights");
    for (uint32_t i = 0; i < ranks; ++i) {
      memory_.emplace_back(blocks() + 8 + blocks() + 8 * ranks);
      keys_.push_back(fabric_.keys().add(memory_[i].data(), memory_[i].size()));
      for (uint64_t at = 0; at < blocks(); ++at) memory_[i][at] = content(i, at);
      const uint64_t one = 1;
      std::memcpy(&memory_[i][blocks()], &one, 8);
      nics_.push_back(std::make_unique<xio::emulation::RdmaNic>());
    }
    for (uint32_t i = 0; i < ranks * ranks; ++i) {
      xio::emulation::RdmaQueueConfig config = Kit::config();
      config.qpn = 0x100 + i;
      if (config.handle != 0) config.handle = 0x1000 + i;
      queues_.push_back(std::make_unique<xio::emulation::RdmaQueuePair<Kit>>(fabric_, config));
      nics_[i / ranks]->add(queues_[i]->model());
    }
    for (uint32_t from = 0; from < ranks; ++from) {
      for (uint32_t to = 0; to < ranks; ++to) {
        auto& queue = *queues_[from * ranks + to];
        queue.model().connect(queues_[to * ranks + from]->config().qpn);
        const uint64_t receives = blocks() + 8;
        rows_[from * ranks + to] = {
            queue.handle(),
            {reinterpret_cast<uint64_t>(&memory_[to][receives]), memory_[to].size() - receives, keys_[to]}};
      }
    }
    for (auto& nic : nics_) nic->start();
  }
  ~Mesh() {
    for (auto& nic : nics_) nic->stop();
  }

  const Rank* row(uint32_t rank) const { return &rows_[rank * ranks_]; }
  xio::Region send(uint32_t rank) const { return {base(rank), blocks(), keys_[rank]}; }
  xio::Region ones(uint32_t rank) const { return {base(rank) + blocks(), 8, keys_[rank]}; }
  const uint64_t* signals(uint32_t rank) const {
    return reinterpret_cast<const uint64_t*>(&memory_[rank][blocks() + 8 + blocks()]);
  }
  /// Number of blocks that arrived at their destination.
  uint32_t right_blocks() const {
    uint32_t right = 0;
    for (uint32_t i = 0; i < ranks_ * ranks_; ++i) {
      const uint32_t to = i / ranks_;
      const uint32_t from = i % ranks_;
      const unsigned char* const block = &memory_[to][blocks() + 8 + uint64_t{from} * bytes_];
      right += std::memcmp(block, &memory_[from][uint64_t{to} * bytes_], bytes_) == 0 ? 1 : 0;
    }
    return right;
  }

 private:
  static constexpr uint32_t most_bytes = 65536;
  static unsigned char content(uint32_t rank, uint64_t at) {
    return static_cast<unsigned char>((at * 31 + rank * 101) >> 3 | 1);
  }
  uint64_t blocks() const { return uint64_t{ranks_} * bytes_; }
  uint64_t base(uint32_t rank) const { return reinterpret_cast<uint64_t>(memory_[rank].data()); }

  uint32_t ranks_;
  uint32_t bytes_;
  std::vector<Rank> rows_;
  std::vector<std::vector<unsigned char>> memory_;
  std::vector<uint32_t> keys_;
  xio::emulation::RdmaFabric fabric_;
  std::vector<std::unique_ptr<xio::emulation::RdmaQueuePair<Kit>>> queues_;
  std::vector<std::unique_ptr<xio::emulation::RdmaNic>> nics_;
};

}  // namespace example
