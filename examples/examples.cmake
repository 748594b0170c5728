# SPDX-License-Identifier: MIT
# The in-process controller is always available; tests/qemu/tester_examples.sh runs the same examples on QEMU's.
foreach(name first_read many_waves batch several_drives vectoradd bfs key_value notifications first_put nvme_to_rdma)
  xio_add_example(${name} TYPED)
endforeach()
xio_add_example(read_blocks ARGS emulated MUST_FAIL_ARGS emulated 131000)              # beyond the end
xio_add_example(write_verify ARGS emulated MUST_FAIL_ARGS emulated:discard=1)          # a drive that stores nothing
xio_add_example(wave_batch ARGS emulated MUST_FAIL_ARGS emulated 300)                  # more than the depth
xio_add_example(checksum_file ARGS emulated MUST_FAIL_ARGS emulated /proc/self/exe damage)
xio_add_example(custom_controller ARGS emulated MUST_FAIL_ARGS tape)
xio_add_example(put_and_wait MUST_FAIL_ARGS 4096)                                      # beyond the peer's memory
xio_add_example(ping_pong MUST_FAIL_ARGS 10 damage)                                    # a key of nobody
xio_add_example(all_to_all MUST_FAIL_ARGS 65544)                                       # larger than a rank's block
xio_add_example(stream_io ARGS emulated MUST_FAIL_ARGS emulated:discard=1)             # a drive that stores nothing
xio_add_example(zone_log ON_QEMU)                                                      # only QEMU's controller has zones
if(XIO_MLX5DV_HEADER)
  xio_add_example(adopt_queue_pair MUST_FAIL_ARGS 4096)                                # beyond the memory
endif()

