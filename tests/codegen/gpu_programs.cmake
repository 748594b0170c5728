# SPDX-License-Identifier: MIT
# What scripts/gpu runs compiles everywhere: tests/gpu/*.hip for AMD, one target for each size of a wave, of which
# one at night, and for NVIDIA. The tests of the protocol are large: nvcc needs more than a minute, at night too; what they use is compiled
# there by other tests.

file(GLOB gpu_programs CONFIGURE_DEPENDS RELATIVE ${XIO_TESTS_DIR} ${XIO_TESTS_DIR}/gpu/*.hip)
foreach(program IN LISTS gpu_programs)
  if(program MATCHES protocol)
    xio_compile_kernels(${program} ARCHS gfx942 gfx1201 NIGHTLY gfx942)
    xio_nvcc_compile_test(${program} LABELS nightly)
  else()
    xio_compile_kernels(${program} ARCHS gfx942 gfx1201 NIGHTLY gfx1201)
    xio_nvcc_compile_test(${program})
  endif()
endforeach()
