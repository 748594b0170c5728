// SPDX-License-Identifier: MIT
#include "tester/report/json_report.hpp"

#include <iostream>

#include <nlohmann/json.hpp>
#include <xio/host/memory/placement.hpp>
#include <xio/version.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/invocation.hpp"
#include "tester/cli/output.hpp"
#include "tester/nvme/tables.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

Json controller_json(const NvmeReport& report, const Target& target) {
  Json json = {{"spec", target.spec},          {"kind", target.kind_name()},         {"transport", target.transport()},
               {"model", target.info().model}, {"firmware", target.info().firmware}, {"serial", target.info().serial},
               {"namespace", report.plan.nsid}};
  if (report.plan.drives == 1) json["blocks"] = report.plan.namespace_blocks;
  json["block_bytes"] = report.plan.block_bytes;
  return json;
}

Json setup_json(const NvmeReport& report) {
  const NvmeOptions& o = *report.options;
  const NvmePlan& plan = report.plan;
  const char* const sharing = plan.sharing == xio::Sharing::thread ? "thread"
                              : plan.sharing == xio::Sharing::wave ? "wave"
                                                                   : "grid";
  Json json = {{"executor", report.executor.empty() ? "host" : "gpu"},
               {"executor_gpu", report.executor},
               {"sharing", sharing},
               {"waves_per_queue", plan.waves},
               {"wave_size", plan.wave_size},
               {"queues", o.num_queues},
               {"first_queue_id", plan.first_queue_id},
               {"queue_length", plan.queue_length},
               {"sq_entries", report.rings.sq_entries},
               {"cq_entries", report.rings.cq_entries},
               {"depth", plan.depth},
               {"batch_size", plan.batch},
               {"doorbell", plan.remote                          ? "soft-RoCE"
                            : o.doorbell == DoorbellKind::shadow ? "shadow"
                                                                 : "mmio"},
               {"memory_mode", o.memory_mode},
               {"placement", xio::host::placement_text(o.memory_mode)},
               {"lbas_per_io", o.lbas_per_io},
               {"bytes_per_io", plan.operation_bytes},
               {"commands_per_io", plan.commands_per_operation},
               {"access_pattern", o.random ? "random" : "sequential"},
               {"base_lba", o.base_lba},
               {"seed", o.seed},
               {"content", o.lfsr_seed ? "lfsr" : "hash"},
               {"data_buffer_bytes", plan.data_bytes},
               {"deadline_ms", o.deadline_ms},
               {"less_timing", o.less_timing},
               {"substep_timing", o.substep_timing},
               {"written_before", o.write_io != 0  ? "this run"
                                  : o.written != 0 ? "earlier run"
                                                   : "not known"}};
  if (plan.drives > 1) {
    json["stripe_blocks"] = plan.stripe_blocks;
    json["blocks"] = plan.namespace_blocks;
  }
  if (!report.gpu.empty()) json["gpu"] = report.gpu;
  if (o.lfsr_seed) json["lfsr_seed"] = *o.lfsr_seed;
  if (o.written != 0) json["written"] = o.written;
  if (o.duration > 0) json["duration"] = o.duration;
  return json;
}

Json doorbell_json(const NvmeReport& report, const PhaseResult& phase) {
  Json json = {{"sq", counted(phase, phase.sq_rings)},
               {"cq", counted(phase, phase.cq_rings)},
               {"per_operation", counted(phase, phase.per_operation(phase.sq_rings + phase.cq_rings))},
               {"register_stores", counted(phase, phase.counts.mmio_stores)}};
  const std::string seen_by = seen_doorbells(report.targets).source;
  if (seen_by.empty()) return json;
  json["seen"] = phase.seen_rings;
  json["seen_by"] = seen_by;
  return json;
}

Json steps_json(const PhaseResult& phase) {
  static const char* const names[] = {"build", "enqueue", "sq_doorbell", "cq_poll", "cq_doorbell"};
  Json json;
  double total = 0;
  for (uint32_t i = 0; i < xio::telemetry::step_count; ++i) {
    json[names[i]] = step_ns(phase, i);
    total += step_ns(phase, i);
  }
  json["total"] = total;
  return json;
}

Json drives_json(const NvmeReport& report, const PhaseResult& phase) {
  Json all = Json::array();
  for (size_t i = 0; i < phase.drives.size(); ++i) {
    const DriveResult& one = phase.drives[i];
    const double rate = phase.seconds > 0 ? static_cast<double>(one.completed()) / phase.seconds : 0;
    const uint64_t bytes = one.completed() * report.plan.operation_bytes;
    all.push_back({{"spec", report.targets[i]->spec},
                   {"completed", one.completed()},
                   {"failed", one.failed},
                   {"bytes", bytes},
                   {"iops", rate},
                   {"mb_per_s", rate * static_cast<double>(report.plan.operation_bytes) / 1e6},
                   {"latency_us", json_latency(one.latency)}});
  }
  return all;
}

