# SPDX-License-Identifier: MIT
# What scripts/gpu runs compiles everywhere: tests/gpu/*.hip for AMD, one target for each size of a wave, and for NVIDIA. At night, but for
# what the tests of the machine do not link and run (tests/machine): they execute what these programs use for all targets.

file(GLOB gpu_programs CONFIGURE_DEPENDS RELATIVE ${XIO_TESTS_DIR} ${XIO_TESTS_DIR}/gpu/*.hip)
foreach(program IN LISTS gpu_programs)
  set(later gfx1201)
  if(program MATCHES protocol)
    list(APPEND later gfx942)
  endif()
  xio_compile_kernels(${program} ARCHS gfx942 gfx1201 NIGHTLY ${later})
  xio_nvcc_compile_test(${program} LABELS nightly)
endforeach()
