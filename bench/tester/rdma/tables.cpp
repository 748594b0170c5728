// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "tester/cli/table.hpp"
#include "tester/rdma/run.hpp"

namespace tester {

namespace {

std::string size_text(uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

void heading(const RdmaReport& report, const std::string& text) {
  std::printf("\n%s (%s)\n", text.c_str(), report.provider->heading.c_str());
}

std::string batch_text(const RdmaOptions& o, const RdmaPlan& plan) {
  if (plan.batch == 0) return "as many as fit";
  std::string text = std::to_string(plan.batch);
  if (plan.batch == o.batch_size) return text;
  const bool deep = plan.lane_batch < plan.window;
  text +=
      " (not " + std::to_string(o.batch_size) + ": " + (deep ? "lanes of a wave post together)" : "the depth is less)");
  return text;
}

std::string data_text(const RdmaOptions& o) {
  if (!o.verify) return "not checked";
  return o.lfsr_seed ? "32-bit LFSR from seed " + std::to_string(*o.lfsr_seed) + " and the operation's number"
                     : "a function of the operation's number and seed " + std::to_string(o.seed);
}

std::string peers_text(const RdmaOptions& o) {
  switch (o.role) {
    case RdmaRole::server: return "one of the client's";
    case RdmaRole::client: return "one of the server's, on " + o.server_host + " port " + std::to_string(o.port);
    case RdmaRole::alone: break;
  }
  return o.loopback ? "itself" : "another one of this process";
}

const char* sides_text(RdmaRole role) {
  return role == RdmaRole::alone    ? "both of its sides"
         : role == RdmaRole::server ? "the receiving side"
                                    : "the requesting side";
}

std::string executor_text(const RdmaOptions& o) {
  const std::string waves = std::to_string(o.waves) + (o.waves == 1 ? " wave of " : " waves of ") +
                            std::to_string(o.wave_size) + (o.wave_size == 1 ? " lane" : " lanes");
  return "executor    " + (o.executes ? "gpu: " + o.executes->gpu()->description() : "host: the CPU emulates the GPU") +
         ", " + waves + " for each queue pair, " + sides_text(o.role);
}

void print_setup(const RdmaReport& report) {
  const RdmaOptions& o = *report.options;
  const RdmaPlan& plan = report.results.front().plan;
  const std::string queues = std::to_string(o.num_queues) + (o.num_queues == 1 ? " queue pair" : " queue pairs");
  Table table;
  table.add({"provider    " + report.provider->described});
  table.add({"queues      " + queues + ", each connected to " + peers_text(o)});
  table.add({"depth       " + std::to_string(plan.depth) + " in flight on a queue pair; send queues for " +
             std::to_string(plan.sq_depth) + ", completion queues of " + std::to_string(plan.shape.cq_entries)});
  table.add({"batch       " + batch_text(o, plan) + ", entries for one doorbell and one completion"});
  table.add({executor_text(o)});
  if (o.gpu && !o.executes) table.add({"GPU         " + o.gpu->description()});
  table.add({"placement   " + std::string(o.memory_mode != 0 ? "mode 8: data in GPU memory, queues in host memory"
                                          : o.vram ? "--queue-mem vram: without a GPU, queues and data in host memory"
                                                   : "queues and data in host memory")});
  table.add({"operations  " + std::string(o.ping_pong ? "write there, and a write back" : name_of(o.verb)) +
             (o.write_imm ? " with immediate data" : "") +
             (o.inline_threshold != 0 ? ", inline up to " + std::to_string(o.inline_threshold) + " bytes" : "")});
  table.add({"data        " + data_text(o)});
  table.add({"timing      " +
             std::string(o.less_timing ? "one clock reading for a batch"
                         : o.ping_pong ? "each round trip"
                                       : "each operation") +
             (o.substep_timing ? ", and each step" : "")});
  if (plan.notices)
    table.add({"notices     a write without data closes each batch, and carries the number of writes to check"});
  std::printf("rdma-ep on %s: %s\n", report.provider->where.c_str(), report.provider->heading.c_str());
  table.print();
}

void print_latency(const RdmaReport& report) {
  heading(report, report.options->ping_pong ? "latency, us: half of a round trip" : "latency, us");
  Table table;
  std::vector<std::string> titles{"size"};
  for (const LatencyFigure& figure : latency_figures) titles.emplace_back(figure.name);
  table.add(titles);
  for (const RdmaResult& result : report.results) {
    std::vector<std::string> row{size_text(result.plan.bytes)};
    for (const LatencyFigure& figure : latency_figures) row.push_back(latency_text(figure, result.latency));
    table.add(row);
  }
  table.print();
}

void print_spread(const RdmaReport& report, const std::string& title, double RdmaRun::* figure, int digits) {
  const size_t runs = report.results.front().runs.size();
  heading(report, title + (runs == 1 ? ", one run" : ", over " + std::to_string(runs) + " runs"));
  Table table;
  table.add({"size", "min", "mean", "std", "max"});
  for (const RdmaResult& result : report.results) {
    const Spread s = spread(result, figure);
    table.add({size_text(result.plan.bytes), fixed(s.least, digits), fixed(s.mean, digits), fixed(s.deviation, digits),
               fixed(s.most, digits)});
  }
  table.print();
}

void print_costs(const RdmaReport& report) {
  heading(report, "costs per operation");
  Table table;
  table.add({"size", "doorbells", report.provider->seen_by, "all registers", "releases", "acquires", "atomics",
             "CPU us", "completions per batch"});
  const auto stored = [](const RdmaResult& r, uint64_t what) {
    return r.counted ? fixed(r.per_operation(what), 4) : std::string("-");
  };
  for (const RdmaResult& r : report.results)
    table.add({size_text(r.plan.bytes), stored(r, r.doorbells), fixed(r.per_operation(r.seen.doorbells), 4),
               stored(r, r.counts.mmio_stores), stored(r, r.counts.releases), stored(r, r.counts.acquires),
               stored(r, r.counts.atomics), fixed(r.cpu_us(), 2), fixed(r.per_batch(r.seen.signaled), 4)});
  table.print();
  std::puts(
      "  Doorbells are those of send queues, counted where they are stored; several of them between two polls by");
  std::puts(
      "  the other side count as one there. Registers are all that were stored to, receive and completion queues' "
      "included.");
  std::puts("  CPU time is this process's, all threads and, with --verify, building and comparing data included.");
}

void print_steps(const RdmaReport& report) {
  heading(report, "steps, ns per operation");
  Table table;
  std::vector<std::string> titles{"size"};
  for (const RdmaStep& step : rdma_steps) titles.emplace_back(step.title);
  titles.emplace_back("total");
  table.add(titles);
  for (const RdmaResult& r : report.results) {
    std::vector<std::string> row{size_text(r.plan.bytes)};
    double sum = 0;
    for (const RdmaStep& step : rdma_steps) {
      row.push_back(fixed(r.step_ns(step.step), 1));
      sum += r.step_ns(step.step);
    }
    row.push_back(fixed(sum, 1));
    table.add(row);
  }
  table.print();
  std::puts("  A post builds an entry and stores it. CQ poll includes polls that found nothing, and acknowledges what");
  std::puts("  was found. Each reading of the clock is part of the step that it ends.");
}

void print_counts(const RdmaReport& report) {
  heading(report, "counts");
  Table table;
  table.add({"size", "operations", "failed", "batches", "signalled", "completions", "received", "seconds"});
  for (const RdmaResult& r : report.results)
    table.add({size_text(r.plan.bytes), grouped(r.completed), grouped(r.failed), grouped(r.batches),
               grouped(r.seen.signaled), grouped(r.seen.completions), grouped(r.received), fixed(r.seconds, 3)});
  table.print();
}

void print_histograms(const RdmaReport& report) {
  for (const RdmaResult& result : report.results) {
    heading(report, "latency of " + size_text(result.plan.bytes));
    print_histogram(result.latency);
  }
}

/// The side that receives data.
const char* receiving_side(const RdmaOptions& o) {
  if (o.ping_pong) return "both sides";
  if (o.role == RdmaRole::alone) return "the receiving side";
  if (o.verb == RdmaVerb::fetch_add) return "the client's side, and the sums on the server's";
  return o.verb == RdmaVerb::read ? "the receiving side, which is the client's"
                                  : "the receiving side, which is the server's";
}

void print_outcome(const RdmaReport& report) {
  for (const RdmaResult& result : report.results) {
    for (const StatusCount& entry : result.statuses)
      std::printf("\n%s: %s, %s times, first in operation %llu", size_text(result.plan.bytes).c_str(),
                  rdma_status_text(entry.status).c_str(), grouped(entry.count).c_str(),
                  static_cast<unsigned long long>(entry.first));
    if (!result.statuses.empty()) std::puts("");
  }
  if (report.options->verify) {
    uint64_t operations = 0;
    uint64_t checked = 0;
    for (const RdmaResult& result : report.results) {
      operations += result.completed + result.failed;
      checked += result.checked;
    }
    std::printf("\nverified %llu of %llu operations, on %s\n",
                static_cast<unsigned long long>(checked - std::min(checked, report.wrong())),
                static_cast<unsigned long long>(operations), receiving_side(*report.options));
    for (const RdmaResult& result : report.results)
      for (const std::string& text : result.wrong)
        std::printf("  %s: %s\n", size_text(result.plan.bytes).c_str(), text.c_str());
  }
  if (report.interrupted)
    std::printf("\ninterrupted%s: these are partial results\n", report.interrupted_there ? " on the other side" : "");
  if (!report.trouble.empty()) std::printf("\nended early: %s\n", report.trouble.c_str());
}

}  // namespace

void print_tables(const RdmaReport& report) {
  if (report.options->json == "-") return;  // standard output is used for JSON
  if (!report.results.empty()) {
    print_setup(report);
    // Only the requester posts operations.
    const bool requests = report.options->role != RdmaRole::server;
    if (requests) print_latency(report);
    print_spread(report, "throughput, MB/s", &RdmaRun::megabytes_per_second, 1);
    print_spread(report, "operations per second", &RdmaRun::per_second, 0);
    if (requests && report.options->substep_timing) print_steps(report);
    if (requests) print_costs(report);
    print_counts(report);
    if (report.options->histogram) print_histograms(report);
  }
  print_outcome(report);
  std::fflush(stdout);
}

}  // namespace tester
