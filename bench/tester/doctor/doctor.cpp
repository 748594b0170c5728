// SPDX-License-Identifier: MIT
#include "tester/doctor/doctor.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/doctor/checks.hpp"
#include "tester/doctor/doorbells.hpp"
#include "tester/nvme/remote.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

using doctor::DeviceReport;
using doctor::DoorbellView;
using doctor::DoorbellWay;
using doctor::Fact;
using doctor::ModeReport;
using doctor::Obstacle;

std::string modes_list(const char* separator) {
  std::string text;
  for (const std::string& mode : doctor::all_modes) text += (text.empty() ? "" : separator) + mode;
  return text;
}

nlohmann::ordered_json obstacles_json(const std::vector<Obstacle>& obstacles) {
  auto all = nlohmann::ordered_json::array();
  for (const Obstacle& one : obstacles) all.push_back({{"what", one.what}, {"fix", one.fix}});
  return all;
}

nlohmann::ordered_json mode_json(const ModeReport& report) {
  nlohmann::ordered_json json = {{"mode", report.mode},
                                 {"works", report.works()},
                                 {"obstacles", obstacles_json(report.obstacles)},
                                 {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceReport& one : report.devices)
    json["devices"].push_back({{"name", one.name},
                               {"works", report.obstacles.empty() && one.obstacles.empty()},
                               {"obstacles", obstacles_json(one.obstacles)},
                               {"notes", one.notes}});
  return json;
}

void print_obstacles(const std::string& of, const std::vector<Obstacle>& obstacles) {
  for (const Obstacle& one : obstacles) {
    std::printf("  %s%s\n", of.c_str(), one.what.c_str());
    std::printf("      fix: %s\n", one.fix.c_str());
  }
}

void print_mode(const ModeReport& report) {
  std::string with;
  for (const std::string& name : report.usable()) with += (with.empty() ? ", with " : ", ") + name;
  std::printf("%-14s %s%s\n", report.mode.c_str(), report.works() ? "works" : "does not work",
              report.works() ? with.c_str() : "");
  print_obstacles("", report.obstacles);
  for (const DeviceReport& one : report.devices) {
    print_obstacles(one.name + ": ", one.obstacles);
    for (const std::string& note : one.notes) std::printf("  %s: %s\n", one.name.c_str(), note.c_str());
  }
}

nlohmann::ordered_json doorbells_json(const DoorbellView& view) {
  nlohmann::ordered_json json = {
      {"executor", view.executor}, {"ways", nlohmann::ordered_json::array()}, {"hint", view.hint}};
  for (const DoorbellWay& one : view.ways)
    json["ways"].push_back({{"way", one.name}, {"state", one.state}, {"outcome", one.outcome}});
  return json;
}

void print_doorbells(const DoorbellView& view) {
  std::printf("\n%-14s %s\n", "doorbells", view.executor.c_str());
  for (const DoorbellWay& one : view.ways)
    std::printf("  %-15s %s: %s\n", one.state.c_str(), one.name.c_str(), one.outcome.c_str());
  if (!view.hint.empty()) std::printf("  %s\n", view.hint.c_str());
}

DoorbellView view_doorbells(const doctor::Machine& machine, const std::string& probe) {
  // With a drive to probe, the GPU runtimes themselves are queried.
  const xio::host::FoundGpu gpu = probe.empty() ? doctor::gpu_for_doorbells(machine) : xio::host::find_gpu();
  if (probe.empty() || !gpu.runtime) return doctor::view_doorbells(gpu, nullptr);
  xio::host::VfioNvme controller(xio::host::parse_vfio_spec(probe));
  return doctor::view_doorbells(gpu, &controller);
}

/// What a target behind RDMA answers.
struct TargetAnswer {
  std::string spec;
  bool reached = false;
  std::string text;  ///< the controller, or why there is none and what to do
};

TargetAnswer ask_target(const std::string& spec) {
  TargetAnswer answer{spec, false, {}};
  try {
    const RemoteController controller(spec, 10000);
    answer.text = controller.info().model + ", " + controller.transport() + ": " +
                  std::to_string(controller.queue_ids().count()) + " queues of at most " +
                  std::to_string(controller.max_queue_entries()) + " entries";
    answer.reached = true;
  } catch (const xio::host::Error& failure) {
    answer.text = failure.what();
  }
  return answer;
}

}  // namespace

