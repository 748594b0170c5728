# SPDX-License-Identifier: MIT
# xio-tester's own parts, and its runs on the in-process model.
if(TARGET xio-tester)
  set(tester_sources executor executor_grid executor_thread executor_wave interrupt nvme_plan phase_runner progress summary
    target verification)
  list(TRANSFORM tester_sources PREPEND ../../bench/tester/)
  list(TRANSFORM tester_sources APPEND .cpp)
  foreach(name tester_parts tester_workload)
    xio_add_test(emulation/${name} SOURCES ${tester_sources} DEFINITIONS XIO_COUNT_OPERATIONS=1)
    target_include_directories(emulation-${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  endforeach()
  foreach(name matrix functional)
    xio_register_test(NAME emulation.tester_${name} LABELS emulation TIMEOUT 600
      COMMAND ${XIO_TESTS_DIR}/qemu/tester_${name}.sh $<TARGET_FILE:xio-tester> emulated)
  endforeach()
endif()
