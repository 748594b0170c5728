// SPDX-License-Identifier: MIT

/// @file
/// @brief Every vendor's queue pair in every sharing mode, wave size and pattern of active lanes: data goes to the
/// other side and comes back.

#include "emulation/rdma_exchange.hpp"

using namespace rdma_tests;

TEMPLATE_LIST_TEST_CASE("H23 a queue pair of a thread moves data", "", Vendors) {
  exchange_in_all_shapes<TestType, Sharing::thread, xio::Policy<>>(1);
  exchange_in_all_shapes<TestType, Sharing::thread, Policy<Deferred<3>>>(1);
  exchange_in_all_shapes<TestType, Sharing::thread, Policy<WriteThrough>>(1);
}
TEMPLATE_LIST_TEST_CASE("H23 a queue pair of a wave moves data", "", Vendors) {
  exchange_in_all_shapes<TestType, Sharing::wave, xio::Policy<>>(1);
  exchange_in_all_shapes<TestType, Sharing::wave, Policy<Deferred<7>>>(1);
}
TEMPLATE_LIST_TEST_CASE("H23 H17 H22 a queue pair of a block moves data", "", Vendors) {
  exchange_in_all_shapes<TestType, Sharing::block, xio::Policy<>>(2);
  exchange_in_all_shapes<TestType, Sharing::block, Policy<Deferred<5>>>(2);
}
TEMPLATE_LIST_TEST_CASE("H23 H17 H22 a queue pair of the grid moves data", "", Vendors) {
  exchange_in_all_shapes<TestType, Sharing::grid, xio::Policy<>>(3);
  exchange_in_all_shapes<TestType, Sharing::grid, Policy<Deferred<3>>>(3);
}
