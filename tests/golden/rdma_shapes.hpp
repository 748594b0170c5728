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
