# SPDX-License-Identifier: MIT
# What scripts/gpu runs compiles everywhere: tests/gpu/*.hip for AMD, one target for each size of a wave, and for NVIDIA
# (nvcc needs more than a minute for all tests of the protocol; what they use is compiled for sm_90 by other tests too).

file(GLOB gpu_programs CONFIGURE_DEPENDS RELATIVE ${XIO_TESTS_DIR} ${XIO_TESTS_DIR}/gpu/*.hip)
foreach(program IN LISTS gpu_programs)
  xio_compile_kernels(${program} ARCHS gfx942 gfx1201)
  if(program MATCHES protocol)
    xio_nvcc_compile_test(${program} LABELS nightly)
  else()
    xio_nvcc_compile_test(${program})
  endif()
endforeach()
