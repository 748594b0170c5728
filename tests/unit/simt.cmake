# SPDX-License-Identifier: MIT
xio_add_test(unit/simt)
xio_add_test(unit/simt_divergence)
xio_add_test(unit/simt_blocks)
xio_add_test(unit/simt_failures)
xio_add_test(unit/simt_interleave)
xio_add_test(unit/simt_ucontext)
xio_add_test(unit/pattern)
xio_add_test(unit/statistics)