Json phase_json(const NvmeReport& report, const PhaseResult& phase) {
  Json json = {{"operation", phase.direction == Direction::write ? "write" : "read"}, {"asked", phase.asked}};
  add_result(json, phase, report.options->histogram);
  json["bytes"] = phase.bytes;
  json["iops"] = phase.iops();
  json["mb_per_s"] = phase.megabytes_per_second();
  json["doorbells"] = doorbell_json(report, phase);
  json["errors"] = json_errors(phase, "first_lba", status_text);
  if (!phase.drives.empty()) json["drives"] = drives_json(report, phase);
  if (report.options->substep_timing) json["steps_ns"] = steps_json(phase);
  return json;
}

Json smart_json(const CrossCheck& check) {
  const auto counts = [](const CommandCounts& of) { return Json{{"reads", of.reads}, {"writes", of.writes}}; };
  return {{"counted", counts(check.counted)},
          {"completed", counts(check.completed)},
          {"submitted", counts(check.submitted)},
          {"alone", check.alone},
          {"agrees", check.trouble().empty()}};
}

Json verification_json(const Verification& v) {
  Json json = {{"wanted", v.wanted},
               {"scope", v.scope},
               {"expected_blocks", v.expected},
               {"verified_blocks", v.verified},
               {"failed_comparisons", v.wrong},
               {"complete", v.complete}};
  json["wrong_blocks"] = Json::array();
  for (const BlockFault& fault : v.faults) {
    Json entry = {{"lba", fault.lba}, {"first_byte", fault.offset}, {"text", describe(fault)}};
    if (fault.holder) entry["holds_lba"] = *fault.holder;
    json["wrong_blocks"].push_back(entry);
  }
  return json;
}

}  // namespace

Json json_header(const std::string& command) {
  Json json = {{"tool", "xio-tester"},
               {"version", std::to_string(XIO_VERSION_MAJOR) + "." + std::to_string(XIO_VERSION_MINOR) + "." +
                               std::to_string(XIO_VERSION_PATCH)},
               {"schema", json_schema},
               {"command", command}};
  json["flags"] = Json::object();
  for (const auto& [flag, value] : given_flags()) {
    Json& entry = json["flags"][flag];
    if (value.empty())
      entry = true;
    else if (entry.is_null())
      entry = value;
    else if (entry.is_array())
      entry.push_back(value);
    else
      entry = Json::array({entry, value});
  }
  return json;
}

Json json_latency(const Summary& latency) {
  if (latency.count() == 0) return nullptr;
  Json json;
  for (const LatencyFigure& figure : latency_figures) json[figure.name] = figure.of(latency) / 1000;
  return json;
}

Json counted(const Result& result, uint64_t figure) { return result.counted ? Json(figure) : Json(); }
Json counted(const Result& result, double figure) { return result.counted ? Json(figure) : Json(); }

void add_result(Json& json, const Result& result, bool histogram) {
  json["repeated"] = result.repeated;
  json["submitted"] = result.submitted;
  json["completed"] = result.completed;
  json["failed"] = result.failed;
  json["seconds"] = result.seconds;
  json["latency_us"] = json_latency(result.latency);
  json["counts"] = {{"entry_stores", counted(result, result.counts.entry_stores())},
                    {"releases", counted(result, result.counts.releases)},
                    {"acquires", counted(result, result.counts.acquires)},
                    {"full_fences", counted(result, result.counts.full_fences)},
                    {"atomics", counted(result, result.counts.atomics)}};
  json["cpu"] = {{"user_seconds", result.usage.user},
                 {"system_seconds", result.usage.system},
                 {"us_per_operation", result.cpu_us()}};
  if (!histogram) return;
  json["histogram_us"] = Json::array();
  for (const auto& bar : result.latency.bars())
    json["histogram_us"].push_back({{"from", bar.from / 1000}, {"to", bar.to / 1000}, {"count", bar.count}});
}

Json json_errors(const Result& result, const char* first, std::string (*text)(xio::Status)) {
  Json json = Json::array();
  for (const StatusCount& entry : result.statuses)
    json.push_back({{"status", xio::name(entry.status.code)},
                    {"device_status", entry.status.vendor},
                    {"text", text(entry.status)},
                    {"count", entry.count},
                    {first, entry.first}});
  return json;
}

void check_json_file(const std::string& path) {
  if (path.empty() || path == "-") return;
  const std::string why = why_not_writable(path);
  if (!why.empty()) throw BadInput("--json " + path + ": " + why + "; give a file that can be written, or -");
}

void write_json_file(const std::string& path, const Json& json) {
  // Device names may contain invalid UTF-8.
  write_json_text(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void write_json_text(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  if (path == "-") {
    std::cout << text << std::flush;
    return;
  }
  write_file("--json", path, text);
}

void write_json(const NvmeReport& report) {
  Json json = json_header("nvme-ep");
  json["heading"] = heading_of(report.targets);
  if (report.targets.size() == 1) json["controller"] = controller_json(report, *report.target);
  if (report.targets.size() > 1)
    for (const Target* const one : report.targets) json["controllers"].push_back(controller_json(report, *one));
  json["setup"] = setup_json(report);
  json["phases"] = Json::array();
  for (const PhaseResult& phase : report.phases) json["phases"].push_back(phase_json(report, phase));
  json["verification"] = verification_json(report.verification);
  if (report.smart.wanted) json["smart"] = smart_json(report.smart);
  json["interrupted"] = report.interrupted;
  json["trouble"] = report.trouble;
  json["exit_status"] = report.exit_status();
  write_json_file(report.options->json, json);
}

}  // namespace tester
