# SPDX-License-Identifier: MIT
# Kernels on the CPU, and small parts.
xio_add_tests(unit simt SOURCES simt simt_divergence simt_blocks simt_failures pattern statistics host_stream)
if(NOT XIO_SANITIZE)
  xio_add_test(unit/simt_interleave)
endif()
xio_add_test(unit/simt_ucontext)
