// SPDX-License-Identifier: MIT
#include "tester/nvme/endpoint.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/simt/simt.hpp>
#include <xio/host/wait.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/table.hpp"
#include "tester/cli/usage.hpp"
#include "tester/launch/choice.hpp"
#include "tester/launch/gpu/images.hpp"
#include "tester/launch/gpu/wait.hpp"
#include "tester/launch/memory.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

/// Words written by different sides have separate cache lines.
struct alignas(64) Word {
  uint64_t value;
};

/// The rings of one endpoint, and the host thread that replies.
class EndpointHost {
 public:
  EndpointHost(const EndpointOptions& options, const ExecutorMemory& memory, Endpoint& endpoint) : words_(memory, 2) {
    uint32_t entries = 1;
    while (entries < options.batch_size) entries *= 2;
    messages_ = SharedArray<Message>(memory, size_t{entries} * 2);
    flags_ = SharedArray<uint64_t>(memory, size_t{entries} * 2);
    const auto rings = [&](Message* messages, uint64_t* flags, Word* words, uint32_t which) {
      return MessageRing{messages + which * entries, flags + which * entries, &words[which].value, entries - 1,
                         options.mode};
    };
    requests_ = rings(messages_.begin(), flags_.begin(), words_.begin(), 0);
    answers_ = rings(messages_.begin(), flags_.begin(), words_.begin(), 1);
    endpoint.requests = rings(messages_.executor(), flags_.executor(), words_.executor(), 0);
    endpoint.answers = rings(messages_.executor(), flags_.executor(), words_.executor(), 1);
    thread_ = xio::host::start_service_thread([this] { answer(); });
  }
  EndpointHost(const EndpointHost&) = delete;
  EndpointHost& operator=(const EndpointHost&) = delete;
  ~EndpointHost() {
    stop_.store(true);
    thread_.join();
  }

 private:
  void answer() {
    const MessageRing requests = requests_;
    const MessageRing answers = answers_;
    xio::host::Backoff backoff(std::chrono::microseconds(2000), std::chrono::microseconds(100));
    for (uint64_t next = 0; !stop_.load(std::memory_order_relaxed);) {
      const uint64_t first = next;
      for (uint64_t there = requests.sent(next); next < there; there = std::max(there, requests.sent(next)))
        answers.put(answer_to(requests.get(next++)));
      if (next == first) {
        backoff.pause();
        continue;
      }
      answers.announce(first, next);
      backoff.reset();
    }
  }

  // With host addresses.
  MessageRing requests_{};
  MessageRing answers_{};
  SharedArray<Word> words_;
  SharedArray<Message> messages_;
  SharedArray<uint64_t> flags_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Runs all endpoints concurrently, each on a CPU thread or a GPU block.
void run(const EndpointOptions& options, const ExecutorMemory& memory, const MirroredArray<Endpoint>& endpoints,
         const MirroredArray<Latency>& latencies, const SharedArray<uint64_t>& progress) {
  EndpointJob job{endpoints.executor(),
                  options.iterations,
                  options.batch_size,
                  options.less_timing,
                  uint64_t{options.deadline_ms} * (memory.clock_hz() / 1000),
                  Interrupt::word()};
  if (!memory.gpu()) {
    xio::simt::Grid grid;
    grid.blocks = options.threads;
    grid.resident_waves = options.threads;
    if (options.substep_timing)
      xio::simt::launch(grid, [](const EndpointJob& one) { endpoint_kernel<xio::telemetry::Steps>(one); }, job);
    else
      xio::simt::launch(grid, [](const EndpointJob& one) { endpoint_kernel(one); }, job);
    return;
  }
  const SharedArray<uint32_t> stop(memory, 1);
  job.stop = stop.executor();
  const auto module = load_image(memory.gpu(), KernelImage::basic);
  const auto kernel = module->kernel<EndpointJob>("endpoints");
  const uint32_t fitting = kernel.resident_blocks(1);
  if (options.threads > fitting)
    throw BadInput("--threads " + std::to_string(options.threads) + " do not run on this GPU at the same time; " +
                   std::to_string(fitting) + " do");
  endpoints.push();
  latencies.push();
  xio::host::GpuWork work(memory.gpu());
  kernel.launch(work, xio::host::GpuGrid{options.threads, 1, 0}, job);
  const auto done = [&] {
    uint64_t sum = 0;
    for (const uint64_t& one : progress) sum += xio::arch::load<xio::arch::Scope::system>(&one);
    return sum;
  };
  const auto ask = [&] { xio::arch::store<xio::arch::Scope::system>(&stop[0], *Interrupt::word()); };
  wait_for(work, std::chrono::milliseconds(options.deadline_ms), done, ask);
  endpoints.pull();
  latencies.pull();
}

}  // namespace

