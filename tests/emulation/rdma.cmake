# SPDX-License-Identifier: MIT
# The in-process RDMA NICs, and the queue protocol against them for every vendor.

# Against entries written by hand; know nothing of the device code, and have one thread.
if(NOT XIO_SANITIZE MATCHES thread)
  xio_add_test(emulation/rdma_wires)
  xio_add_test(emulation/rdma_wires_ionic)
  xio_add_test(emulation/rdma_wires_indexed)
endif()

# Each takes half a minute to compile. Under ThreadSanitizer the one with all sharing modes will do, under AddressSanitizer those
# with data of every length and with failures.
if(XIO_BUILD_PROTOCOL_TESTS)
  set(names calls collapsed exchange messages outcomes recover variants waves wrap)
  if(XIO_SANITIZE MATCHES thread)
    set(names collapsed exchange)
  elseif(XIO_SANITIZE)
    set(names calls messages outcomes recover)
  endif()
  if(NOT XIO_SANITIZE)
    xio_add_test(emulation/rdma_sizes LABELS protocol slow TIMEOUT 600 OPTIMISE -O0)
  endif()
  foreach(name IN LISTS names)
    xio_add_test(emulation/rdma_${name} LABELS protocol TIMEOUT 300 OPTIMISE -O0)
  endforeach()
  if(NOT XIO_SANITIZE)
    xio_add_test(emulation/rdma_processes LABELS protocol OPTIMISE -O0)
    xio_add_test(emulation/rdma_order LABELS protocol OPTIMISE -O0 DEFINITIONS XIO_COUNT_OPERATIONS=1)
    xio_add_test(emulation/rdma_doorbells LABELS protocol OPTIMISE -O0 DEFINITIONS XIO_COUNT_OPERATIONS=1)
  endif()
endif()
