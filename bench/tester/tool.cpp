// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include <xio/version.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/output.hpp"
#include "tester/clock/test.hpp"
#include "tester/doctor/doctor.hpp"
#include "tester/nvme/endpoint.hpp"
#include "tester/nvme/info.hpp"
#include "tester/nvme/options.hpp"
#include "tester/nvme/run.hpp"
#include "tester/rdma/run.hpp"
#include "tester/report/run.hpp"
#include "tester/tool.hpp"

namespace {

int complain(const std::string& message, int status) {
  std::fprintf(stderr, "xio-tester: %s\n", tester::one_line(message).c_str());
  return status;
}

/// Name of the sub-command that was given, for a hint.
std::string help_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return "xio-tester " + (chosen.empty() ? std::string() : chosen.front()->get_name() + " ") + "--help";
}

bool has_command(const CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands([&name](const CLI::App* one) { return one->get_name() == name; });
  return !all.empty();
}

int run(int argc, const char* const* argv) {
  CLI::App app{"Drives I/O queues from kernels, as a GPU does: measures and verifies.", "xio-tester"};
  app.set_version_flag("--version", "xio-tester " + std::to_string(XIO_VERSION_MAJOR) + "." +
                                        std::to_string(XIO_VERSION_MINOR) + "." + std::to_string(XIO_VERSION_PATCH));
  app.require_subcommand(1);
  tester::NvmeOptions nvme;
  tester::RdmaOptions rdma;
  tester::EndpointOptions endpoint;
  tester::ReportOptions report;
  tester::InfoOptions info;
  tester::ListOptions list;
  tester::DoctorOptions doctor;
  tester::ClockOptions clock;
  const CLI::App* const nvme_command = tester::add_nvme_command(app, nvme);
  const CLI::App* const rdma_command = tester::add_rdma_command(app, rdma);
  const CLI::App* const endpoint_command = tester::add_endpoint_command(app, endpoint);
  const CLI::App* const report_command = tester::add_report_command(app, report);
  const CLI::App* const info_command = tester::add_info_command(app, info);
  tester::add_list_command(app, list);
  const CLI::App* const doctor_command = tester::add_doctor_command(app, doctor);
  const CLI::App* const clock_command = tester::add_clock_command(app, clock);
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.empty() && first[0] != '-' && !has_command(app, first))
    return complain(
        first + " is no sub-command; nvme-ep, rdma-ep, test-ep, report, info, list, doctor and clock-test are",
        tester::exit_bad_input);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return complain(std::string(error.what()) + "; " + help_of(app) + " lists what is accepted",
                    tester::exit_bad_input);
  }
  if (nvme_command->parsed()) return tester::run_nvme(nvme);
  if (rdma_command->parsed()) return tester::run_rdma(rdma);
  if (endpoint_command->parsed()) return tester::run_endpoint(endpoint);
  if (clock_command->parsed()) return tester::run_clock_test(clock);
  if (doctor_command->parsed()) return tester::run_doctor(doctor);
  if (report_command->parsed()) return tester::run_report(report);
  return info_command->parsed() ? tester::run_info(info) : tester::run_list(list);
}

}  // namespace

namespace tester {

int run_tool(int argc, const char* const* argv) {
  return with_checked_output("xio-tester", [&] {
    try {
      return run(argc, argv);
    } catch (const CannotRun& reason) {
      return complain(reason.what(), exit_cannot_run);
    } catch (const Failed& failure) {
      return complain(failure.what(), exit_failed);
    } catch (const std::bad_alloc&) {
      return complain("out of memory; ask for fewer queues, a smaller depth or smaller operations", exit_bad_input);
    } catch (const std::exception& error) {
      return complain(error.what(), exit_bad_input);
    }
  });
}

}  // namespace tester
