// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: how a recorded queue pair of Pensando DSC was made.

#include <xio/vendors/ionic/encode.hpp>

#include "golden.hpp"
#include "rdma_shapes.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

// Bits of "sq_cmb" and "rq_cmb": the ring is in controller memory; its entries ring for themselves.
constexpr uint64_t cmb_enabled = 1;
constexpr uint64_t cmb_express = 4;

/// The provider's rule: as the device offers it, where a queue pair asks for so many pieces that it helps.
/// @param sges name of the member of `made` that says how many
xio::ionic::SpecFormat ionic_spec(const Json& made, const char* sges);

/// @param config name in the file's "configs"
Shapes ionic_shapes(const Json& file, const std::string& config);
/// A queue pair of the library, see Vendor::queue.
std::unique_ptr<QueuePoster> ionic_queue(const Json& file, const std::string& config, const Json& before, Use use);
/// The completion queue of a case.
CompletionRing ionic_completions(const Json& recorded);
/// "poll_cq", of which the cases fill a file of their own.
void replay_ionic_completion(const Json& file, const Json& recorded);
/// "poll_cq" through the library's own queues. @throws Mismatch, EncodersAlone
void drain_ionic(const Json& file, const Json& recorded);

}  // namespace golden::rdma
