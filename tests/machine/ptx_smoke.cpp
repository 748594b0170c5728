// SPDX-License-Identifier: MIT
/// @file
/// @brief PTX kernels drive the in-process controller: ptx_smoke.cu over many seeds.
///
///     ptx_smoke FILE.ptx KERNEL FIRST-LAST [BLOCKS THREADS DEPTH ROUNDS] [trace | mutate]

#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <machine/core/load.hpp>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/xio.hpp>

namespace {

struct Case {
  std::string kernel = "wave";
  uint32_t blocks = 1;
  uint32_t threads = 32;
  uint32_t depth = 64;
  uint32_t rounds = 4;
};

/// Memory for the controller, at the same addresses in each run.
class Arena {
 public:
  Arena()
      : begin_(static_cast<char*>(mmap(reinterpret_cast<void*>(0x200000000000), bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Arena() { munmap(begin_, bytes); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t size, size_t alignment) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    char* const at = begin_ + used_;
    used_ += (size + 63) / 64 * 64;
    if (used_ > bytes) return nullptr;
    pieces.emplace_back(at, (size + 63) / 64 * 64);
    return at;
  }
  std::vector<std::pair<char*, size_t>> pieces;

 private:
  static constexpr size_t bytes = size_t{32} << 20;
  char* begin_;
  size_t used_ = 0;
};

struct Result {
  std::string wrong;
  uint64_t commands = 0;
};

Result run(machine::Gpu& gpu, const Case& c, uint64_t seed) {
  using namespace xio;
  Arena arena;
  emulation::NvmeConfig config;
  config.execution = emulation::NvmeExecution::stepped;
  config.queues = 2;
  config.poison_fetched_entries = true;
  config.namespaces[0].blocks = 4096;
  config.memory.allocate = [&](size_t size, size_t alignment) { return arena.allocate(size, alignment); };
  config.memory.release = [](void*) {};
  auto transport = std::make_unique<emulation::NvmeController>(std::move(config));
  emulation::NvmeController& model = *transport;
  host::NvmeController controller(std::move(transport));
  host::QueueOptions options;
  options.depth = c.depth;
  options.list_bytes = 0;
  host::NvmeQueue queue = controller.create_queue(options);
  model.faults().reorder(static_cast<uint32_t>(seed));
  const uint32_t threads = c.blocks * c.threads;
  host::DmaBuffer data = controller.allocate(size_t{threads} * 8192);
  host::DmaBuffer words = controller.allocate(4096);
  auto* const outcome = words.as<uint32_t>();

  struct {
    nvme::QueueHandle handle;
    uint64_t bus;
    void* data;
    uint32_t rounds;
    uint32_t* outcome;
  } arguments = {queue.handle(), data.bus(), data.data(), c.rounds, outcome};
  gpu.memory.clear();
  for (const auto& [at, size] : arena.pieces) gpu.memory.add(at, size, machine::MemoryKind::host, "controller");
  gpu.memory.add(model.doorbell_words(), model.doorbell_bytes(), machine::MemoryKind::registers, "doorbells");
  gpu.step_devices = [&](machine::Random& random) { return model.step(1 + random.below(4)) != 0; };
  machine::Launch launch;
  launch.grid.x = c.blocks;
  launch.block.x = c.threads;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  gpu.start(seed);
  Result result;
  try {
    gpu.run(c.kernel, launch);
  } catch (const machine::Fault& fault) {
    result.wrong = fault.what();
  }
  model.run(100000);
  const auto statistics = model.statistics();
  const auto& q = statistics.queues[1];
  result.commands = q.commands;
  const auto complain = [&](const std::string& what) { result.wrong += (result.wrong.empty() ? "" : "; ") + what; };
  if (outcome[0] != threads * c.rounds || outcome[1] != 0)
    complain(std::to_string(outcome[0]) + " of " + std::to_string(threads * c.rounds) + " right, " +
             std::to_string(outcome[1]) + " wrong (" + std::to_string(outcome[2]) + ")");
  if (q.errors) complain(std::to_string(q.errors) + " errors");
  if (q.stale_fetches) complain(std::to_string(q.stale_fetches) + " stale fetches");
  if (q.suspicious_tails || q.suspicious_heads || q.invalid_doorbells) complain("suspicious doorbells");
  if (q.command_id_conflicts) complain("command identifiers in use");
  if (statistics.in_flight) complain("commands left in flight");
  return result;
}

int mutate(machine::Gpu& gpu, const Case& c, uint64_t first, uint64_t last) {
  gpu.limits.instructions = 20'000'000;
  int survivors = 0;
  for (const machine::Mutation& one : gpu.mutations(c.kernel)) {
    gpu.apply(one);
    std::string wrong;
    uint64_t seed = first;
    uint64_t executed = 0;
    for (; seed <= last && wrong.empty(); ++seed) {
      wrong = run(gpu, c, seed).wrong;
      executed += gpu.executed(one);
    }
    gpu.restore();
    if (executed == 0) continue;
    survivors += wrong.empty();
    std::printf("%-9s %-40s %-10s %s%s\n", wrong.empty() ? "survived" : "caught", one.text.c_str(), one.change.c_str(),
                one.source.c_str(),
                wrong.empty()
                    ? ""
                    : (" | seed " + std::to_string(seed - 1) + ": " + wrong.substr(0, wrong.find('\n'))).c_str());
    std::fflush(stdout);
  }
  return survivors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  Case c;
  c.kernel = argv[2];
  uint64_t first = std::strtoull(argv[3], nullptr, 10);
  const char* const dash = std::strchr(argv[3], '-');
  const uint64_t last = dash ? std::strtoull(dash + 1, nullptr, 10) : first;
  bool mutating = false;
  bool tracing = false;
  uint32_t* const numbers[] = {&c.blocks, &c.threads, &c.depth, &c.rounds};
  for (int i = 4, at = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "mutate") == 0) {
      mutating = true;
    } else if (std::strcmp(argv[i], "trace") == 0) {
      tracing = true;
    } else if (at < 4) {
      *numbers[at++] = static_cast<uint32_t>(std::atoi(argv[i]));
    }
  }
  const std::unique_ptr<machine::Gpu> gpu = machine::ptx::load(argv[1]);
  gpu->limits.instructions = 100'000'000;
  if (tracing) gpu->trace = [](const std::string& line) { std::puts(line.c_str()); };
  if (mutating) return mutate(*gpu, c, first, last) != 0;
  machine::Counts counts;
  uint64_t commands = 0;
  uint64_t failed = 0;
  std::map<std::string, uint64_t> reasons;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed <= last; ++seed) {
    const Result result = run(*gpu, c, seed);
    counts += gpu->counts;
    commands += result.commands;
    if (result.wrong.empty()) continue;
    if (failed++ < 3) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.wrong.c_str());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf(
      "%s: %llu of %llu seeds failed; %llu commands, %.1f million instructions in %.2f s (%.1f million/s), "
      "%llu loads (%llu stale), %llu stores, %llu atomics, %llu doorbells, %llu writes of host memory\n",
      c.kernel.c_str(), static_cast<unsigned long long>(failed), static_cast<unsigned long long>(last - first + 1),
      static_cast<unsigned long long>(commands), static_cast<double>(counts.instructions) / 1e6, seconds,
      static_cast<double>(counts.instructions) / seconds / 1e6, static_cast<unsigned long long>(counts.loads),
      static_cast<unsigned long long>(counts.stale_loads), static_cast<unsigned long long>(counts.stores),
      static_cast<unsigned long long>(counts.atomics), static_cast<unsigned long long>(counts.doorbells),
      static_cast<unsigned long long>(counts.host_writes));
  return failed != 0;
}
