# SPDX-License-Identifier: MIT
# Compiles device code for NVIDIA in tests, by calling nvcc directly: needs neither the CUDA language of CMake nor a GPU.

# XIO_NVCC_MISSING says why not; empty where it can.
set(XIO_NVCC_MISSING "")
if(NOT XIO_NVCC)
  set(XIO_NVCC_MISSING "no nvcc (scripts/nvcc-env installs one privately, or set XIO_NVCC)")
  if(XIO_BUILD_TESTS)
    xio_left_out("tests that compile with nvcc" "${XIO_NVCC_MISSING}")
  endif()
endif()

set(XIO_NVCC_FLAGS
  -x cu -std=c++17 -O3 -Werror all-warnings -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests -I${PROJECT_SOURCE_DIR}/bench
  -I${XIO_VENDORS_DIR})

# Compiles tests/<source> (.cu or .hip), or a file given by its full path, for sm_90; device and host pass.
#   xio_nvcc_compile_test(<group>/<file>.cu [ARCH sm_90] [FLAGS flag...] [NAME test-name] [LABELS label...])
function(xio_nvcc_compile_test source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCH;NAME" "FLAGS;LABELS")
  if(NOT arg_ARCH)
    set(arg_ARCH sm_90)
  endif()
  if(IS_ABSOLUTE ${source})
    set(path ${source})
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
  else()
    set(path ${PROJECT_SOURCE_DIR}/tests/${source})
  endif()
  if(NOT arg_NAME)
    xio_codegen_name(${source} compile arg_NAME)
  endif()
  xio_codegen_output(${source} compile ${arg_ARCH} o output)
  file(MAKE_DIRECTORY ${XIO_CODEGEN_BINARY_DIR})
  xio_register_tool_test("${XIO_NVCC_MISSING}" NAME ${arg_NAME}.${arg_ARCH} LABELS codegen ${arg_LABELS} TIMEOUT 600
    COMMAND ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=${arg_ARCH} ${arg_FLAGS} -c -o ${output} ${path})
endfunction()
