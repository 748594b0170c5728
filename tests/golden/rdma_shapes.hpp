// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: what a recorded queue pair was made with, one function for each vendor.

#include "rdma_request.hpp"

namespace golden::rdma {

struct Shapes {
  lib::SendShape send;
  lib::ReceiveShape receive;
};

/// The shapes, if queues like that can be. @throws Mismatch
inline Shapes possible(const Shapes& shapes) {
  constexpr uint64_t most_entries = 1u << 20;
  number_within("entries of a send queue", shapes.send.entries, 1, most_entries);
  number_within("entries of a receive queue", shapes.receive.entries, 1, most_entries);
  number_within("log2 of the bytes of an entry", shapes.send.entry_shift, 0, 12);
  number_within("log2 of the bytes of an entry", shapes.receive.entry_shift, 4, 12);
  number_within("pointers of an entry", shapes.send.max_sges, 0, 4096);
  number_within("pointers of an entry", shapes.receive.max_sges, 0, 4096);
  number_within("log2 of a packet's bytes", shapes.send.mtu_shift, 0, 16);
  return shapes;
}

/// @param config name in the file's "configs"
Shapes mlx5_shapes(const Json& file, const std::string& config);
Shapes bnxt_shapes(const Json& file, const std::string& config);
Shapes ionic_shapes(const Json& file, const std::string& config);
Shapes ernic_shapes(const Json& file, const std::string& config);

// Queue pairs of the library, see Vendor::queue.
std::unique_ptr<QueuePoster> mlx5_queue(const Json& file, const std::string& config, const Json& before, Use use);
std::unique_ptr<QueuePoster> bnxt_queue(const Json& file, const std::string& config, const Json& before, Use use);
std::unique_ptr<QueuePoster> ionic_queue(const Json& file, const std::string& config, const Json& before, Use use);
std::unique_ptr<QueuePoster> ernic_queue(const Json& file, const std::string& config, const Json& before, Use use);

}  // namespace golden::rdma
