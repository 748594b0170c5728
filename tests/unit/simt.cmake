# SPDX-License-Identifier: MIT
# Kernels on the CPU, and small parts.
xio_add_tests(unit simt SOURCES simt simt_divergence simt_blocks simt_failures pattern statistics host_stream)
xio_add_test(unit/simt_interleave)
xio_add_test(unit/simt_ucontext)
