# SPDX-License-Identifier: MIT
# Memory and mappings of GPUs, with runtimes that the test brings: no GPU, no HIP, no CUDA.
foreach(version new old)
  add_library(fake-gpu-${version} SHARED ${XIO_TESTS_DIR}/unit/fake_gpu/fake_gpu.cpp ${XIO_TESTS_DIR}/unit/fake_gpu/modules.cpp)
  target_link_libraries(fake-gpu-${version} PRIVATE xio_build_options)
  target_compile_options(fake-gpu-${version} PRIVATE -O0)
  set_target_properties(fake-gpu-${version} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${XIO_TESTS_BINARY_DIR})
endforeach()
target_compile_definitions(fake-gpu-old PRIVATE XIO_FAKE_OLD)
# As the libraries in C: their functions do not say of which type they are. Options of a source come last.
set_source_files_properties(${XIO_TESTS_DIR}/unit/fake_gpu/fake_gpu.cpp PROPERTIES
  COMPILE_OPTIONS $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
# One thread.
if(NOT XIO_SANITIZE MATCHES thread)
  xio_sanitized_sources(sources ADDRESS gpu_runtime gpu_memory gpu_modules gpu_doorbell gpu_drive_set)
  xio_add_tests(unit gpu SOURCES ${sources}
    DEFINITIONS XIO_FAKE_GPU="$<TARGET_FILE:fake-gpu-new>" XIO_FAKE_GPU_OLD="$<TARGET_FILE:fake-gpu-old>")
  if(TARGET unit-gpu)
    add_dependencies(unit-gpu fake-gpu-new fake-gpu-old)
  endif()
endif()

# The host side, without any device.
xio_sanitized_sources(sources BOTH host_memory host_doorbell_proxy host_qemu_channel host_controller_queues
  host_admin_queue host_controller_quirks host_wait host_queue_lists host_open host_errno
  ADDRESS host_child_process host_fabric host_fork host_files host_qemu_options host_queue_plan host_controller host_topology)
xio_add_tests(unit host SOURCES ${sources})

# The host side of RDMA, as far as it needs no device.
xio_sanitized_sources(sources BOTH host_rdma_exchange host_served_doorbell ADDRESS host_rdma_gid host_rdma_rings host_executor_reach)
xio_add_tests(unit host_rdma SOURCES ${sources})

# Queue pairs of the vendors' NICs, found through direct verbs. The libraries are the test's own: the dynamic linker finds
# them first, under the names of the real ones.
set(adoption_tests host_adopt_mlx5 host_adopt_vendors host_dma_buf host_mlx5_endpoint host_fabric_mlx5)
set(verbs_tests ${adoption_tests} host_direct_verbs)
xio_sanitized_sources(wanted ADDRESS ${verbs_tests})
if(NOT wanted OR XIO_SANITIZE MATCHES thread)
  # These have one thread.
elseif(XIO_MLX5DV_HEADER)
  xio_add_test(unit/host_direct_verbs)
  set(fakes ${XIO_TESTS_BINARY_DIR}/fake_verbs)
  foreach(name ibverbs mlx5 ionic bnxt_re rdmacm)
    add_library(fake-${name} SHARED ${XIO_TESTS_DIR}/unit/fake_verbs/${name}.cpp)
    target_link_libraries(fake-${name} PRIVATE xio_build_options)
    # As the libraries in C: their functions do not say of which type they are.
    set_source_files_properties(${XIO_TESTS_DIR}/unit/fake_verbs/${name}.cpp PROPERTIES
      COMPILE_OPTIONS $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    set_target_properties(fake-${name} PROPERTIES OUTPUT_NAME ${name} SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${fakes})
  endforeach()
  xio_add_tests(unit adoption SOURCES ${adoption_tests})
  # An example that needs a NIC, as a function of a test that has the semblance of one.
  set(example ${PROJECT_SOURCE_DIR}/examples/adopt_queue_pair.cpp)
  target_sources(unit-adoption PRIVATE ${example})
  set_source_files_properties(${example} PROPERTIES COMPILE_DEFINITIONS main=adopt_queue_pair SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  # An old-style run path: sanitizers call dlopen() in the program's place.
  target_link_options(unit-adoption PRIVATE LINKER:--disable-new-dtags LINKER:-rpath,${fakes})
  add_dependencies(unit-adoption fake-ibverbs fake-mlx5 fake-ionic fake-bnxt_re fake-rdmacm)
else()
  foreach(name IN LISTS verbs_tests)
    xio_register_test(NAME unit.${name} LABELS unit
      COMMAND ${XIO_TESTS_DIR}/unavailable.sh "infiniband/mlx5dv.h is not installed (Debian: libibverbs-dev)")
  endforeach()
endif()

# Controllers by vfio, and beside the kernel's driver, without a device: the kernel is played. libnvme finds this program's ioctl().
# One thread; and children that a signal ends hang under ThreadSanitizer.
if(NOT XIO_SANITIZE MATCHES thread)
  xio_sanitized_sources(sources ADDRESS host_vfio host_kernel_shared host_kernel_records host_kernel_use host_huge_page_limit host_namespaces host_revocable_mapping)
  xio_add_tests(unit host_kernel SOURCES ${sources})
  if(TARGET unit-host_kernel)
    set_target_properties(unit-host_kernel PROPERTIES ENABLE_EXPORTS ON)
  endif()
endif()
xio_register_test(NAME unit.xio_bind LABELS unit once COMMAND ${XIO_TESTS_DIR}/unit/xio_bind.sh)
# What doctor finds, likewise.
if(TARGET xio-tester-tool)
  xio_add_test(unit/tester_doctor LIBS xio-tester-tool
    DEFINITIONS XIO_FAKE_GPU="$<TARGET_FILE:fake-gpu-new>" XIO_FAKE_GPU_OLD="$<TARGET_FILE:fake-gpu-old>")
  add_dependencies(unit-tester_doctor fake-gpu-new fake-gpu-old)
endif()

# Kernels on the CPU, and small parts. Two define what the headers say.
set_source_files_properties(${XIO_TESTS_DIR}/unit/simt_interleave.cpp ${XIO_TESTS_DIR}/unit/simt_ucontext.cpp
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
xio_sanitized_sources(sources BOTH simt simt_divergence simt_blocks ADDRESS simt_failures pattern host_stream)
xio_add_tests(unit simt SOURCES ${sources})
if(NOT XIO_SANITIZE)
  xio_add_test(unit/simt_interleave)
endif()
xio_sanitized_sources(source ADDRESS simt_ucontext)
if(source)
  xio_add_test(unit/${source})
endif()

# The parts of the queue protocol that need no controller.
if(XIO_BUILD_PROTOCOL_TESTS)
  xio_sanitized_sources(sources BOTH protocol_doorbell rdma_reach rdma_sink ADDRESS protocol_deadline protocol_ring status_words)
  xio_add_tests(unit protocol SOURCES ${sources})
  if(NOT XIO_SANITIZE)
    xio_add_test(unit/protocol_litmus OPTIMISE -O1)
  endif()
endif()
