# SPDX-License-Identifier: MIT
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
xio_add_bench(xio-tester
  SOURCES
    tester/endpoint.cpp tester/executor.cpp tester/executor_grid.cpp tester/executor_thread.cpp tester/executor_wave.cpp
    tester/info.cpp tester/interrupt.cpp tester/json_report.cpp tester/list.cpp tester/main.cpp tester/nvme_options.cpp
    tester/nvme_plan.cpp tester/nvme_run.cpp tester/nvme_tables.cpp tester/phase_runner.cpp tester/progress.cpp
    tester/summary.cpp tester/table.cpp tester/target.cpp tester/verification.cpp
  LIBS CLI11::CLI11 nlohmann_json::nlohmann_json)
# The tables state doorbells, fences and atomics for each operation.
target_compile_definitions(xio-tester PRIVATE XIO_COUNT_OPERATIONS=1)
