# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The queue protocol against the in-process controller. The tests instantiate it many times: the sharing modes are two programs, so
# that two processors can compile them.
xio_sanitized_sources(lanes THREAD protocol_thread protocol_wave)
xio_sanitized_sources(groups THREAD protocol_block protocol_grid)
xio_sanitized_sources(sources THREAD protocol_order protocol_parts protocol_polling protocol_rows
  ADDRESS protocol_commands protocol_deadlines protocol_inbound protocol_limits protocol_offsets protocol_process protocol_regions
    protocol_sizes protocol_status protocol_transfers protocol_users)
# Also without a sanitizer, where it has more operations.
if(XIO_BUILD_SANITIZED_TESTS OR NOT XIO_SANITIZE MATCHES address)
  list(APPEND sources protocol_late)
endif()
xio_add_tests(emulation protocol_lanes LABELS protocol TIMEOUT 300 SOURCES ${lanes})
xio_add_tests(emulation protocol_groups LABELS protocol TIMEOUT 300 SOURCES ${groups})
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
if(XIO_SANITIZE MATCHES address)
  return()
endif()
xio_add_tests(emulation protocol_interleave LABELS protocol TIMEOUT 300 DEFINITIONS XIO_INTERLEAVE=1
  SOURCES protocol_interleave protocol_stale)

xio_add_test(emulation/protocol_stress OPTIMISE -O2 OWN_MAIN NO_TEST)
xio_register_test(NAME emulation.protocol_stress LABELS emulation protocol TIMEOUT 300
  COMMAND emulation-protocol_stress 100000)
xio_register_test(NAME emulation.protocol_stress_million LABELS emulation slow TIMEOUT 900
  COMMAND emulation-protocol_stress 1000000)
