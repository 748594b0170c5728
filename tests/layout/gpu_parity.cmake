# SPDX-License-Identifier: MIT
# Our declarations of HIP, HSA and CUDA against the headers of three versions: those that are installed, those of a newer
# ROCm (scripts/rocm-headers), and those of nvcc. Only compiled.

find_path(XIO_HIP_INCLUDE hip/hip_runtime_api.h DOC "HIP's headers (Debian: libamdhip64-dev)")
get_filename_component(cuda_include "${XIO_NVCC}" DIRECTORY)
set(cuda_include ${cuda_include}/../include)

# xio_gpu_parity(<name> <include folder> <why there is none> [definition])
function(xio_gpu_parity name include missing)
  if(EXISTS "${include}")
    set(missing "")
  endif()
  # /usr/include must stay where the compiler has it.
  set(include_flags "")
  if(NOT include STREQUAL "/usr/include")
    set(include_flags -isystem ${include})
  endif()
  list(TRANSFORM ARGN PREPEND -D OUTPUT_VARIABLE definitions)
  xio_register_tool_test("${missing}" NAME layout.gpu_parity.${name} LABELS layout
    COMMAND ${XIO_TESTS_CXX} -std=c++17 -Wall -Wextra -Werror -fsyntax-only ${definitions}
      -I${PROJECT_SOURCE_DIR}/include ${include_flags} ${XIO_TESTS_DIR}/layout/gpu_parity.cpp)
endfunction()
xio_gpu_parity(hip "${XIO_HIP_INCLUDE}" "no HIP headers (Debian: libamdhip64-dev)" XIO_PARITY_ROCM)
xio_gpu_parity(rocm "${XIO_ROCM_HEADERS}" "no headers of a newer ROCm (scripts/rocm-headers)" XIO_PARITY_ROCM)
xio_gpu_parity(cuda "${cuda_include}" "no CUDA headers (scripts/nvcc-env)")
