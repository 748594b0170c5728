// SPDX-License-Identifier: MIT

/// @file
/// @brief Tables and JSON of cache-ep.

#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "tester/cache/run.hpp"
#include "tester/cli/table.hpp"
#include "tester/nvme/tables.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

std::string number(uint64_t of) { return std::to_string(of); }
std::string several(uint64_t count, const std::string& what) {
  return number(count) + " " + what + (count == 1 ? "" : "s");
}

std::string heading_of(const CacheReport& report) { return heading_of(addresses_of(*report.targets)); }

void print_setup(const CacheReport& report) {
  const TesterCacheOptions& o = *report.options;
  const CachePlan& plan = report.plan;
  Table table;
  for (const Target& one : *report.targets) {
    const auto& info = one.info();
    table.add({"controller  " + info.model + ", firmware " + info.firmware + ", serial " + info.serial + ", " +
               one.transport()});
  }
  table.add({"array       " + number(plan.content.elements) + " elements of 8 bytes, on " +
             several(report.targets->size(), "drive")});
  table.add({"cache       " + several(report.cache->frames(), "frame") + " of " + number(o.page_bytes) + " bytes, " +
             number(o.ways) + " ways"});
  table.add({"queues      " + number(o.num_queues) + " of each drive, length " + number(o.queue_length)});
  table.add({"executor    " + (report.executor.empty() ? "host: the CPU emulates the GPU" : "gpu: " + report.executor) +
             ", " + several(plan.waves, "wave") + " of " + several(plan.wave_size, "lane")});
  std::printf("cache-ep on %s: %s\n", report.targets->front().spec.c_str(), heading_of(report).c_str());
  table.print();
}

template <class Cell>
std::vector<std::string> row(const CacheReport& report, const std::string& title, Cell cell) {
  std::vector<std::string> cells{title};
  for (const CacheResult& phase : report.phases) cells.push_back(cell(phase));
  return cells;
}

void print_figures(const CacheReport& report) {
  std::printf("\nfigures (%s)\n", heading_of(report).c_str());
  Table table;
  using P = const CacheResult&;
  table.add(row(report, "", [](P p) { return name_of(p.operation); }));
  table.add(row(report, "operations", [](P p) { return grouped(p.completed); }));
  table.add_filled(row(report, "failed", [](P p) { return p.failed == 0 ? "" : grouped(p.failed); }));
  table.add(row(report, "seconds", [](P p) { return fixed(p.seconds, 3); }));
  table.add(row(report, "operations per second", [](P p) { return fixed(p.rate(), 0); }));
  table.add(row(report, "pages read", [](P p) { return grouped(p.cache.misses); }));
  table.add(row(report, "  per operation", [](P p) { return fixed(p.per_operation(p.cache.misses), 4); }));
  table.add(row(report, "pages that left", [](P p) { return grouped(p.cache.evictions); }));
  table.add(row(report, "pages written", [](P p) { return grouped(p.cache.write_backs); }));
  table.add(row(report, "no frame was free", [](P p) { return grouped(p.cache.stuck); }));
  table.add(row(report, "MB/s of the drives", [](P p) { return fixed(p.megabytes_per_second(), 1); }));
  for (const LatencyFigure& figure : latency_figures) {
    const bool first = &figure == latency_figures;
    table.add(row(report, std::string(first ? "latency us, " : "  ") + figure.name,
                  [&](P p) { return latency_text(figure, p.latency); }));
  }
  const auto stored = [](P p, uint64_t what) { return p.counted ? fixed(p.per_operation(what), 4) : std::string("-"); };
  table.add(row(report, "doorbells per operation", [&](P p) { return stored(p, p.sq_rings + p.cq_rings); }));
  if (!seen_doorbells(addresses_of(*report.targets)).source.empty())
    table.add(row(report, "  seen by the other side", [](P p) { return fixed(p.per_operation(p.seen_rings), 4); }));
  table.add(row(report, "atomics per operation", [&](P p) { return stored(p, p.counts.atomics); }));
  table.add(row(report, "CPU us per operation", [](P p) { return p.completed == 0 ? "-" : fixed(p.cpu_us(), 2); }));
  table.print();
}

