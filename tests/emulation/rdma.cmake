# SPDX-License-Identifier: MIT
# The in-process RDMA NICs against entries written by hand; know nothing of the device code.

xio_add_test(emulation/rdma_wires)
xio_add_test(emulation/rdma_wires_ionic)
xio_add_test(emulation/rdma_wires_indexed)

# The queue protocol against them, for every vendor.
if(XIO_BUILD_PROTOCOL_TESTS)
  foreach(name exchange messages outcomes wrap)
    xio_add_test(emulation/rdma_${name} LABELS protocol TIMEOUT 300 OPTIMISE -O0)
  endforeach()
endif()