CLI::App* add_doctor_command(CLI::App& app, DoctorOptions& options) {
  CLI::App* const command =
      app.add_subcommand("doctor", "which modes work on this machine, and the command that fixes what does not");
  add_examples(command, {{"everything that this machine can do, and what fixes the rest", "xio-tester doctor"},
                         {"exit status 0 only where both of these work",
                          "xio-tester doctor --mode emulated,qemu --json doctor.json"}});
  const auto parse = [&options](const std::string& given) {
    for (const std::string& mode : split_list("--mode", given)) {
      const auto& known = doctor::all_modes;
      if (std::find(known.begin(), known.end(), mode) == known.end())
        throw CLI::ValidationError(
            "--mode", mode + " is not accepted; " + modes_list(", ") + ", or a comma-separated list of them, are");
      options.modes.push_back(mode);
    }
  };
  command
      ->add_option_function<std::string>("--mode", parse,
                                         "check only these; exit status 1 unless all of them work: " + modes_list(", "))
      ->type_name("MODE,...");
  add_json(*command, options.json);
  command
      ->add_option(
          "--probe", options.probe,
          "test how a GPU can access this drive's doorbells (vfio:BDF), which the kernel resets; or connect to this "
          "target behind RDMA (fabrics:traddr=ADDRESS,nqn=NAME)")
      ->type_name("CONTROLLER");
  return command;
}

int run_doctor(const DoctorOptions& options) {
  check_json_file(options.json);
  const bool remote = is_remote(options.probe);
  if (remote) check_remote(options.probe);
  const doctor::Machine machine;
  const std::vector<Fact> facts = doctor::facts_of(machine);
  std::vector<ModeReport> reports;
  bool asked_for_work = true;
  for (const std::string& mode : options.modes.empty() ? doctor::all_modes : options.modes) {
    reports.push_back(doctor::check_mode(machine, mode));
    asked_for_work = asked_for_work && (options.modes.empty() || reports.back().works());
  }
  // If modes are given, doorbells are shown only if "gpu" is one of them.
  const auto& asked = options.modes;
  const bool with_gpu = asked.empty() || (!options.probe.empty() && !remote) ||
                        std::find(asked.begin(), asked.end(), "gpu") != asked.end();
  DoorbellView doorbells;
  if (with_gpu) doorbells = view_doorbells(machine, remote ? "" : options.probe);
  TargetAnswer target;
  if (remote) target = ask_target(options.probe);
  asked_for_work = asked_for_work && (!remote || target.reached);
  const int status = asked_for_work ? exit_ok : exit_failed;
  nlohmann::ordered_json json = json_header("doctor");
  json["facts"] = nlohmann::ordered_json::object();
  for (const Fact& one : facts) json["facts"][one.title] = one.text;
  json["modes"] = nlohmann::ordered_json::array();
  for (const ModeReport& one : reports) json["modes"].push_back(mode_json(one));
  if (with_gpu) json["doorbells"] = doorbells_json(doorbells);
  if (remote) json["target"] = {{"spec", target.spec}, {"reached", target.reached}, {"text", target.text}};
  json["exit_status"] = status;
  if (options.json != "-") {
    for (const Fact& one : facts) std::printf("%-14s %s\n", one.title.c_str(), one.text.c_str());
    std::printf("\n");
    for (const ModeReport& one : reports) print_mode(one);
    if (with_gpu) print_doorbells(doorbells);
    if (remote)
      std::printf("\n%-14s %s\n  %s\n", "target", target.reached ? "answers" : "does not answer", target.text.c_str());
  }
  write_json_file(options.json, json);
  return status;
}

}  // namespace tester
