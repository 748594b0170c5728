# SPDX-License-Identifier: MIT
# The NVMe scenarios under the schedules of a few lanes and a tiny device: as many as a limit allows, at night more, and waves of two lanes.

if(XIO_SANITIZE OR NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()

xio_add_test(executors/explorer OWN_MAIN NO_TEST LIBS CLI11::CLI11 OPTIMISE -Oz DEFINITIONS XIO_INTERLEAVE=1
  SOURCES explorer_nvme.cpp ../scenarios/nvme_cases.cpp)
xio_register_test(NAME executors.nvme.explorer LABELS executors protocol TIMEOUT 600 COMMAND executors-explorer --states 60000)
foreach(lanes 1 2)
  xio_register_test(NAME executors.nvme_night.explorer${lanes} LABELS executors once nightly TIMEOUT 7200 LOCK memory
    COMMAND executors-explorer --lanes ${lanes} --states 2000000)
endforeach()
