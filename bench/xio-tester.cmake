# SPDX-License-Identifier: MIT
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)

# What the program and its tests share. The tables state doorbells, fences and atomics for each operation.
set(tester_parts buffer_placement clock_run executor executor_choice executor_grid executor_memory executor_thread executor_wave
  gpu/clock gpu/images gpu/executor interrupt launcher nvme_plan phase_runner progress
  rdma_bnxt rdma_ernic rdma_ionic rdma_mlx5 rdma_plan rdma_providers rdma_pulse rdma_role rdma_runner rdma_rxe
  rdma_session rdma_verbs summary target verification)
list(TRANSFORM tester_parts PREPEND ${XIO_BENCH_DIR}/tester/)
list(TRANSFORM tester_parts APPEND .cpp)
add_library(xio-tester-parts STATIC ${tester_parts})
xio_embed_kernels(xio-tester-parts kernels ${XIO_BENCH_DIR}/tester/gpu/images.cpp ${XIO_BENCH_DIR}/tester/gpu/kernels.hip)
xio_embed_kernels(xio-tester-parts rdma_kernels ${XIO_BENCH_DIR}/tester/gpu/images.cpp ${XIO_BENCH_DIR}/tester/gpu/rdma_kernels.hip)
xio_unity(xio-tester-parts 6)
target_link_libraries(xio-tester-parts PRIVATE xio_build_options)
target_link_libraries(xio-tester-parts PUBLIC xio::emulation)
target_include_directories(xio-tester-parts PUBLIC ${XIO_BENCH_DIR})
target_compile_definitions(xio-tester-parts PUBLIC XIO_COUNT_OPERATIONS=1)

# What reads options and prints tables: optimising it would be most of the build.
set(tester_tool clock_test doctor doctor/checks doctor/doorbells doctor/gpu_checks doctor/iommu doctor/machine doctor/machine_calls doctor/nvme_checks
  doctor/rdma_checks fio found_qemu info json_report list machine nearest nvme_options nvme_run nvme_tables
  rdma_json rdma_options rdma_run rdma_tables report_columns report_options report_plan report_run report_write table tool)
list(TRANSFORM tester_tool PREPEND ${XIO_BENCH_DIR}/tester/)
list(TRANSFORM tester_tool APPEND .cpp)
add_library(xio-tester-tool STATIC ${tester_tool} ${XIO_BENCH_DIR}/tester/endpoint.cpp)
target_compile_options(xio-tester-tool PRIVATE -O0)
target_compile_definitions(xio-tester-tool PRIVATE XIO_PLOT_SCRIPT="${XIO_BENCH_DIR}/plot_report.py")
xio_unity(xio-tester-tool 4)
target_link_libraries(xio-tester-tool PRIVATE xio_build_options CLI11::CLI11 nlohmann_json::nlohmann_json)
target_link_libraries(xio-tester-tool PUBLIC xio-tester-parts)

xio_add_bench(xio-tester SOURCES tester/main.cpp LIBS xio-tester-tool)
xio_add_bench(test-rdma-loopback SOURCES tester/loopback_main.cpp LIBS xio-tester-tool)
