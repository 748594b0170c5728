# SPDX-License-Identifier: MIT
# The host side of RDMA, as far as it needs no device.
xio_sanitized_sources(sources BOTH host_rdma_exchange host_served_doorbell ADDRESS host_rdma_gid host_rdma_rings host_executor_reach)
xio_add_tests(unit host_rdma SOURCES ${sources})

# Queue pairs of the vendors' NICs, found through direct verbs. The libraries are the test's own: the dynamic linker finds
# them first, under the names of the real ones.
set(adoption_tests host_adopt_mlx5 host_adopt_vendors host_dma_buf host_mlx5_endpoint)
set(verbs_tests ${adoption_tests} host_direct_verbs)
xio_sanitized_sources(wanted ADDRESS ${verbs_tests})
if(NOT wanted OR XIO_SANITIZE MATCHES thread)
  # These have one thread.
elseif(XIO_MLX5DV_HEADER)
  xio_add_test(unit/host_direct_verbs)
  set(fakes ${XIO_TESTS_BINARY_DIR}/fake_verbs)
  foreach(name ibverbs mlx5 ionic bnxt_re)
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
  add_dependencies(unit-adoption fake-ibverbs fake-mlx5 fake-ionic fake-bnxt_re)
else()
  foreach(name IN LISTS verbs_tests)
    xio_register_test(NAME unit.${name} LABELS unit
      COMMAND ${XIO_TESTS_DIR}/unavailable.sh "infiniband/mlx5dv.h is not installed (Debian: libibverbs-dev)")
  endforeach()
endif()
