# SPDX-License-Identifier: MIT
# xio-tester's own parts, and its runs on the in-process model.
if(TARGET xio-tester)
  xio_add_tests(emulation tester LIBS xio-tester-tool DEFINITIONS XIO_TESTS_DIR="${XIO_TESTS_DIR}"
    SOURCES tester_clock tester_fio tester_kv tester_nodes tester_parts tester_rdma tester_roles tester_statistics tester_tables)
  xio_add_test(emulation/tester_workload LIBS xio-tester-parts)
  foreach(name matrix functional smart stripes)
    xio_register_test(NAME emulation.tester_${name} LABELS emulation TIMEOUT 600
      COMMAND ${XIO_TESTS_DIR}/qemu/tester_${name}.sh $<TARGET_FILE:xio-tester> emulated)
  endforeach()
  foreach(name curious kv_runs cache_runs report)
    xio_register_test(NAME emulation.tester_${name} LABELS emulation
      COMMAND ${XIO_TESTS_DIR}/emulation/tester_${name}.sh $<TARGET_FILE:xio-tester>)
  endforeach()
  xio_register_test(NAME emulation.tester_plots LABELS emulation once
    COMMAND ${XIO_TESTS_DIR}/emulation/tester_plots.py ${PROJECT_SOURCE_DIR}/bench/plot_report.py)
  if(TARGET xio-vendors)
    xio_register_test(NAME emulation.tester_unwritable LABELS emulation TIMEOUT 600
      COMMAND ${XIO_TESTS_DIR}/emulation/tester_unwritable.sh $<TARGET_FILE:xio-tester> $<TARGET_FILE:test-rdma-loopback>
        $<TARGET_FILE:xio-vendors>)
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    xio_register_test(NAME emulation.tester_optimised LABELS emulation
      COMMAND ${XIO_TESTS_DIR}/emulation/tester_optimised.py $<TARGET_FILE:xio-tester> $<TARGET_FILE:xio-tester-parts>
        $<TARGET_FILE:xio-tester-tool>)
  endif()
  xio_register_test(NAME emulation.tester_rdma_runs LABELS emulation TIMEOUT 600
    COMMAND ${XIO_TESTS_DIR}/emulation/tester_rdma.sh $<TARGET_FILE:xio-tester> $<TARGET_FILE:test-rdma-loopback>)
  xio_register_test(NAME emulation.tester_memory LABELS emulation TIMEOUT 300
    COMMAND ${XIO_TESTS_DIR}/emulation/tester_memory.sh $<TARGET_FILE:xio-tester>
      ${XIO_TESTS_BINARY_DIR}/libfake-gpu-new${CMAKE_SHARED_LIBRARY_SUFFIX})
endif()
