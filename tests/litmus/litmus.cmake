# SPDX-License-Identifier: MIT
# Memory ordering in the host build. What a GPU makes of the same primitives is in tests/codegen.

xio_add_test(litmus/ordering OPTIMISE -O1 OWN_MAIN)
xio_register_test(NAME litmus.weakened LABELS litmus once nightly TIMEOUT 300
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/weakened.sh ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_LIST_DIR}/ordering.cpp
    ${CMAKE_CXX_COMPILER})

# Two threads that race on purpose, at full speed: not under a sanitizer.
if(NOT XIO_SANITIZE)
  xio_add_test(litmus/shadow_doorbell OPTIMISE -O1 OWN_MAIN)
endif()
