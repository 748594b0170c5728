# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS OR NOT (XIO_SANITIZE OR XIO_BUILD_SANITIZED_TESTS))
  return()
endif()
# Random sequences of calls against a simple account of what each must return.
xio_add_tests(property queues LABELS protocol TIMEOUT 300 SOURCES exclusive shared waves drive_set)
