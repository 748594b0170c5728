// SPDX-License-Identifier: MIT

/// @file
/// @brief Tables and JSON of kv-ep.

#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "tester/cli/table.hpp"
#include "tester/kv/run.hpp"
#include "tester/nvme/tables.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

std::string number(uint64_t of) { return std::to_string(of); }

std::string sizes_text(const KvContent& content) {
  if (content.least_bytes == content.most_bytes) return number(content.most_bytes) + " bytes";
  return number(content.least_bytes) + " to " + number(content.most_bytes) + " bytes";
}

std::string wrong_text(const KvContent& content, const WrongValue& wrong) {
  const uint32_t stored = content.bytes(wrong.number);
  std::string line = "key " + number(wrong.number) + ": ";
  if (wrong.bytes != stored) line += "its value has " + number(wrong.bytes) + " bytes instead of " + number(stored);
  if (wrong.offset == ~0u) return line;
  return line + (wrong.bytes != stored ? ", and differs" : "its value differs") + " from byte " + number(wrong.offset);
}

void print_setup(const KvReport& report) {
  const KvOptions& o = *report.options;
  const KvPlan& plan = report.plan;
  const auto& controller = *report.target->controller;
  const auto& info = controller.info();
  Table table;
  table.add({"controller  " + info.model + ", firmware " + info.firmware + ", serial " + info.serial});
  table.add({"transport   " + controller.transport().description()});
  table.add({"namespace   " + number(plan.nsid) + ": " + number(plan.space.capacity_bytes) +
             " bytes of values under keys, keys of 1 to " + number(plan.space.longest_key) +
             " bytes, values of at most " + number(plan.space.longest_value)});
  table.add({"queues      " + number(o.num_queues) + ", length " + number(o.queue_length)});
  table.add({"executor    " + (report.executor.empty() ? "host: the CPU emulates the GPU" : "gpu: " + report.executor) +
             ", " + number(plan.waves) + (plan.waves == 1 ? " wave of " : " waves of ") + number(plan.wave_size) +
             (plan.wave_size == 1 ? " lane" : " lanes") + " for each queue, one operation in flight for each lane"});
  table.add({"keys        " + number(o.keys) + " of " + number(plan.content.key_bytes) + " bytes"});
  table.add({"values      " + sizes_text(plan.content) + ", a function of the key and seed " + number(o.seed)});
  std::printf("kv-ep on %s: %s\n", report.target->spec.c_str(), report.target->heading().c_str());
  table.print();
}

template <class Cell>
std::vector<std::string> row(const KvReport& report, const std::string& title, Cell cell) {
  std::vector<std::string> cells{title};
  for (const KvResult& phase : report.phases) cells.push_back(cell(phase));
  return cells;
}

void print_figures(const KvReport& report) {
  std::printf("\nfigures (%s)\n", report.target->heading().c_str());
  Table table;
  table.add(row(report, "", [](const KvResult& p) { return name_of(p.operation); }));
  table.add(row(report, "operations", [](const KvResult& p) { return grouped(p.completed); }));
  table.add_filled(row(report, "failed", [](const KvResult& p) { return p.failed == 0 ? "" : grouped(p.failed); }));
  table.add(row(report, "seconds", [](const KvResult& p) { return fixed(p.seconds, 3); }));
  table.add(row(report, "operations per second", [](const KvResult& p) { return fixed(p.rate(), 0); }));
  table.add(row(report, "MB/s", [](const KvResult& p) { return fixed(p.megabytes_per_second(), 1); }));
  for (const LatencyFigure& figure : latency_figures) {
    const bool first = &figure == latency_figures;
    table.add(row(report, std::string(first ? "latency us, " : "  ") + figure.name,
                  [&](const KvResult& p) { return latency_text(figure, p.latency); }));
  }
  const auto stored = [](const KvResult& p, uint64_t what) {
    return p.counted ? fixed(p.per_operation(what), 4) : std::string("-");
  };
  table.add(
      row(report, "doorbells per operation", [&](const KvResult& p) { return stored(p, p.sq_rings + p.cq_rings); }));
  if (!report.target->seen_doorbells().source.empty())
    table.add(row(report, "  seen by the other side",
                  [](const KvResult& p) { return fixed(p.per_operation(p.seen_rings), 4); }));
  table.add(row(report, "atomics per operation", [&](const KvResult& p) { return stored(p, p.counts.atomics); }));
  table.add(row(report, "CPU us per operation",
                [](const KvResult& p) { return p.completed == 0 ? "-" : fixed(p.cpu_us(), 2); }));
  table.print();
}

