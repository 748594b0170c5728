# SPDX-License-Identifier: MIT
# What the program and its tests share. The tables state doorbells, fences and atomics for each operation.
set(tester_parts nvme/buffer_placement nvme/data_place clock/run nvme/executor nvme/plan launch/choice launch/gpu/images launch/gpu/executor
  launch/gpu/clock cli/interrupt launch/launcher nvme/phase_runner cli/progress rdma/plan
  rdma/providers rdma/pulse rdma/role rdma/runner rdma/session rdma/verbs
  measure/result measure/summary nvme/remote nvme/target nvme/verification kv/plan kv/runner cache/runner)
list(TRANSFORM tester_parts PREPEND ${XIO_BENCH_DIR}/tester/)
list(TRANSFORM tester_parts APPEND .cpp)
# One source for each vendor, since each instantiates a kernel.
foreach(vendor IN LISTS XIO_RDMA_VENDORS)
  set(type ${XIO_RDMA_VENDOR_TYPE_${vendor}})
  configure_file(${XIO_BENCH_DIR}/tester/rdma/provider.cpp.in ${XIO_VENDORS_DIR}/provider_${vendor}.cpp @ONLY)
  list(APPEND tester_parts ${XIO_VENDORS_DIR}/provider_${vendor}.cpp)
endforeach()
add_library(xio-tester-parts STATIC ${tester_parts})
xio_embed_kernels(xio-tester-parts XIO_TESTER kernels ${XIO_BENCH_DIR}/tester/launch/gpu/images.cpp ${XIO_BENCH_DIR}/tester/launch/gpu/kernels.hip)
xio_embed_kernels(xio-tester-parts XIO_TESTER drives_kernels ${XIO_BENCH_DIR}/tester/launch/gpu/images.cpp ${XIO_BENCH_DIR}/tester/launch/gpu/drives_kernels.hip)
xio_embed_kernels(xio-tester-parts XIO_TESTER rdma_kernels ${XIO_BENCH_DIR}/tester/launch/gpu/images.cpp ${XIO_BENCH_DIR}/tester/launch/gpu/rdma_kernels.hip)
xio_embed_kernels(xio-tester-parts XIO_TESTER kv_kernels ${XIO_BENCH_DIR}/tester/launch/gpu/images.cpp ${XIO_BENCH_DIR}/tester/launch/gpu/kv_kernels.hip)
xio_embed_kernels(xio-tester-parts XIO_TESTER cache_kernels ${XIO_BENCH_DIR}/tester/launch/gpu/images.cpp ${XIO_BENCH_DIR}/tester/launch/gpu/cache_kernels.hip)
xio_unity(xio-tester-parts 6)
target_link_libraries(xio-tester-parts PRIVATE xio_build_options)
target_link_libraries(xio-tester-parts PUBLIC xio::emulation)
target_include_directories(xio-tester-parts PUBLIC ${XIO_BENCH_DIR})
target_compile_definitions(xio-tester-parts PUBLIC XIO_COUNT_OPERATIONS=1)

# What reads options and prints tables: optimising it would be most of the build.
set(tester_tool clock/test doctor/doctor doctor/checks doctor/doorbells doctor/gpu_checks doctor/iommu doctor/machine doctor/machine_calls doctor/nvme_checks
  doctor/rdma_checks report/fio nvme/found_qemu nvme/info report/json_report nvme/list cli/nearest nvme/options nvme/run nvme/smart nvme/tables
  rdma/json rdma/options rdma/run rdma/tables report/cache_table report/columns report/endpoint_table report/files report/html report/options
  report/plan report/rdma_tables report/run report/spread report/text_table report/write cli/table tool kv/options kv/report kv/run cache/options cache/report cache/run)
list(TRANSFORM tester_tool PREPEND ${XIO_BENCH_DIR}/tester/)
list(TRANSFORM tester_tool APPEND .cpp)
add_library(xio-tester-tool STATIC ${tester_tool} ${XIO_BENCH_DIR}/tester/nvme/endpoint.cpp)
target_compile_options(xio-tester-tool PRIVATE -O0)
target_compile_definitions(xio-tester-tool PRIVATE ${XIO_DATA_DIR} XIO_PLOT_SCRIPT="${XIO_BENCH_DIR}/plot_report.py")
xio_unity(xio-tester-tool 20)
target_link_libraries(xio-tester-tool PRIVATE xio_build_options CLI11::CLI11 nlohmann_json::nlohmann_json)
target_link_libraries(xio-tester-tool PUBLIC xio-tester-parts)

xio_add_bench(xio-tester SOURCES tester/main.cpp LIBS xio-tester-tool)
xio_add_bench(test-rdma-loopback SOURCES tester/loopback_main.cpp LIBS xio-tester-tool)
# Of an inline function that several sources define, the linker keeps the first one: here that of an optimised source.
foreach(program xio-tester test-rdma-loopback)
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:xio-tester-parts>)
endforeach()
