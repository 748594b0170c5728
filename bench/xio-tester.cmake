# SPDX-License-Identifier: MIT
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)

# What the program and its tests share. The tables state doorbells, fences and atomics for each operation.
set(tester_parts executor executor_grid executor_thread executor_wave interrupt nvme_plan phase_runner progress summary
  target verification)
list(TRANSFORM tester_parts PREPEND ${XIO_BENCH_DIR}/tester/)
list(TRANSFORM tester_parts APPEND .cpp)
add_library(xio-tester-parts STATIC ${tester_parts})
target_link_libraries(xio-tester-parts PRIVATE xio_build_options)
target_link_libraries(xio-tester-parts PUBLIC xio::emulation)
target_include_directories(xio-tester-parts PUBLIC ${XIO_BENCH_DIR})
target_compile_definitions(xio-tester-parts PUBLIC XIO_COUNT_OPERATIONS=1)

xio_add_bench(xio-tester
  SOURCES
    tester/endpoint.cpp tester/info.cpp tester/json_report.cpp tester/list.cpp tester/main.cpp tester/nvme_options.cpp
    tester/nvme_run.cpp tester/nvme_tables.cpp tester/table.cpp
  LIBS xio-tester-parts CLI11::CLI11 nlohmann_json::nlohmann_json)

# Optimising what only reads options and prints tables would be most of the build.
set_source_files_properties(
  ${XIO_BENCH_DIR}/tester/info.cpp ${XIO_BENCH_DIR}/tester/json_report.cpp ${XIO_BENCH_DIR}/tester/list.cpp
  ${XIO_BENCH_DIR}/tester/main.cpp ${XIO_BENCH_DIR}/tester/nvme_options.cpp ${XIO_BENCH_DIR}/tester/nvme_run.cpp
  ${XIO_BENCH_DIR}/tester/nvme_tables.cpp
  TARGET_DIRECTORY xio-tester PROPERTIES COMPILE_OPTIONS -O0)
