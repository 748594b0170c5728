# SPDX-License-Identifier: MIT
# Those define what the headers say.
set_source_files_properties(${XIO_TESTS_DIR}/unit/simt_interleave.cpp ${XIO_TESTS_DIR}/unit/simt_ucontext.cpp
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
# Kernels on the CPU, and small parts.
xio_add_tests(unit simt SOURCES simt simt_divergence simt_blocks simt_failures pattern statistics host_stream)
if(NOT XIO_SANITIZE)
  xio_add_test(unit/simt_interleave)
endif()
xio_add_test(unit/simt_ucontext)
