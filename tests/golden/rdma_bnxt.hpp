// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the sources of bnxt's replay share.

#include "rdma_shapes.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

/// @param config name in the file's "configs"
Shapes bnxt_shapes(const Json& file, const std::string& config);
/// A queue pair of the library, see Vendor::queue.
std::unique_ptr<QueuePoster> bnxt_queue(const Json& file, const std::string& config, const Json& before, Use use);
/// The completion queue of a case.
CompletionRing bnxt_completions(const Json& recorded);
/// "poll_cq", of which the cases fill a file of their own.
void replay_bnxt_completion(const Json& file, const Json& recorded);
/// "poll_cq" through the library's own queues. @throws Mismatch, EncodersAlone
void drain_bnxt(const Json& file, const Json& recorded);

}  // namespace golden::rdma
