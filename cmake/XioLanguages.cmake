# SPDX-License-Identifier: MIT
# What kernels and programs of other languages need, installed where it was made: the target bitcode makes all bitcode, bitcode-<gpu> one,
# xio-host-library the host side in C, and wheel the package for Python, with the bitcode that is built by then.

# Not in a usual build, of which it would take 22 s: tests and the wheel ask for it.
add_library(xio-host-library SHARED EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/include/xio/host/c/xio_host.cpp)
target_link_libraries(xio-host-library PRIVATE xio_build_options xio_emulation ${CMAKE_DL_LIBS})
set_target_properties(xio-host-library PROPERTIES OUTPUT_NAME xio_host VERSION ${PROJECT_VERSION} SOVERSION 1
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/host)

find_program(XIO_WHEEL_PYTHON python3 HINTS /usr/bin DOC "Python with hatchling, which makes the wheel")
set(XIO_WHEEL_MISSING "no python3")
if(XIO_WHEEL_PYTHON)
  execute_process(COMMAND ${XIO_WHEEL_PYTHON} -c "import hatchling" RESULT_VARIABLE result ERROR_QUIET)
  set(XIO_WHEEL_MISSING "")
  if(result)
    set(XIO_WHEEL_MISSING "no hatchling (Debian: python3-hatchling)")
  endif()
endif()
if(XIO_WHEEL_MISSING)
  xio_left_out("the package for Python" "${XIO_WHEEL_MISSING}")
else()
  add_custom_target(wheel
    COMMAND ${CMAKE_COMMAND} -E env XIO_BUILD=${PROJECT_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1
      ${XIO_WHEEL_PYTHON} -m hatchling build -t wheel -d ${PROJECT_BINARY_DIR}/wheel
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/python COMMENT "Package for Python: ${PROJECT_BINARY_DIR}/wheel" VERBATIM)
  add_dependencies(wheel xio-host-library)
endif()

set(missing "")
if(NOT XIO_HIP_CLANG_PATH)
  set(missing "${XIO_HIP_CLANG} is not installed (Debian: clang-19)")
else()
  execute_process(COMMAND ${XIO_HIP_CLANG_PATH} -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(version VERSION_LESS 19)
    set(missing "${XIO_HIP_CLANG} is version ${version}; 19 or later is needed")
  endif()
endif()
if(missing)
  xio_left_out("bitcode for kernels of other languages" "${missing}")
  return()
endif()
set(XIO_BITCODE_CLANG ${XIO_HIP_CLANG_PATH} CACHE FILEPATH "clang for bitcode, no newer than the LLVM that reads it")
set(XIO_BITCODE_DIR ${PROJECT_BINARY_DIR}/bitcode)
# NVIDIA's of the oldest GPU serves newer ones, too.
set(XIO_BITCODE_TARGETS ${XIO_HIP_TARGETS} sm_70)
if(NOT XIO_NVCC_MISSING)
  set(XIO_BITCODE_NVCC ${XIO_NVCC} CACHE FILEPATH "nvcc for LTO-IR")
  list(APPEND XIO_BITCODE_TARGETS lto_90)
endif()
add_custom_target(bitcode)
foreach(gpu IN LISTS XIO_BITCODE_TARGETS)
  xio_add_bitcode(bitcode-${gpu} TARGETS ${gpu} DIRECTORY ${XIO_BITCODE_DIR})
  add_dependencies(bitcode bitcode-${gpu})
endforeach()
