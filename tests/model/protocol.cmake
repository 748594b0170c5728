# SPDX-License-Identifier: MIT
if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()
# The protocol code under every schedule of a few waves. XIO_MODEL_FULL in the environment: without a limit.
foreach(name protocol outcomes)
  xio_add_test(model/${name} LABELS protocol TIMEOUT 600 OPTIMISE -O1 DEFINITIONS XIO_INTERLEAVE=1)
endforeach()
