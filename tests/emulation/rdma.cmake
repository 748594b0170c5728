# SPDX-License-Identifier: MIT
# The in-process RDMA NICs, and the queue protocol against them for every vendor.

# Against entries written by hand; know nothing of the device code, and have one thread.
if(NOT XIO_SANITIZE MATCHES thread)
  xio_add_test(emulation/rdma_wires)
endif()
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()

# Many threads, whose data others test: no matter of AddressSanitizer.
if(NOT XIO_SANITIZE MATCHES address)
  xio_add_test(emulation/rdma_interleave LABELS protocol TIMEOUT 300
    DEFINITIONS XIO_INTERLEAVE=1 XIO_COUNT_OPERATIONS=1)
endif()

# Under ThreadSanitizer those with several waves will do, besides the scenarios; under AddressSanitizer those with data of every
# length and with failures.
if(XIO_SANITIZE MATCHES thread)
  xio_add_tests(emulation rdma LABELS protocol TIMEOUT 300 SOURCES rdma_late rdma_waves)
elseif(XIO_SANITIZE)
  xio_add_tests(emulation rdma LABELS protocol TIMEOUT 300 SOURCES rdma_calls rdma_outcomes)
else()
  set(also "")
  if(XIO_BUILD_SANITIZED_TESTS)
    set(also rdma_calls rdma_outcomes rdma_waves)
  endif()
  xio_add_tests(emulation rdma LABELS protocol TIMEOUT 300 SOURCES fabrics fabrics_answers fabrics_cache fabrics_drives fabrics_key_values rdma_in_gpu_memory rdma_late rdma_rows rdma_wrap ${also})
  # The longest message moves 2 GiB: for one vendor, and for the others at night.
  xio_add_test(emulation/rdma_sizes NO_TEST)
  xio_register_test(NAME emulation.rdma_sizes LABELS emulation protocol slow TIMEOUT 300
    COMMAND emulation-rdma_sizes ${XIO_CATCH2_STRICT} "*Vendors - 0")
  xio_register_test(NAME emulation.rdma_sizes_all LABELS emulation once nightly TIMEOUT 600 COMMAND emulation-rdma_sizes)
  xio_add_test(emulation/rdma_order LABELS protocol DEFINITIONS XIO_COUNT_OPERATIONS=2)
endif()