# The examples' kernels for all GPU targets; no scratch memory.
if(XIO_BUILD_TESTS)
  xio_compile_kernels(${XIO_EXAMPLES_DIR}/kernels/kernels.hip NAME examples.kernels NIGHTLY gfx90a gfx1100 gfx1201)
  xio_nvcc_compile_test(${XIO_EXAMPLES_DIR}/kernels/kernels.hip NAME examples.kernels LABELS nightly)

  # Programs for a GPU: compiled for one target of each wave size, linked with HIP, and run; exit status 77 without a GPU.
  find_library(XIO_AMDHIP64 amdhip64 PATHS /opt/rocm/lib DOC "HIP's runtime (Debian: libamdhip64-dev)")
  set(missing "${XIO_HIP_MISSING}")
  if(NOT missing AND NOT XIO_AMDHIP64)
    set(missing "no libamdhip64 (Debian: libamdhip64-dev)")
  endif()
  # The first one is the same source as for the CPU; as a reader's first command compiles it: not optimised.
  set(first_read -x hip -std=c++17 --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS} --offload-arch=gfx942 --offload-arch=gfx1201
    -Wall -Wextra -Wshadow -Werror -I${PROJECT_SOURCE_DIR}/include ${XIO_EXAMPLES_DIR}/first_read.cpp
    -x none ${XIO_AMDHIP64} -lpthread -ldl)
  xio_register_tool_test("${missing}" NAME examples.first_read_gpu.link LABELS examples
    COMMAND ${XIO_HIP_CLANG_PATH} ${first_read} -o ${XIO_EXAMPLES_BINARY_DIR}/first_read_gpu)
  if(NOT missing)
    set_tests_properties(examples.first_read_gpu.link PROPERTIES FIXTURES_SETUP first_read_gpu)
  endif()
  # The newer compiler wants a newer ROCm's headers, and a bundler of its own.
  set(missing_newer "${missing}")
  if(NOT missing_newer)
    set(missing_newer "${XIO_HIP_NEWER_MISSING}")
  endif()
  if(NOT missing_newer)
    get_filename_component(folder ${XIO_HIP_NEWER_PATH} REALPATH)
    get_filename_component(folder ${folder} DIRECTORY)
    if(NOT EXISTS ${folder}/clang-offload-bundler)
      set(missing_newer "no clang-offload-bundler of ${XIO_HIP_NEWER} (Debian: clang-tools-22)")
    elseif(NOT XIO_ROCM_HEADERS)
      set(missing_newer "no headers of a newer ROCm (scripts/rocm-headers)")
    endif()
  endif()
  set(XIO_FIRST_READ_NEWER_MISSING "${missing_newer}" CACHE INTERNAL "")
  xio_register_tool_test("${missing_newer}" NAME examples.first_read_newer.link LABELS examples nightly
    COMMAND ${XIO_HIP_NEWER_PATH} -isystem ${XIO_ROCM_HEADERS} ${first_read} -o ${XIO_EXAMPLES_BINARY_DIR}/first_read_newer)
  if(NOT missing_newer)
    set_tests_properties(examples.first_read_newer.link PROPERTIES FIXTURES_SETUP first_read_newer)
  endif()
  # For the played GPU: with the runtime as a shared library, and kernels that are not compressed.
  set(missing_cuda "${XIO_NVCC_MISSING}")
  if(NOT missing_cuda)
    get_filename_component(folder ${XIO_NVCC} DIRECTORY)
    file(GLOB XIO_CUDART ${folder}/../lib*/libcudart.so.1?)
    list(APPEND XIO_CUDART missing)
    list(GET XIO_CUDART 0 XIO_CUDART)
    if(XIO_CUDART STREQUAL "missing")
      set(missing_cuda "no libcudart.so beside ${XIO_NVCC}")
    endif()
  endif()
  foreach(name first_read batch several_drives notifications)
    xio_register_tool_test("${missing_cuda}" NAME examples.${name}_nvidia.link LABELS examples nightly
      COMMAND ${XIO_NVCC} ${XIO_NVCC_FLAGS} -x cu -arch=sm_90 -cudart none --compress-mode=none ${XIO_EXAMPLES_DIR}/${name}.cpp
        -Xlinker ${XIO_CUDART} -o ${XIO_EXAMPLES_BINARY_DIR}/${name}_nvidia)
    if(NOT missing_cuda)
      set_tests_properties(examples.${name}_nvidia.link PROPERTIES FIXTURES_SETUP ${name}_nvidia)
    endif()
  endforeach()
  set(program ${XIO_EXAMPLES_BINARY_DIR}/stream_io_gpu)
  xio_register_tool_test("${missing}" NAME examples.stream_io_gpu.link LABELS examples nightly
    COMMAND ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 -O1 -Xarch_host -O0 --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS}
      --offload-arch=gfx942 --offload-arch=gfx1201 -Wall -Wextra -Wshadow -Werror -I${PROJECT_SOURCE_DIR}/include
      ${XIO_EXAMPLES_DIR}/gpu/stream_io.hip -x none ${XIO_AMDHIP64} -lpthread -ldl -o ${program})
  xio_register_tool_test("${missing}" NAME examples.stream_io_gpu LABELS examples nightly COMMAND ${program})
  if(NOT missing)
    set_tests_properties(examples.stream_io_gpu.link PROPERTIES FIXTURES_SETUP stream_io_gpu)
    set_tests_properties(examples.stream_io_gpu PROPERTIES FIXTURES_REQUIRED stream_io_gpu)
  endif()
  xio_nvcc_compile_test(${XIO_EXAMPLES_DIR}/gpu/stream_io.hip NAME examples.stream_io_gpu.compile LABELS nightly)
endif()

# What docstrings show by @snippet. Those with kernels are compiled for a GPU too.
set(kernels nvme commands options drive_set cache kv_queue rdma receive com)
xio_add_snippets(${kernels} host rdma_host emulation)
if(XIO_BUILD_TESTS)
  foreach(name IN LISTS kernels)
    xio_register_tool_test("${XIO_HIP_MISSING}" NAME examples.snippets.${name}.compile.gfx942 LABELS examples nightly
      COMMAND ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} -O1 --offload-arch=gfx942 -S
        -o ${XIO_EXAMPLES_BINARY_DIR}/snippets/${name}.gfx942.s ${XIO_EXAMPLES_DIR}/snippets/${name}.cpp)
  endforeach()
endif()