EndpointOutcome measure(const EndpointOptions& options, const ExecutorMemory& memory) {
  const MirroredArray<Endpoint> endpoints(memory, options.threads);
  const MirroredArray<Latency> latencies(memory, options.threads);
  const SharedArray<uint64_t> progress(memory, options.threads);
  const double tick_ns = 1e9 / static_cast<double>(memory.clock_hz());
  EndpointOutcome outcome;
  {
    std::vector<std::unique_ptr<EndpointHost>> hosts;
    hosts.reserve(endpoints.size());
    for (uint32_t i = 0; i < options.threads; ++i) {
      endpoints[i].latency = latencies.executor() + i;
      endpoints[i].progress = progress.executor() + i;
      hosts.push_back(std::make_unique<EndpointHost>(options, memory, endpoints[i]));
    }
    const Usage usage = Usage::now();
    const xio::arch::OperationCounts before = xio::arch::operation_counts;
    run(options, memory, endpoints, latencies, progress);
    outcome.usage = Usage::now().since(usage);
    outcome.counts.mmio_stores = xio::arch::operation_counts.mmio_stores - before.mmio_stores;
    outcome.counts.releases = xio::arch::operation_counts.releases - before.releases;
    uint64_t began = ~uint64_t{0};
    uint64_t ended = 0;
    for (uint32_t i = 0; i < options.threads; ++i) {
      const Endpoint& one = endpoints[i];
      outcome.latency.add(latencies[i], tick_ns);
      outcome.trips += one.trips;
      outcome.wrong += one.wrong;
      outcome.late = outcome.late || one.late != 0;
      for (uint32_t step = 0; step < outcome.steps_ns.size(); ++step)
        outcome.steps_ns[step] += static_cast<double>(one.steps.ticks[step]) * tick_ns;
      began = std::min(began, one.began);
      ended = std::max(ended, one.ended);
    }
    outcome.seconds = static_cast<double>(ended - began) * tick_ns * 1e-9;
    for (double& step : outcome.steps_ns) step = outcome.trips == 0 ? 0 : step / static_cast<double>(outcome.trips);
  }
  outcome.interrupted = Interrupt::requested();
  return outcome;
}

namespace {

/// Steps shown by --substep-timing, in the order of xio::telemetry::Step.
struct EndpointStep {
  const char* id;     ///< name in JSON
  const char* title;  ///< title in tables
};
constexpr EndpointStep endpoint_steps[] = {{"build", "build"},
                                           {"enqueue", "enqueue"},
                                           {"doorbell", "doorbell"},
                                           {"poll", "poll for answers"},
                                           {"dequeue", "dequeue and compare"}};
static_assert(std::size(endpoint_steps) == xio::telemetry::step_count);

void print_steps(const EndpointOutcome& outcome) {
  std::printf("\nsteps, ns per round trip (software endpoint, not a device)\n");
  Table table;
  double sum = 0;
  for (uint32_t i = 0; i < outcome.steps_ns.size(); ++i) {
    table.add({endpoint_steps[i].title, fixed(outcome.steps_ns[i], 1)});
    sum += outcome.steps_ns[i];
  }
  table.add({"total", fixed(sum, 1)});
  table.print();
  std::printf("  Each reading of the clock is part of the step that it ends.\n");
}

const char* mode_name(Announcement mode) { return mode == Announcement::polling ? "polling" : "doorbell"; }

void print(const EndpointOptions& options, const std::string& gpu, const EndpointOutcome& outcome) {
  std::printf("test-ep: software endpoint, not a device\n");
  std::printf("  mode %s, %u endpoint%s, batch %u; answering threads run on the CPU, kernels on %s\n",
              mode_name(options.mode), options.threads, options.threads == 1 ? "" : "s", options.batch_size,
              gpu.empty() ? "the CPU, too" : gpu.c_str());
  std::printf("\nround trips of 64-byte messages (software endpoint, not a device)\n");
  Table table;
  table.add({"round trips", grouped(outcome.trips)});
  table.add({"seconds", fixed(outcome.seconds, 3)});
  table.add({"round trips per second", fixed(outcome.rate(), 0)});
  const Summary& s = outcome.latency;
  table.add({"latency us, min", microseconds(s.least())});
  table.add({"  mean", microseconds(s.mean())});
  table.add({"  std", microseconds(s.deviation())});
  for (const auto& [title, share] : {std::pair<const char*, double>{"  p50", 0.5},
                                     {"  p90", 0.9},
                                     {"  p99", 0.99},
                                     {"  p99.9", 0.999},
                                     {"  p99.99", 0.9999}})
    table.add({title, microseconds(s.percentile(share))});
  table.add({"  max", microseconds(s.most())});
  if (gpu.empty()) table.add({"doorbells per round trip", fixed(outcome.doorbells(), 4)});
  table.add({"CPU us per round trip",
             outcome.trips == 0
                 ? "-"
                 : fixed((outcome.usage.user + outcome.usage.system) * 1e6 / static_cast<double>(outcome.trips), 2)});
  table.print();
  if (gpu.empty()) std::printf("  Doorbells are the kernel's; in polling mode they are the flags of the messages.\n");
  if (options.substep_timing) print_steps(outcome);
  if (options.histogram) {
    std::printf("\nlatency (software endpoint, not a device)\n");
    for (const auto& bar : s.bars())
      std::printf("  %10s to %10s us  %12s\n", microseconds(bar.from).c_str(), microseconds(bar.to).c_str(),
                  grouped(bar.count).c_str());
  }
  std::printf("\nverified %llu of %llu answers\n", static_cast<unsigned long long>(outcome.trips - outcome.wrong),
              static_cast<unsigned long long>(outcome.trips));
  if (outcome.interrupted) std::puts("interrupted: these are partial results");
  if (outcome.late) std::printf("ended early: an answer did not come within %u ms (--deadline)\n", options.deadline_ms);
}

void write(const EndpointOptions& options, const std::string& gpu, const EndpointOutcome& outcome) {
  nlohmann::ordered_json json = json_header("test-ep");
  json["heading"] = "software endpoint, not a device";
  json["setup"] = {{"executor", gpu.empty() ? "host" : "gpu"}, {"executor_gpu", gpu},
                   {"mode", mode_name(options.mode)},          {"threads", options.threads},
                   {"batch_size", options.batch_size},         {"iterations", options.iterations},
                   {"less_timing", options.less_timing},       {"substep_timing", options.substep_timing},
                   {"deadline_ms", options.deadline_ms}};
  json["round_trips"] = outcome.trips;
  json["wrong_answers"] = outcome.wrong;
  json["seconds"] = outcome.seconds;
  json["per_second"] = outcome.rate();
  json["latency_us"] = json_latency(outcome.latency);
  if (gpu.empty()) json["doorbells_per_round_trip"] = outcome.doorbells();
  json["cpu"] = {{"user_seconds", outcome.usage.user}, {"system_seconds", outcome.usage.system}};
  if (options.substep_timing)
    for (uint32_t i = 0; i < outcome.steps_ns.size(); ++i) json["steps_ns"][endpoint_steps[i].id] = outcome.steps_ns[i];
  if (options.histogram) {
    json["histogram_us"] = nlohmann::ordered_json::array();
    for (const auto& bar : outcome.latency.bars())
      json["histogram_us"].push_back({{"from", bar.from / 1000}, {"to", bar.to / 1000}, {"count", bar.count}});
  }
  json["interrupted"] = outcome.interrupted;
  json["exit_status"] = outcome.exit_status();
  write_json_file(options.json, json);
}

}  // namespace

