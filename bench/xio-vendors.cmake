# SPDX-License-Identifier: MIT
# What is counted and what is timed are the same templates, compiled with counters and without: as two versions of the
# library in one program.
add_library(xio-vendors-counts OBJECT EXCLUDE_FROM_ALL ${XIO_BENCH_DIR}/vendors/counts.cpp)
target_compile_definitions(xio-vendors-counts PRIVATE XIO_COUNT_OPERATIONS=1 XIO_ABI=counted)
target_compile_options(xio-vendors-counts PRIVATE -O0)
add_library(xio-vendors-times OBJECT EXCLUDE_FROM_ALL ${XIO_BENCH_DIR}/vendors/times.cpp)
target_compile_definitions(xio-vendors-times PRIVATE XIO_ABI=timed)
target_compile_options(xio-vendors-times PRIVATE -O3)
foreach(part xio-vendors-counts xio-vendors-times)
  target_link_libraries(${part} PRIVATE xio_build_options xio::emulation)
  target_include_directories(${part} PRIVATE ${XIO_BENCH_DIR})
endforeach()

# Reading options and printing: optimising it would be most of the build.
set(vendors_tool main peers report target_counts)
list(TRANSFORM vendors_tool PREPEND vendors/)
list(TRANSFORM vendors_tool APPEND .cpp)
xio_add_bench(xio-vendors SOURCES ${vendors_tool}
  LIBS xio-vendors-counts xio-vendors-times CLI11::CLI11 nlohmann_json::nlohmann_json)
target_compile_options(xio-vendors PRIVATE -O0)
target_compile_definitions(xio-vendors PRIVATE ${XIO_DATA_DIR} XIO_VENDORS_COUNTS="${PROJECT_BINARY_DIR}/tests/codegen/counts")
