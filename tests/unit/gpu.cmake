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
if(XIO_SANITIZE MATCHES thread)
  return()
endif()
xio_sanitized_sources(sources ADDRESS gpu_runtime gpu_memory gpu_modules gpu_doorbell)
xio_add_tests(unit gpu SOURCES ${sources}
  DEFINITIONS XIO_FAKE_GPU="$<TARGET_FILE:fake-gpu-new>" XIO_FAKE_GPU_OLD="$<TARGET_FILE:fake-gpu-old>")
if(TARGET unit-gpu)
  add_dependencies(unit-gpu fake-gpu-new fake-gpu-old)
endif()
