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

}  // namespace golden::rdma
