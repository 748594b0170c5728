# SPDX-License-Identifier: MIT
# Those define what the headers say.
set_source_files_properties(${XIO_TESTS_DIR}/unit/simt_interleave.cpp ${XIO_TESTS_DIR}/unit/simt_ucontext.cpp
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
# Kernels on the CPU, and small parts.
xio_sanitized_sources(sources BOTH simt simt_divergence simt_blocks ADDRESS simt_failures pattern host_stream)
xio_add_tests(unit simt SOURCES ${sources})
if(NOT XIO_SANITIZE)
  xio_add_test(unit/simt_interleave)
endif()
xio_sanitized_sources(source ADDRESS simt_ucontext)
if(source)
  xio_add_test(unit/${source})
endif()
