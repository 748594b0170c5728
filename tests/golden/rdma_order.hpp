// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: the order of stores and fences.

#include "rdma_request.hpp"

namespace golden::rdma {

/// The library's own rule. Entries (and what lies in tables for them) come first, then one record, then one doorbell,
/// as far as the vendor has them. Between entries and what announces them is one release; between record and doorbell,
/// which are no cached data, one wait for the record. Neither is missing or doubled.
/// @throws Mismatch
void expect_order(const Posted& posted);

/// What the recording says: where a barrier lies between two events of the driver, a fence lies between the library's
/// stores to the same places, and they have the same order; but for two entries, which no device reads before they are
/// announced. Of places that were stored to several times, the last one counts; of several doorbells too.
/// @throws Mismatch
void expect_recorded_order(const Json& events, const Posted& posted);

}  // namespace golden::rdma
