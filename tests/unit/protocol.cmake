# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The parts of the queue protocol that need no controller.
xio_sanitized_sources(sources BOTH protocol_doorbell rdma_reach rdma_sink ADDRESS protocol_deadline protocol_ring)
xio_add_tests(unit protocol SOURCES ${sources})
if(NOT XIO_SANITIZE)
  xio_add_test(unit/protocol_litmus OPTIMISE -O1)
endif()
