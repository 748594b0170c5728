# SPDX-License-Identifier: MIT
# PTX on the machine: the library, and its own tests, which need no compiler for GPUs. What nvcc makes of our kernels runs in
# machine.cmake, and of one small kernel here.

# The machine is not what a sanitizer is to look at, and much slower under one.
if(XIO_SANITIZE)
  return()
endif()

file(GLOB machine_ptx_sources CONFIGURE_DEPENDS ${XIO_TESTS_DIR}/machine/ptx/*.cpp)
add_library(machine_ptx STATIC EXCLUDE_FROM_ALL ${machine_ptx_sources} ${XIO_TESTS_DIR}/machine/timed/latencies.cpp ${XIO_TESTS_DIR}/machine/timed/traffic.cpp)
xio_unity(machine_ptx 6)
target_include_directories(machine_ptx PUBLIC ${XIO_TESTS_DIR})
target_link_libraries(machine_ptx PRIVATE xio_build_options)
xio_optimise_test(machine_ptx -O2)
set_target_properties(machine_ptx PROPERTIES POSITION_INDEPENDENT_CODE ON)
# Nobody replaces its functions: they may be inlined all the same.
target_compile_options(machine_ptx PRIVATE -fno-semantic-interposition)

xio_add_tests(machine ptx SOURCES ptx_machine ptx_litmus ptx_arithmetic ptx_floats timed_ptx LIBS machine_ptx LABELS once SEPARATE)

xio_add_test(machine/ptx_smoke OWN_MAIN NO_TEST LIBS machine_ptx)
if(NOT XIO_NVCC_MISSING)
  set(ptx_smoke ${XIO_TESTS_BINARY_DIR}/machine/ptx_smoke.ptx)
  xio_kernel_file(${ptx_smoke} ${CMAKE_CURRENT_LIST_DIR}/ptx_smoke.cu sm_90 -lineinfo)
  add_custom_target(machine-ptx-smoke-kernels ALL DEPENDS ${ptx_smoke})
endif()
xio_register_tool_test("${XIO_NVCC_MISSING}" NAME machine.ptx_smoke LABELS machine once
  COMMAND $<TARGET_FILE:machine-ptx_smoke> "${ptx_smoke}" wave 0-40 NEEDS machine-ptx-smoke-kernels)
