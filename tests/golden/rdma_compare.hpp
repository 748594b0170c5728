// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: what was stored, compared with what the recording driver stored. All throw Mismatch.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rdma_request.hpp"

namespace golden::rdma {

/// One byte of a region: what the recording has there, or what we stored.
using ByteMap = std::map<uint64_t, uint8_t>;

/// Bytes that the recording driver stored to a region.
ByteMap recorded_bytes(const Json& chunks);

/// Adds what was stored to memory, region by region.
void collect(const std::vector<Store>& stores, std::map<std::string, ByteMap>& memory);

/// Adds the 16-byte segments of the entries that were posted.
void add_entries(const Posted& posted, std::set<uint64_t>& entries);

/// Compares rings and tables.
/// @param entries    segments of the entries that were posted: what is left of them may be zero
/// @param refused    a call that was refused in part; null for none
/// @param own_fields what every driver fills with numbers of its own, and ours are
void expect_regions(const Json& recorded, const std::map<std::string, ByteMap>& memory,
                    const std::set<uint64_t>& entries, const Posted* refused,
                    const std::vector<Store>& own_fields = {});

/// Compares records. They have no list of their own: the last change of each byte is in the events.
void expect_records(const Json& events, const std::map<std::string, ByteMap>& memory);

/// Compares counters after a call. `state` has all of them.
void expect_state(const Json& after, const Json& state);

/// Compares what was refused.
void expect_outcome(const Json& recorded, const Posted& posted, size_t requests);

/// Compares the registers stored to, in order. `recorded`: has the rings, for the masks of copies.
void expect_registers(const Json& events, const std::vector<Store>& stores, const Json& recorded);

}  // namespace golden::rdma
