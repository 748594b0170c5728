# SPDX-License-Identifier: MIT
# What docstrings show by @snippet. Those with kernels are compiled for a GPU too.
set(kernels nvme commands options drive_set rdma receive com)
xio_add_snippets(${kernels} host rdma_host emulation)
if(XIO_BUILD_TESTS)
  foreach(name IN LISTS kernels)
    xio_register_tool_test("${XIO_HIP_MISSING}" NAME examples.snippets.${name}.compile.gfx942 LABELS examples nightly
      COMMAND ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} -O1 --offload-arch=gfx942 -S
        -o ${XIO_EXAMPLES_BINARY_DIR}/snippets/${name}.gfx942.s ${XIO_EXAMPLES_DIR}/snippets/${name}.cpp)
  endforeach()
endif()
