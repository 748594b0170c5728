// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: one function for each vendor.

#include "golden.hpp"

namespace golden::rdma {

void replay_mlx5(const Json& file, Report& report);
void replay_bnxt(const Json& file, Report& report);
void replay_ionic(const Json& file, Report& report);
void replay_ernic(const Json& file, Report& report);

/// "poll_cq" of those vendors whose posts fill a file of their own.
void replay_bnxt_completion(const Json& file, const Json& recorded);
void replay_ionic_completion(const Json& file, const Json& recorded);

// "poll_cq" through the library's own queues. @throws Mismatch, EncodersAlone
void drain_mlx5(const Json& file, const Json& recorded);
void drain_bnxt(const Json& file, const Json& recorded);
void drain_ionic(const Json& file, const Json& recorded);
void drain_ernic(const Json& file, const Json& recorded);

}  // namespace golden::rdma