void print_findings(const CacheReport& report) {
  for (const CacheResult& phase : report.phases) {
    for (const StatusCount& entry : phase.statuses)
      std::printf("%s error: %s, %s times, first element %llu\n", name_of(phase.operation),
                  status_text(entry.status).c_str(), grouped(entry.count).c_str(),
                  static_cast<unsigned long long>(entry.first));
    if (!phase.verified) continue;
    std::printf("\nverified %llu of %llu elements\n",
                static_cast<unsigned long long>(phase.checked - phase.wrong_count),
                static_cast<unsigned long long>(phase.asked));
    constexpr size_t most_lines = 32;
    for (size_t i = 0; i < phase.wrong.size() && i < most_lines; ++i)
      std::printf("  element %llu differs\n", static_cast<unsigned long long>(phase.wrong[i]));
  }
}

Json setup_json(const CacheReport& report) {
  const TesterCacheOptions& o = *report.options;
  return {{"executor", report.executor.empty() ? "host" : "gpu"},
          {"executor_gpu", report.executor},
          {"waves", report.plan.waves},
          {"wave_size", report.plan.wave_size},
          {"queues_per_drive", o.num_queues},
          {"queue_length", o.queue_length},
          {"elements", report.plan.content.elements},
          {"pattern", o.random ? "random" : "sequential"},
          {"frames", report.cache->frames()},
          {"page_bytes", o.page_bytes},
          {"ways", o.ways},
          {"seed", o.seed},
          {"deadline_ms", o.deadline_ms}};
}

Json controllers_json(const CacheReport& report) {
  Json all = Json::array();
  for (const Target& one : *report.targets)
    all.push_back({{"spec", one.spec},
                   {"kind", one.kind_name()},
                   {"transport", one.transport()},
                   {"model", one.info().model},
                   {"firmware", one.info().firmware},
                   {"serial", one.info().serial}});
  return all;
}

Json phase_json(const CacheReport& report, const CacheResult& phase) {
  Json json = {{"operation", name_of(phase.operation)}, {"asked", phase.asked}};
  add_result(json, phase, report.options->histogram);
  json["per_second"] = phase.rate();
  json["mb_per_s"] = phase.megabytes_per_second();
  json["pages"] = {{"read", phase.cache.misses},
                   {"left", phase.cache.evictions},
                   {"written", phase.cache.write_backs},
                   {"no_frame", phase.cache.stuck},
                   {"read_errors", phase.cache.read_errors},
                   {"write_errors", phase.cache.write_errors}};
  json["doorbells"] = {{"sq", counted(phase, phase.sq_rings)},
                       {"cq", counted(phase, phase.cq_rings)},
                       {"per_operation", counted(phase, phase.per_operation(phase.sq_rings + phase.cq_rings))},
                       {"seen", phase.seen_rings}};
  json["errors"] = json_errors(phase, "first_element", status_text);
  if (!phase.verified) return json;
  json["verified_elements"] = phase.checked - phase.wrong_count;
  json["wrong_elements"] = phase.wrong;
  return json;
}

}  // namespace

void print_cache(const CacheReport& report) {
  if (report.options->json == "-") return;  // standard output is used for JSON
  print_setup(report);
  if (!report.phases.empty()) print_figures(report);
  if (report.options->histogram) {
    for (const CacheResult& phase : report.phases) {
      std::printf("\n%s latency (%s)\n", name_of(phase.operation), heading_of(report).c_str());
      print_histogram(phase.latency);
    }
  }
  print_findings(report);
  if (report.interrupted) std::puts("\ninterrupted: these are partial results");
  if (!report.trouble.empty()) std::printf("\nended early: %s\n", report.trouble.c_str());
  std::fflush(stdout);
}

void write_cache(const CacheReport& report) {
  Json json = json_header("cache-ep");
  json["heading"] = heading_of(report);
  json["controllers"] = controllers_json(report);
  json["setup"] = setup_json(report);
  json["phases"] = Json::array();
  for (const CacheResult& phase : report.phases) json["phases"].push_back(phase_json(report, phase));
  json["interrupted"] = report.interrupted;
  json["trouble"] = report.trouble;
  json["exit_status"] = report.exit_status();
  write_json_file(report.options->json, json);
}

}  // namespace tester