void print_findings(const KvReport& report) {
  for (const KvResult& phase : report.phases) {
    for (const StatusCount& entry : phase.statuses)
      std::printf("%s error: %s, %s times, first key %llu\n", name_of(phase.operation),
                  status_text(entry.status).c_str(), grouped(entry.count).c_str(),
                  static_cast<unsigned long long>(entry.first));
    if (!phase.verified) continue;
    std::printf("\nverified %llu of %llu values\n", static_cast<unsigned long long>(phase.checked - phase.wrong_count),
                static_cast<unsigned long long>(phase.asked));
    constexpr size_t most_lines = 32;
    for (size_t i = 0; i < phase.wrong.size() && i < most_lines; ++i)
      std::printf("  %s\n", wrong_text(report.plan.content, phase.wrong[i]).c_str());
  }
}

Json setup_json(const KvReport& report) {
  const KvOptions& o = *report.options;
  const KvPlan& plan = report.plan;
  return {{"executor", report.executor.empty() ? "host" : "gpu"},
          {"executor_gpu", report.executor},
          {"waves_per_queue", plan.waves},
          {"wave_size", plan.wave_size},
          {"queues", o.num_queues},
          {"queue_length", o.queue_length},
          {"keys", o.keys},
          {"key_bytes", plan.content.key_bytes},
          {"least_value_bytes", plan.content.least_bytes},
          {"most_value_bytes", plan.content.most_bytes},
          {"seed", o.seed},
          {"deadline_ms", o.deadline_ms}};
}

Json controller_json(const KvReport& report) {
  const Target& target = *report.target;
  const auto& controller = *target.controller;
  return {{"spec", target.spec},
          {"kind", target.kind_name()},
          {"transport", controller.transport().description()},
          {"model", controller.info().model},
          {"firmware", controller.info().firmware},
          {"serial", controller.info().serial},
          {"namespace", report.plan.nsid},
          {"capacity_bytes", report.plan.space.capacity_bytes},
          {"longest_key", report.plan.space.longest_key},
          {"longest_value", report.plan.space.longest_value}};
}

Json phase_json(const KvReport& report, const KvResult& phase) {
  Json json = {{"operation", name_of(phase.operation)}, {"asked", phase.asked}};
  add_result(json, phase, report.options->histogram);
  json["bytes"] = phase.bytes;
  json["per_second"] = phase.rate();
  json["mb_per_s"] = phase.megabytes_per_second();
  json["doorbells"] = {{"sq", counted(phase, phase.sq_rings)},
                       {"cq", counted(phase, phase.cq_rings)},
                       {"per_operation", counted(phase, phase.per_operation(phase.sq_rings + phase.cq_rings))},
                       {"seen", phase.seen_rings}};
  json["errors"] = json_errors(phase, "first_key", status_text);
  if (!phase.verified) return json;
  json["verified_values"] = phase.checked - phase.wrong_count;
  json["wrong_values"] = Json::array();
  for (const WrongValue& wrong : phase.wrong)
    json["wrong_values"].push_back({{"key", wrong.number}, {"text", wrong_text(report.plan.content, wrong)}});
  return json;
}

}  // namespace

void print_kv(const KvReport& report) {
  if (report.options->json == "-") return;  // standard output is used for JSON
  print_setup(report);
  if (!report.phases.empty()) print_figures(report);
  if (report.options->histogram) {
    for (const KvResult& phase : report.phases) {
      std::printf("\n%s latency (%s)\n", name_of(phase.operation), report.target->heading().c_str());
      print_histogram(phase.latency);
    }
  }
  print_findings(report);
  if (report.interrupted) std::puts("\ninterrupted: these are partial results");
  if (!report.trouble.empty()) std::printf("\nended early: %s\n", report.trouble.c_str());
  std::fflush(stdout);
}

void write_kv(const KvReport& report) {
  Json json = json_header("kv-ep");
  json["heading"] = report.target->heading();
  json["controller"] = controller_json(report);
  json["setup"] = setup_json(report);
  json["phases"] = Json::array();
  for (const KvResult& phase : report.phases) json["phases"].push_back(phase_json(report, phase));
  json["interrupted"] = report.interrupted;
  json["trouble"] = report.trouble;
  json["exit_status"] = report.exit_status();
  write_json_file(report.options->json, json);
}

}  // namespace tester
