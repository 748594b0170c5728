# SPDX-License-Identifier: MIT
# The in-process controller is always there; tests/qemu/tester_examples.sh runs the same examples on QEMU's.
xio_add_example(read_blocks ARGS emulated MUST_FAIL_ARGS emulated 131000)              # beyond the end
xio_add_example(write_verify ARGS emulated MUST_FAIL_ARGS emulated:discard=1)          # a drive that stores nothing
xio_add_example(wave_batch ARGS emulated MUST_FAIL_ARGS emulated 300)                  # more than the depth
xio_add_example(checksum_file ARGS emulated MUST_FAIL_ARGS emulated /proc/self/exe damage)
xio_add_example(put_and_wait MUST_FAIL_ARGS 4096)                                      # beyond the peer's memory
xio_add_example(ping_pong MUST_FAIL_ARGS 10 damage)                                    # a key of nobody
xio_add_example(all_to_all MUST_FAIL_ARGS 65544)                                       # larger than a rank's block
xio_add_example(nvme_to_rdma ARGS emulated MUST_FAIL_ARGS emulated 9000)               # beyond the end
include(CheckIncludeFileCXX)
check_include_file_cxx(infiniband/mlx5dv.h XIO_HAVE_MLX5DV)
if(XIO_HAVE_MLX5DV)
  xio_add_example(adopt_queue_pair MUST_FAIL_ARGS 4096)                                # beyond the memory
endif()

# The kernels as a GPU gets them, for all targets; no scratch memory.
if(XIO_BUILD_TESTS)
  xio_compile_kernels(${XIO_EXAMPLES_DIR}/kernels/kernels.hip NAME examples.kernels)
  xio_nvcc_compile_test(${XIO_EXAMPLES_DIR}/kernels/kernels.hip NAME examples.kernels)
endif()
