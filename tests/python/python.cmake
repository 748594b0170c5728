# SPDX-License-Identifier: MIT
# The package for Python: its wheel in a virtual environment, QEMU's controller and the emulated one, and a played GPU.

if(XIO_SANITIZE OR XIO_TOOLS_MISSING)
  return()
endif()

set(missing "${XIO_WHEEL_MISSING}")
set(kernels "")
if(TARGET abi-host-kernels)
  set(kernels ${XIO_TESTS_BINARY_DIR}/abi/host.gfx942.co)
endif()
# The kernels of the examples: gather.hip is linked with the bitcode, the others include the headers.
set(examples "")
set(example_target "")
if(kernels)
  set(examples ${XIO_TESTS_BINARY_DIR}/python-examples)
  file(MAKE_DIRECTORY ${examples})
  set(compiler ${XIO_BITCODE_CLANG} -x hip -std=c++17 -O3 --cuda-device-only "-D__host__=__attribute__((host))"
    "-D__device__=__attribute__((device))" "-D__global__=__attribute__((global))" -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/include
    --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=gfx942)
  set(gather -Xclang -mlink-builtin-bitcode -Xclang ${XIO_BITCODE_DIR}/libxio_device-gfx942.bc)
  foreach(name page_in slab)
    set(${name} -MD -MF ${examples}/${name}.d)
    set(depfile_${name} DEPFILE ${examples}/${name}.d)
  endforeach()
  foreach(name gather page_in slab)
    add_custom_command(OUTPUT ${examples}/${name}.gfx942.co
      COMMAND ${compiler} ${${name}} -c -o ${examples}/${name}.gfx942.co ${PROJECT_SOURCE_DIR}/examples/python/${name}.hip
      DEPENDS ${PROJECT_SOURCE_DIR}/examples/python/${name}.hip ${XIO_BITCODE_DIR}/libxio_device-gfx942.bc ${depfile_${name}} VERBATIM)
    list(APPEND example_kernels ${examples}/${name}.gfx942.co)
  endforeach()
  set(example_target python-example-kernels)
  add_custom_target(${example_target} DEPENDS ${example_kernels})
  add_dependencies(${example_target} bitcode-gfx942)
endif()
if(NOT missing)
  xio_register_test(NAME python.build LABELS python once TIMEOUT 600 LOCK build
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target wheel ${example_target})
  set_tests_properties(python.build PROPERTIES FIXTURES_SETUP wheel)
  if(kernels)
    # Behind the build of what both need.
    set_tests_properties(python.build PROPERTIES FIXTURES_REQUIRED abi-host)
  endif()
endif()
xio_register_tool_test("${missing}" NAME python.package LABELS python qemu once TIMEOUT 300
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/package.sh ${XIO_WHEEL_PYTHON} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/wheel
    ${XIO_TESTS_BINARY_DIR}/played-gpu "${kernels}")
if(kernels)
  set_tests_properties(python.package PROPERTIES FIXTURES_REQUIRED "wheel;abi-host")
else()
  set_tests_properties(python.package PROPERTIES FIXTURES_REQUIRED wheel)
endif()

if(kernels)
  foreach(how small whole)
    set(labels python machine qemu once)
    if(how STREQUAL whole)
      list(APPEND labels nightly)
    endif()
    xio_register_tool_test("${missing}" NAME python.examples.${how} LABELS ${labels} TIMEOUT 1800
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/examples.sh ${XIO_WHEEL_PYTHON} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/wheel
        ${XIO_TESTS_BINARY_DIR}/played-gpu ${examples} ${how})
    set_tests_properties(python.examples.${how} PROPERTIES FIXTURES_REQUIRED wheel)
  endforeach()
  # Instructions of a wave for each page, with 4 % to spare.
  xio_add_test(python/page_in_cost OWN_MAIN NO_TEST LIBS machine)
  foreach(row "prp.1 1 0 22.9" "sgl.1 1 1 33.9" "prp.4 4 0 38.1" "sgl.4 4 1 61.8")
    separate_arguments(row)
    list(POP_FRONT row name)
    xio_register_tool_test("${missing}" NAME python.page_in_cost.${name} LABELS python machine once
      COMMAND python-page_in_cost ${examples}/page_in.gfx942.co 10000 16384 ${row})
    set_tests_properties(python.page_in_cost.${name} PROPERTIES FIXTURES_REQUIRED wheel)
  endforeach()
endif()

if(NOT missing)
  xio_register_test(NAME python.chroot LABELS python qemu once nightly TIMEOUT 1800
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/chroot.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/wheel ${XIO_TESTS_BINARY_DIR}/python-chroot)
  set_tests_properties(python.chroot PROPERTIES FIXTURES_REQUIRED wheel)
endif()

# RDNA is not among them: the model does not know the 16-bit registers of newer compilers' code yet.
if(kernels AND NOT missing)
  set(python ${XIO_CACHE}/triton/bin/python)
  set(no_triton "")
  if(NOT EXISTS ${python})
    set(no_triton "no triton (scripts/triton-env)")
  endif()
  set(run COMMAND ${CMAKE_CURRENT_LIST_DIR}/triton.sh run ${python} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/wheel
    ${XIO_TESTS_BINARY_DIR}/played-gpu)
  if(NOT no_triton)
    xio_register_test(NAME python.triton.day LABELS python machine qemu once ${run} gfx942 1,8 64 2)
    set_tests_properties(python.triton.day PROPERTIES FIXTURES_REQUIRED wheel)
  endif()
  set(gpus gfx90a gfx942 sm_90)
  xio_register_tool_test("${no_triton}" NAME python.triton.build LABELS python once nightly TIMEOUT 1800
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/triton.sh build ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${gpus})
  # Others use the wheel as it was.
  set_tests_properties(python.triton.build PROPERTIES FIXTURES_SETUP triton FIXTURES_REQUIRED "wheel;abi-host" RESOURCE_LOCK build
    DEPENDS "python.package;python.chroot;python.examples.small;python.examples.whole;python.triton.day")
  foreach(gpu IN LISTS gpus)
    xio_register_tool_test("${no_triton}" NAME python.triton.${gpu} LABELS python machine qemu once nightly TIMEOUT 14400
      ${run} ${gpu} 1,2,4,8 16,32,64,128,256,512,1024 1,2,4,8)
    set_tests_properties(python.triton.${gpu} PROPERTIES FIXTURES_REQUIRED triton)
  endforeach()
endif()
