# SPDX-License-Identifier: MIT
# Bitcode with calls in C (xio/device/abi): kernels that know nothing else of xio are linked with it.

# The code is the GPU's: how the host's compiler is told to look at itself makes no difference to it.
if(XIO_SANITIZE OR XIO_TOOLS_MISSING OR NOT TARGET bitcode)
  return()
endif()

find_program(XIO_LLVM_NM llvm-nm-19)
find_program(XIO_LLVM_LINK llvm-link-19)
find_program(XIO_LLVM_OPT opt-19)
find_program(XIO_LLVM_LLC llc-19)
set(missing "")
if(NOT (XIO_LLVM_NM AND XIO_LLVM_LINK AND XIO_LLVM_OPT AND XIO_LLVM_LLC))
  set(missing "no llvm-nm-19, llvm-link-19, opt-19 or llc-19 (Debian: llvm-19)")
endif()

set(dir ${CMAKE_CURRENT_LIST_DIR})
set(binary_dir ${XIO_TESTS_BINARY_DIR}/abi)
file(MAKE_DIRECTORY ${binary_dir})
set(common -std=c++17 -O3 --cuda-device-only "-D__host__=__attribute__((host))" "-D__device__=__attribute__((device))"
  "-D__global__=__attribute__((global))" -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/include -I${XIO_TESTS_DIR})

set(python ${XIO_CACHE}/triton/bin/python)
set(no_triton "")
if(NOT EXISTS ${python})
  set(no_triton "no triton (scripts/triton-env)")
endif()

xio_add_test(abi/run OWN_MAIN NO_TEST LIBS machine)

# The headers in C, and the host's library, by a program in C, on a played GPU.
xio_register_test(NAME abi.c LABELS abi once COMMAND ${XIO_TESTS_CXX} -x c -std=c11 -Wall -Wextra -pedantic -Werror
  -I${PROJECT_SOURCE_DIR}/include -c -o ${binary_dir}/host.o ${dir}/host.c)
set(host_kernels ${binary_dir}/host.gfx942.co)
add_custom_command(OUTPUT ${host_kernels}
  COMMAND ${XIO_BITCODE_CLANG} -x hip ${common} --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=gfx942 -Xclang
    -mlink-builtin-bitcode -Xclang ${XIO_BITCODE_DIR}/libxio_device-gfx942.bc -c -o ${host_kernels} ${dir}/host.hip
  DEPENDS ${dir}/host.hip ${XIO_BITCODE_DIR}/libxio_device-gfx942.bc VERBATIM)
add_custom_target(abi-host-kernels DEPENDS ${host_kernels})
add_dependencies(abi-host-kernels bitcode-gfx942)
xio_register_test(NAME abi.build.host LABELS abi once TIMEOUT 600 LOCK build
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target abi-host-kernels xio-host-library)
set_tests_properties(abi.build.host PROPERTIES FIXTURES_SETUP abi-host)
xio_register_test(NAME abi.host LABELS abi machine once
  COMMAND ${dir}/host.sh ${XIO_TESTS_CXX} ${PROJECT_SOURCE_DIR}/include $<TARGET_FILE:xio-host-library>
    ${XIO_TESTS_BINARY_DIR}/played-gpu ${host_kernels} ${XIO_LLVM_NM})
set_tests_properties(abi.host PROPERTIES FIXTURES_REQUIRED abi-host)

# One GPU by day, whose bitcode is built with everything else.
foreach(gpu IN LISTS XIO_BITCODE_TARGETS)
  if(gpu MATCHES "^lto_")
    xio_register_test(NAME abi.build.${gpu} LABELS abi once nightly LOCK build
      COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target bitcode-${gpu})
    continue()
  endif()
  set(bitcode ${XIO_BITCODE_DIR}/libxio_device-${gpu}.bc)
  set(link -Xclang -mlink-builtin-bitcode -Xclang ${bitcode})
  if(gpu MATCHES "^gfx")
    set(compiler ${XIO_BITCODE_CLANG} -x hip ${common} --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=${gpu})
    set(kernels ${binary_dir}/kernels.${gpu}.co)
    set(command ${compiler} ${link} -gline-tables-only -c)
  else()
    set(kernels ${binary_dir}/kernels.${gpu}.ptx)
    set(command ${XIO_BITCODE_CLANG} -x cuda ${common} -nocudainc -nocudalib --cuda-gpu-arch=${gpu} -Xclang -target-feature
      -Xclang +ptx70 ${link} -gline-tables-only -S)
  endif()
  add_custom_command(OUTPUT ${kernels} COMMAND ${command} -o ${kernels} ${dir}/kernels.hip
    DEPENDS ${dir}/kernels.hip ${dir}/work.hpp ${bitcode} COMMENT "Kernels: abi, ${gpu}" VERBATIM)
  add_custom_target(abi-kernels-${gpu} DEPENDS ${kernels})
  add_dependencies(abi-kernels-${gpu} bitcode-${gpu})
  set(labels abi once)
  # One target by day, in each build; the others are made and run at night, since each takes half a minute.
  if(gpu STREQUAL gfx942)
    set_target_properties(bitcode-${gpu} abi-kernels-${gpu} PROPERTIES EXCLUDE_FROM_ALL OFF)
  else()
    list(APPEND labels nightly)
    xio_register_test(NAME abi.build.${gpu} LABELS ${labels} TIMEOUT 600 LOCK build
      COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target abi-kernels-${gpu})
    set_tests_properties(abi.build.${gpu} PROPERTIES FIXTURES_SETUP abi-kernels-${gpu})
  endif()
  xio_register_test(NAME abi.run.${gpu} LABELS machine ${labels} COMMAND abi-run ${kernels} NEEDS abi-kernels-${gpu} bitcode-${gpu})
  xio_register_tool_test("${missing}" NAME abi.names.${gpu} LABELS ${labels}
    COMMAND ${dir}/names.py ${bitcode} ${PROJECT_SOURCE_DIR}/include/xio/device/abi/xio_device.h ${XIO_LLVM_NM}
      ${XIO_BITCODE_CLANG} -I${PROJECT_SOURCE_DIR}/include NEEDS bitcode-${gpu})
  # The model knows the 16-bit registers of newer compilers' code for RDNA not yet.
  set(run $<TARGET_FILE:abi-run>)
  if(gpu MATCHES "^gfx1")
    set(run "")
  endif()
  string(REPLACE "sm_70" "sm_90" triton_gpu ${gpu})
  xio_register_tool_test("${no_triton}" NAME abi.triton.${triton_gpu} LABELS abi machine once nightly
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/packaging/python PYTHONDONTWRITEBYTECODE=1
      XIO_HOST_LIBRARY=$<TARGET_FILE:xio-host-library> ${python} ${dir}/gather.py ${triton_gpu} ${bitcode} ${run})
  set(tests abi.run.${gpu} abi.names.${gpu} abi.triton.${triton_gpu})
  if(gpu STREQUAL gfx942)
    xio_register_tool_test("${missing}" NAME abi.sizes.${gpu} LABELS ${labels}
      COMMAND ${dir}/sizes.py ${binary_dir}/sizes ${XIO_LLVM_LINK} ${XIO_LLVM_OPT} ${XIO_LLVM_LLC} ${gpu} ${bitcode}
        96 10 110 ${compiler} NEEDS bitcode-${gpu})
  else()
    set_tests_properties(${tests} PROPERTIES FIXTURES_REQUIRED abi-kernels-${gpu})
  endif()
  set_property(TEST abi.triton.${triton_gpu} APPEND PROPERTY FIXTURES_REQUIRED abi-host)
endforeach()