CLI::App* add_endpoint_command(CLI::App& app, EndpointOptions& options) {
  CLI::App* const command =
      app.add_subcommand("test-ep", "round trips between a kernel and a host thread through rings in memory");
  add_examples(command, {{"10000 round trips, one at a time", "xio-tester test-ep"},
                         {"4 endpoints, 16 messages announced together by a flag in each",
                          "xio-tester test-ep --threads 4 --batch-size 16 --mode polling"}});
  when_chosen(command, [command, &options] {
    add_number(*command, "--iterations", options.iterations, 1, std::numeric_limits<uint64_t>::max(),
               "round trips of each endpoint (default 10000)");
    add_number(*command, "--batch-size", options.batch_size, 1, 4096,
               "messages that are announced together (default 1)");
    add_number(*command, "--threads", options.threads, 1, 256,
               "endpoints, each with a kernel and a host thread (default 1)");
    add_choice<Announcement>(*command, "--mode", options.mode,
                             {{"polling", Announcement::polling}, {"doorbell", Announcement::doorbell}},
                             "how a side learns of messages: a flag in each, or one word (default doorbell)");
    add_number(*command, "--deadline", options.deadline_ms, 1, 3600000,
               "milliseconds that a batch may take (default 30000)");
    add_executor(*command, options.executor, options.gpu, "Execution");
    command->add_flag("--less-timing", options.less_timing,
                      "read the clock once for the answers of a poll instead of once for each");
    command->add_flag("--substep-timing", options.substep_timing,
                      "time the steps of the kernel's round trips; only on the CPU");
    command->add_flag("--histogram", options.histogram, "print the distribution of the latencies");
    add_json(*command, options.json);
  });
  return command;
}

int run_endpoint(const EndpointOptions& options) {
  check_json_file(options.json);
  if (options.substep_timing && options.executor == Executor::gpu)
    throw CannotRun("--substep-timing: kernels of test-ep time their steps only on the CPU; give --executor host");
  const Interrupt interrupt;
  const Executor executor = options.substep_timing ? Executor::host : options.executor;
  const ExecutorMemory memory(choose_executor(executor, options.gpu).gpu);
  const std::string gpu = memory.gpu() ? memory.gpu()->description() : std::string();
  const EndpointOutcome outcome = measure(options, memory);
  if (options.json != "-") print(options, gpu, outcome);
  write(options, gpu, outcome);
  return outcome.exit_status();
}

}  // namespace tester
