// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files through the library's own queues: posts, receives and sequences.
///
/// What must be equal: the bytes of rings and tables under the mask, records, the doorbell's register, width and value,
/// the counters that the library has too, and the order of all stores and fences. What every driver may choose, and the
/// library's queues choose otherwise than the recorded ones, is this:
///
///  - A call rings once, at its end, and with one store: not once for each request, and without copies of entries
///    (BlueFlame, push buffers). The doorbell's value is that of the recorded copy.
///  - A ring in controller memory is stored to in place; no image of it is kept in host memory.
///  - The record is stored once for each call, and whole.
///  - ERNIC: "wr_id" of an entry is the library's own counter.

#include "rdma_request.hpp"

namespace golden::rdma {

/// Replays a case with the vendor's queue pair, in each Use that takes it.
/// @throws Mismatch, EncodersAlone
void replay_with_queues(const Json& file, const Json& recorded, const Vendor& vendor);

}  // namespace golden::rdma
