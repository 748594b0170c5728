# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The page cache over in-process controllers: thousands of threads, few frames, every element compared.
xio_sanitized_sources(sources ADDRESS rules faults THREAD sweep)
# What it counts is the same under a sanitizer.
if(NOT XIO_SANITIZE)
  list(APPEND sources counts)
endif()
xio_add_tests(cache pages LABELS protocol TIMEOUT 300 OPTIMISE -O1 DEFINITIONS XIO_COUNT_OPERATIONS=1 SOURCES ${sources})
if(NOT XIO_SANITIZE)
  xio_register_test(NAME cache.sweep_whole COMMAND cache-pages ${XIO_CATCH2_STRICT} --filenames-as-tags "[#sweep]"
    LABELS cache nightly TIMEOUT 14400 ENVIRONMENT XIO_TESTS_WHOLE=1)
endif()
