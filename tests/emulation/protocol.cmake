# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The queue protocol against the in-process controller: what the scenarios (tests/scenarios) do not say.
xio_sanitized_sources(sources THREAD protocol_order
  ADDRESS protocol_command_sets protocol_commands protocol_errors protocol_inbound protocol_key_values protocol_limits protocol_pieces protocol_transfers protocol_users protocol_waits)
xio_add_tests(emulation protocol LABELS protocol TIMEOUT 300 SOURCES ${sources})
# What every queue does, of all formats. Sanitizers look at each of them elsewhere.
if(NOT XIO_SANITIZE)
  xio_add_test(emulation/conformance LABELS protocol TIMEOUT 300)
endif()
# What it counts is the same under a sanitizer.
if(NOT XIO_SANITIZE)
  xio_add_test(emulation/protocol_counts LABELS protocol TIMEOUT 300 DEFINITIONS XIO_COUNT_OPERATIONS=1)
endif()
# Many threads, whose data others test: no matter of AddressSanitizer.
if(NOT XIO_SANITIZE MATCHES address)
  xio_add_test(emulation/protocol_stale LABELS protocol TIMEOUT 300 DEFINITIONS XIO_INTERLEAVE=1)
endif()
