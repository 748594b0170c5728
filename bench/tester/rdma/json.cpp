// SPDX-License-Identifier: MIT
#include <algorithm>

#include <nlohmann/json.hpp>

#include "tester/rdma/run.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

Json setup_json(const RdmaOptions& o) {
  Json json = {{"executor", o.executes ? "gpu" : "host"},
               {"executor_gpu", o.executes ? o.executes->gpu()->description() : ""},
               {"sharing", o.waves == 1 && o.wave_size == 1 ? "thread" : "grid"},
               {"waves", o.waves},
               {"wave_size", o.wave_size},
               {"provider", o.provider},
               {"device", o.device},
               {"role", name_of(o.role)},
               {"loopback", o.role == RdmaRole::alone && o.loopback},
               {"operation", name_of(o.verb)},
               {"write_imm", o.write_imm},
               {"ping_pong", o.ping_pong},
               {"queues", o.num_queues},
               {"batch_size", o.batch_size},
               {"inline_threshold", o.inline_threshold},
               {"queue_mem", o.vram ? "vram" : "host"},
               {"memory_mode", o.memory_mode},
               {"placement",
                o.memory_mode != 0 ? "data in GPU memory, queues in host memory" : "queues and data in host memory"},
               {"iterations", o.iterations},
               {"runs", o.runs},
               {"less_timing", o.less_timing},
               {"substep_timing", o.substep_timing},
               {"verify", o.verify},
               {"content", o.lfsr_seed ? "lfsr" : "hash"},
               {"seed", o.seed},
               {"deadline_ms", o.deadline_ms}};
  if (o.lfsr_seed) json["lfsr_seed"] = *o.lfsr_seed;
  if (o.duration > 0) json["duration"] = o.duration;
  return json;
}

Json spread_json(const RdmaResult& result, double RdmaRun::* figure) {
  const Spread s = spread(result, figure);
  return {{"min", s.least}, {"mean", s.mean}, {"std", s.deviation}, {"max", s.most}};
}

Json runs_json(const RdmaResult& result) {
  Json json = Json::array();
  for (const RdmaRun& run : result.runs)
    json.push_back({{"seed", run.seed},
                    {"completed", run.completed},
                    {"seconds", run.seconds},
                    {"iops", run.per_second},
                    {"mb_per_s", run.megabytes_per_second}});
  return json;
}

Json result_json(const RdmaReport& report, const RdmaResult& r) {
  Json json = {{"transfer_size", r.plan.bytes},
               {"inline", r.plan.inline_data},
               {"depth", r.plan.depth},
               {"batch_size", r.plan.batch},
               {"sq_depth", r.plan.sq_depth},
               {"sq_units", r.plan.shape.sq_units},
               {"units_per_operation", r.plan.units},
               {"cq_entries", r.plan.shape.cq_entries}};
  add_result(json, r, report.options->histogram);
  json["batches"] = r.batches;
  json["received"] = r.received;
  json["mb_per_s"] = spread_json(r, &RdmaRun::megabytes_per_second);
  json["iops"] = spread_json(r, &RdmaRun::per_second);
  json["runs"] = runs_json(r);
  json["doorbells"] = {{"sq", counted(r, r.doorbells)},
                       {"per_operation", counted(r, r.per_operation(r.doorbells))},
                       {"register_stores", counted(r, r.counts.mmio_stores)},
                       {"seen", r.seen.doorbells}};
  json["completions"] = {{"signalled", r.seen.signaled},
                         {"per_batch", r.per_batch(r.seen.signaled)},
                         {"written", r.seen.completions},
                         {"receive", r.seen.receive_completions}};
  json["verified"] = r.checked - std::min(r.checked, r.wrong_count);
  json["wrong"] = r.wrong_count;
  json["wrong_operations"] = r.wrong;
  json["violations"] = r.seen.violations;
  json["errors"] = json_errors(r, "first_operation", rdma_status_text);
  if (report.options->substep_timing)
    for (const RdmaStep& step : rdma_steps) json["steps_ns"][step.id] = r.step_ns(step.step);
  return json;
}

}  // namespace

void write_json(const RdmaReport& report) {
  if (report.options->json.empty()) return;
  Json json = json_header("rdma-ep");
  json["heading"] = report.provider->heading;
  json["setup"] = setup_json(*report.options);
  json["sizes"] = Json::array();
  for (const RdmaResult& result : report.results) json["sizes"].push_back(result_json(report, result));
  json["interrupted"] = report.interrupted;
  json["interrupted_there"] = report.interrupted_there;
  json["trouble"] = report.trouble;
  json["exit_status"] = report.exit_status();
  write_json_file(report.options->json, json);
}

}  // namespace tester
