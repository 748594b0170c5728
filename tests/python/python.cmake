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
if(NOT missing)
  xio_register_test(NAME python.build LABELS python once TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target wheel)
  set_tests_properties(python.build PROPERTIES FIXTURES_SETUP wheel)
  if(kernels)
    # One build at a time.
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
  xio_register_tool_test("${no_triton}" NAME python.triton LABELS python machine qemu once nightly TIMEOUT 1800
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/triton.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${python} ${XIO_TESTS_BINARY_DIR}/played-gpu
      gfx90a gfx942 sm_90)
  set_tests_properties(python.triton PROPERTIES DEPENDS "python.package;python.chroot" FIXTURES_REQUIRED "wheel;abi-host")
endif()
