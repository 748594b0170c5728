# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# Random sequences of calls against a simple account of what each must return.
foreach(name exclusive shared waves drive_set)
  xio_add_test(property/${name} LABELS protocol TIMEOUT 300)
endforeach()
