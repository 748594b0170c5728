# SPDX-License-Identifier: MIT
# What scripts/gpu runs compiles everywhere: tests/gpu/*.hip for AMD, one target for each size of a wave, of which one at night, and for
# NVIDIA, at night too: what it uses is compiled and executed by the tests of the machine for all targets.

file(GLOB gpu_programs CONFIGURE_DEPENDS RELATIVE ${XIO_TESTS_DIR} ${XIO_TESTS_DIR}/gpu/*.hip)
foreach(program IN LISTS gpu_programs)
  xio_compile_kernels(${program} ARCHS gfx942 gfx1201 NIGHTLY gfx1201)
  xio_nvcc_compile_test(${program} LABELS nightly)
endforeach()
