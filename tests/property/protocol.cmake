# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# Random sequences of calls against a simple account of what each must return.
xio_sanitized_sources(sources ADDRESS exclusive drive_set drive_set_batches drive_set_pieces waves THREAD shared)
xio_add_tests(property queues LABELS protocol TIMEOUT 300 SOURCES ${sources})
