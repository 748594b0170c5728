# SPDX-License-Identifier: MIT
# Each public call with a defect in its body: the scenarios must notice it, on each executor.

if(XIO_SANITIZE OR NOT TARGET executors-cpu OR NOT TARGET machine)
  return()
endif()

# Copies of the headers with all defects in them, each behind its number.
set(defects ${XIO_TESTS_DIR}/scenarios/defects.py)
set(defects_include ${XIO_TESTS_BINARY_DIR}/defects)
set(defects_headers "")
foreach(header nvme/queue nvme/drive_set rdma/queue_pair rdma/receive)
  list(APPEND defects_headers ${defects_include}/xio/device/${header}.hpp)
  set(header ${PROJECT_SOURCE_DIR}/include/xio/device/${header}.hpp)
  list(APPEND defects_sources ${header})
endforeach()
add_custom_command(OUTPUT ${defects_headers} COMMAND ${defects} make ${defects_include}
  DEPENDS ${defects} ${XIO_TESTS_DIR}/scenarios/matrix.py ${XIO_TESTS_DIR}/scenarios/defects.txt ${defects_sources} VERBATIM)
add_custom_target(defects-headers DEPENDS ${defects_headers})

# By day the calls are compiled, so that a change of the headers shows rows that no longer compile. The rest is built and run at night, a
# minute for each size of a wave.
add_library(executors-defects-calls OBJECT EXCLUDE_FROM_ALL ${XIO_TESTS_DIR}/executors/cpu_nvme.cpp ${XIO_TESTS_DIR}/executors/cpu_rdma.cpp)
target_link_libraries(executors-defects-calls PRIVATE xio_build_options xio::emulation)
target_compile_definitions(executors-defects-calls PRIVATE XIO_INTERLEAVE=1)
xio_optimise_test(executors-defects-calls "")
xio_add_test(executors/defects OWN_MAIN NO_TEST LIBS CLI11::CLI11 machine executors-defects-calls DEFINITIONS XIO_INTERLEAVE=1
  SOURCES ../scenarios/nvme_cases.cpp ../scenarios/rdma_cases.cpp)
set_target_properties(executors-defects PROPERTIES EXCLUDE_FROM_ALL TRUE)
xio_register_test(NAME executors.defects.calls LABELS executors once slow TIMEOUT 600 LOCK build
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target executors-defects-calls)
xio_register_test(NAME executors.defects.build LABELS executors once slow nightly TIMEOUT 1800
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target executors-defects)
set_tests_properties(executors.defects.build PROPERTIES FIXTURES_SETUP executors-defects)
foreach(target executors-defects executors-defects-calls)
  target_include_directories(${target} BEFORE PRIVATE ${defects_include})
  add_dependencies(${target} defects-headers)
endforeach()
target_include_directories(executors-defects-calls PRIVATE ${XIO_TESTS_DIR})
foreach(lanes 8 32 64)
  xio_register_test(NAME executors.defects.cpu${lanes} LABELS executors once slow nightly TIMEOUT 1800
    COMMAND ${defects} run $<TARGET_FILE:executors-defects> --lanes ${lanes})
  set_tests_properties(executors.defects.cpu${lanes} PROPERTIES FIXTURES_REQUIRED executors-defects)
endforeach()

# The same headers for GPUs. What they make is nobody's code: codegen.spills does not look at it.
get_property(kernel_files GLOBAL PROPERTY XIO_KERNEL_FILES)
list(PREPEND XIO_HIP_FLAGS -I${defects_include})
list(PREPEND XIO_NVCC_FLAGS -I${defects_include})
foreach(arch IN LISTS XIO_HIP_TARGETS ITEMS sm_90)
  set(missing "${XIO_HIP_MISSING}")
  set(suffix co)
  if(arch STREQUAL sm_90)
    set(missing "${XIO_NVCC_MISSING}")
    set(suffix ptx)
  endif()
  set(programs "")
  foreach(kind nvme rdma)
    set(program ${defects_include}/${kind}.${arch}.${suffix})
    list(APPEND programs ${program})
    if(NOT missing)
      xio_kernel_file(${program} ${XIO_TESTS_DIR}/scenarios/kernels/${kind}.hip ${arch})
    endif()
  endforeach()
  set(kernels defects-kernels-${arch})
  xio_register_tool_test("${missing}" NAME executors.defects.kernels.${arch} LABELS executors once slow nightly TIMEOUT 1800
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${kernels})
  xio_register_tool_test("${missing}" NAME executors.defects.${arch} LABELS executors once slow nightly TIMEOUT 1800
    COMMAND ${defects} run $<TARGET_FILE:executors-defects> --programs ${programs})
  if(NOT missing)
    add_custom_target(${kernels} DEPENDS ${programs})
    add_dependencies(${kernels} defects-headers)
    set_tests_properties(executors.defects.kernels.${arch} PROPERTIES FIXTURES_SETUP ${kernels})
    set_tests_properties(executors.defects.${arch} PROPERTIES FIXTURES_REQUIRED "executors-defects;${kernels}")
  endif()
endforeach()
set_property(GLOBAL PROPERTY XIO_KERNEL_FILES "${kernel_files}")
