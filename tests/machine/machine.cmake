# SPDX-License-Identifier: MIT
# GPU code, executed by a model of the GPU that takes every liberty which its architecture gives.

# The code is the GPU's: how the host's compiler is told to look at itself makes no difference to it.
if(XIO_SANITIZE)
  return()
endif()

set(machine_dir ${XIO_TESTS_DIR}/machine)
set(machine_programs ${XIO_TESTS_BINARY_DIR}/machine)

add_library(machine STATIC ${machine_dir}/core/load.cpp)
target_include_directories(machine PUBLIC ${XIO_TESTS_DIR})
target_link_libraries(machine PRIVATE xio_build_options PUBLIC machine_amdgcn machine_ptx)

# xio_machine_program(<name> <source> <result>): compiles kernels for every target; the result names the targets' files,
# as <arch>=<file>.
function(xio_machine_program name source result)
  set(all "")
  set(files "")
  if(NOT XIO_HIP_MISSING)
    foreach(arch IN LISTS XIO_HIP_TARGETS)
      set(output ${machine_programs}/${name}.${arch}.co)
      xio_kernel_file(${output} ${source} ${arch} -gline-tables-only)
      list(APPEND all ${arch}=${output})
      list(APPEND files ${output})
    endforeach()
  endif()
  if(NOT XIO_NVCC_MISSING)
    set(output ${machine_programs}/${name}.sm_90.ptx)
    xio_kernel_file(${output} ${source} sm_90 -lineinfo)
    list(APPEND all sm_90=${output})
    list(APPEND files ${output})
  endif()
  add_custom_target(machine-program-${name} ALL DEPENDS ${files})
  set(${result} ${all} PARENT_SCOPE)
endfunction()

find_package(CLI11 CONFIG REQUIRED)
add_executable(machine-run ${machine_dir}/run/main.cpp ${machine_dir}/run/nvme_cases.cpp ${machine_dir}/run/rdma_cases.cpp)
target_link_libraries(machine-run PRIVATE xio_build_options xio::emulation machine CLI11::CLI11)
set_target_properties(machine-run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${XIO_TESTS_BINARY_DIR})
target_compile_options(machine-run PRIVATE -O2)

# Every way of sharing, policy and call against the in-process devices; the nightly runs have more seeds.
set(machine_seeds 40)
foreach(kind nvme rdma)
  xio_machine_program(${kind} ${machine_dir}/kernels/${kind}.hip programs)
  set(which "")
  if(kind STREQUAL rdma)
    set(which --rdma)
  endif()
  set(found "")
  foreach(program IN LISTS programs)
    string(REGEX MATCH "^([^=]+)=(.+)$" unused ${program})
    set(arch ${CMAKE_MATCH_1})
    list(APPEND found ${arch})
    xio_register_test(NAME machine.${kind}.${arch} LABELS machine once TIMEOUT 900
      COMMAND machine-run ${CMAKE_MATCH_2} ${which} --seeds ${machine_seeds})
    xio_register_test(NAME machine.${kind}_full.${arch} LABELS machine once nightly TIMEOUT 36000
      COMMAND machine-run ${CMAKE_MATCH_2} ${which} --seeds 10000)
  endforeach()
  foreach(arch IN LISTS XIO_HIP_TARGETS ITEMS sm_90)
    if(NOT arch IN_LIST found)
      set(missing "${XIO_HIP_MISSING}")
      if(arch STREQUAL sm_90)
        set(missing "${XIO_NVCC_MISSING}")
      endif()
      xio_register_tool_test("${missing}" NAME machine.${kind}.${arch} LABELS machine)
    endif()
  endforeach()
endforeach()

# Runtimes that a program finds by LD_LIBRARY_PATH, with a GPU that the machine plays.
set(played_dir ${XIO_TESTS_BINARY_DIR}/played-gpu)
add_library(played-gpu SHARED ${machine_dir}/runtime/device.cpp ${machine_dir}/runtime/hip.cpp ${machine_dir}/runtime/cuda.cpp)
target_link_libraries(played-gpu PRIVATE xio_build_options machine Threads::Threads)
set_target_properties(machine PROPERTIES POSITION_INDEPENDENT_CODE ON)
set_target_properties(played-gpu PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${played_dir})
foreach(name libamdhip64.so.7 libhsa-runtime64.so.1 libcudart.so.13 libcuda.so.1)
  add_custom_command(TARGET played-gpu POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE_NAME:played-gpu> ${played_dir}/${name} VERBATIM)
endforeach()

# The tester itself, with the kernels that it carries, found as on a real machine.
if(XIO_BUILD_BENCH)
  set(played_targets ${XIO_KERNELS_AMD})
  if(XIO_KERNELS_NVIDIA)
    list(APPEND played_targets sm_90)
  endif()
  foreach(arch IN LISTS played_targets)
    xio_register_test(NAME machine.tester.${arch} LABELS machine once TIMEOUT 600
      COMMAND ${machine_dir}/tester.sh $<TARGET_FILE:xio-tester> ${played_dir} ${arch})
  endforeach()
  foreach(arch gfx942 gfx1100 sm_90)
    if(arch IN_LIST played_targets)
      xio_register_test(NAME machine.tester_qemu.${arch} LABELS machine qemu once TIMEOUT 600
        COMMAND ${machine_dir}/tester.sh $<TARGET_FILE:xio-tester> ${played_dir} ${arch} qemu)
    endif()
  endforeach()
endif()
