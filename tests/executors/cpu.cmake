# SPDX-License-Identifier: MIT
# The scenarios on the CPU executor: schedules of the operating system, and random ones. ThreadSanitizer also sees what nothing orders.

if(NOT XIO_BUILD_PROTOCOL_TESTS)
  return()
endif()

xio_add_test(executors/cpu OWN_MAIN NO_TEST LIBS CLI11::CLI11 DEFINITIONS XIO_INTERLEAVE=1
  SOURCES cpu_nvme.cpp cpu_rdma.cpp cpu_fabrics.cpp cpu_key_values.cpp ../scenarios/nvme_cases.cpp ../scenarios/rdma_cases.cpp
    ../scenarios/fabric_cases.cpp)

# A sanitizer looks at the code, not at how lanes are numbered.
set(waves 8 32 64)
set(seeds 10)
if(XIO_SANITIZE)
  set(waves 32)
  set(seeds 4)
elseif(NOT XIO_BUILD_SANITIZED_TESTS)
  list(REMOVE_ITEM waves 32)  # both sanitizers run these
endif()
foreach(lanes IN LISTS waves)
  xio_register_test(NAME executors.nvme.cpu${lanes} LABELS executors protocol TIMEOUT 300
    COMMAND executors-cpu --lanes ${lanes} --seeds ${seeds})
  xio_register_test(NAME executors.rdma.cpu${lanes} LABELS executors protocol TIMEOUT 300
    COMMAND executors-cpu --rdma --lanes ${lanes} --seeds ${seeds})
endforeach()
foreach(kind fabrics key_values)
  xio_register_test(NAME executors.${kind}.cpu32 LABELS executors protocol TIMEOUT 300
    COMMAND executors-cpu --${kind} --lanes 32 --seeds ${seeds})
endforeach()
xio_register_test(NAME executors.nvme_many.cpu8 LABELS executors slow nightly TIMEOUT 7200 COMMAND executors-cpu --lanes 8 --seeds 2000)
xio_register_test(NAME executors.rdma_many.cpu32 LABELS executors slow nightly TIMEOUT 7200 COMMAND executors-cpu --rdma --lanes 32 --seeds 2000)
