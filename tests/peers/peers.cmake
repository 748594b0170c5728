# SPDX-License-Identifier: MIT
# Other libraries' writes beside ours, on the model of the GPU. scripts/peers-env fetches their device code; nothing of
# it is here.

if(XIO_SANITIZE OR XIO_TOOLS_MISSING)
  return()
endif()

foreach(target sm_90 gfx942)
  if(target STREQUAL sm_90)
    set(missing "${XIO_NVCC_MISSING}")
    set(compile ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=sm_90 -lineinfo -ptx)
  else()
    set(missing "${XIO_HIP_MISSING}")
    set(compile ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${target} -gline-tables-only -S)
  endif()
  xio_register_tool_test("${missing}" NAME peers.${target} LABELS machine nightly TIMEOUT 300
    COMMAND ${XIO_TESTS_DIR}/peers/peers.py ${target} $<TARGET_FILE:machine-run> ${XIO_CACHE}/peers
      ${XIO_TESTS_BINARY_DIR}/peers ${XIO_CODEGEN_BINARY_DIR}/counts ${compile})
endforeach()
