# SPDX-License-Identifier: MIT
# Bitcode of this build, which is installed where it was made: the target bitcode makes all of it, bitcode-<gpu> one.

if(NOT XIO_HIP_CLANG_PATH)
  xio_left_out("bitcode for kernels of other languages" "${XIO_HIP_CLANG} is not installed (Debian: clang-19)")
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
