// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernel behind executor=gpu of fio's engine, as machine code on the model of a GPU: what it does, under
/// many schedules, and what a read costs.
///
/// ring [--seeds N] [--counts] FILE...: each FILE holds bench/fio/kernels.hip for a target. --counts prints what an
/// operation costs for several depths.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>

#include <machine/core/host_memory.hpp>
#include <machine/core/load.hpp>
#include <scenarios/arena.hpp>

#include "fio/host_ring.hpp"

namespace {

using namespace machine;
namespace emulation = xio::emulation;
namespace host = xio::host;
namespace nvme = xio::nvme;
using scenarios::Arena;

uint32_t wrong = 0;
bool quiet = false;                       ///< says nothing of what is wrong
uint64_t most_instructions = 1000000000;  ///< of a launch

#define CHECK(holds, ...)                      \
  do {                                         \
    if (!(holds)) {                            \
      ++wrong;                                 \
      if (quiet) break;                        \
      std::printf("WRONG: %s: ", #holds);      \
      std::printf(__VA_ARGS__), std::puts(""); \
    }                                          \
  } while (false)

constexpr uint32_t block_bytes = 512;

/// A queue of the in-process controller, stepped by the GPU, and the rings of a job.
struct Job {
  explicit Job(Gpu& on, uint32_t depth, bool shadow = false) : gpu(on) {
    emulation::NvmeConfig config;
    config.execution = emulation::NvmeExecution::stepped;
    config.queues = 1;
    config.poison_fetched_entries = true;
    const MemoryKind shared = host_memory(gpu.target());
    config.memory = arena.source(shared, "host memory");
    auto made = std::make_unique<emulation::NvmeController>(std::move(config));
    model = made.get();
    controller = std::make_unique<host::NvmeController>(std::move(made));
    if (shadow) controller->enable_shadow_doorbells();
    host::QueueOptions options;
    options.depth = depth;
    options.cq_entries = 1024;
    options.shadow_doorbells = shadow;
    options.allocate_state = [this](size_t bytes, size_t alignment) {
      return host::DmaBuffer(arena.allocate(bytes, alignment, MemoryKind::local, "queue state"), 0, bytes, nullptr);
    };
    queue = std::make_unique<host::NvmeQueue>(controller->create_queue(options));
    kernel = shadow ? "fio_serve_shadow" : "fio_serve";

    const nvme::QueueHandle& handle = queue->handle();
    const auto shift =
        static_cast<uint32_t>(__builtin_ctz(static_cast<uint32_t>(host::power_of_two_up_to(2 * depth)))) + 1;
    const uint32_t entries = 1u << shift;
    fio::HostRing::Memory memory{};
    memory.commands = arena.make<fio::Descriptor>(entries, shared, "commands");
    memory.answers = arena.make<uint64_t>(entries, shared, "answers");
    memory.posted = arena.make<uint64_t>(1, shared, "posted");
    auto* const report = arena.make<fio::Report>(1, shared, "report");
    memory.report = report;
    memory.commands_mask = entries - 1;
    memory.answers_shift = shift;
    ring = std::make_unique<fio::HostRing>(memory, handle.depth, handle.slot_mask, handle.block_shift);
    wave = arena.make<fio::RingJob>(1, shared, "job of the wave");
    *wave = {handle,
             memory.commands,
             memory.answers,
             memory.posted,
             report,
             arena.make<fio::Progress>(1, MemoryKind::local, "progress"),
             memory.commands_mask,
             memory.answers_shift,
             {10000000}};
    tags.resize(handle.slot_mask + 1, -1);
    gpu.memory.clear();
    arena.map(gpu.memory);
    gpu.memory.add(handle.sq_doorbell, 4, MemoryKind::registers, "SQ doorbell");
    gpu.memory.add(handle.cq_doorbell, 4, MemoryKind::registers, "CQ doorbell");
    gpu.limits.instructions = most_instructions;
  }

  /// Posts the command for `tag`, if there is room.
  bool post(const nvme::Command& command, uint64_t bus, int tag) {
    if (ring->in_flight() == queue->handle().depth || tags[ring->slot()] >= 0) return false;
    tags[ring->slot()] = tag;
    ring->post(command, bus);
    return true;
  }
  /// Calls `each(tag, status field)` for each answer.
  template <class Each>
  uint32_t take(Each each, uint32_t most = ~0u) {
    return ring->take(
        [&](const nvme::Completion& completion) {
          const int tag = std::exchange(tags[completion.slot], -1);
          CHECK(tag >= 0, "an answer for slot %u, which has no command", completion.slot);
          if (tag >= 0) each(tag, completion.status_field);
        },
        most);
  }
  void run() {
    ++launches;
    const struct {
      const fio::RingJob* waves;
      uint64_t launch;
    } arguments = {wave, launches};
    Launch launch;
    launch.block.x = gpu.wave_size();
    launch.arguments = &arguments;
    launch.argument_bytes = sizeof arguments;
    gpu.run(kernel, launch);
    CHECK(ring->left() == launches, "launch %llu has not reported its end", static_cast<unsigned long long>(launches));
  }

  Gpu& gpu;
  Arena arena{size_t{64} << 20};
  emulation::NvmeController* model = nullptr;
  std::unique_ptr<host::NvmeController> controller;
  std::unique_ptr<host::NvmeQueue> queue;
  std::unique_ptr<fio::HostRing> ring;
  fio::RingJob* wave = nullptr;
  uint64_t launches = 0;
  std::vector<int> tags;  ///< by completion slot
  std::string kernel;
};

/// Reads of 4 KiB: the host keeps `depth` in flight, and posts `batch` at a time.
Counts read(Gpu& gpu, uint32_t depth, uint32_t batch, int total) {
  Job job(gpu, depth);
  const host::DmaBuffer data = job.controller->allocate(size_t{4096} * 64);
  int posted = 0;
  int ended = 0;
  gpu.order = 1;
  gpu.step_devices = [&](Random&) {
    bool did = job.model->step(~0u) != 0;
    const uint32_t answers = job.take([&](int, uint16_t status) {
      CHECK(status == 0, "status %x", status);
      ++ended;
    });
    did = did || answers != 0;
    if (posted < total && depth - static_cast<uint32_t>(posted - ended) >= batch) {
      for (uint32_t i = 0; i < batch; ++i, ++posted)
        CHECK(job.post(nvme::read(static_cast<uint64_t>(posted) * 8 % 1000, 8),
                       data.bus() + static_cast<uint64_t>(posted) % 64 * 4096, posted),
              "no room for %d", posted);
      job.ring->commit();
      did = true;
    }
    if (ended == total) job.ring->end(false);
    return did;
  };
  gpu.start(0);
  job.run();
  CHECK(ended == total, "%d of %d", ended, total);
  return gpu.counts;
}

/// What the rings are for: operations of all kinds and sizes, posted a few at a time, with pauses in which the kernel
/// ends, and is launched again. Each is answered once, with its own status, and data is where it belongs.
class Mixture {
 public:
  static constexpr int pieces = 160;
  static constexpr uint32_t most_blocks = 64;
  static constexpr uint16_t read_error = 0x281;

  Mixture(Gpu& gpu, uint64_t seed, uint32_t depth, bool shadow)
      : gpu_(gpu), random_(seed), job_(gpu, depth, shadow), seed_(seed), pause_every_(seed % 3 == 1 ? 60 : 6) {
    job_.wave->patience = {20000};
    job_.model->faults().reorder(8);
    data_ = job_.controller->allocate(size_t{pieces} * most_blocks * block_bytes);
    ranges_ = job_.controller->allocate(4096);
    for (int i = 0; i < pieces; ++i)
      blocks_[i] = random_.one_in(4) ? most_blocks - random_.below(32) : 1 + random_.below(16);
    gpu_.order = 0;
    gpu_.step_devices = [this](Random&) { return step(); };
    gpu_.start(seed);
  }

  void run() {
    // Written, and the memory cleared; the last ten are trimmed. Then read, and some of them fail.
    for (int i = 0; i < pieces; ++i) fill(i, static_cast<unsigned char>(i + 1));
    everything([this](int i) { return nvme::write(lba(i), blocks_[i]); });
    std::memset(data_.data(), 0xff, data_.size());
    const nvme::DsmRange trimmed{0, 10 * most_blocks, lba(pieces - 10)};
    *ranges_.as<nvme::DsmRange>() = trimmed;
    everything([](int i) { return i % 8 == 0 ? nvme::deallocate(1) : nvme::flush(); });
    auto faults = job_.model->faults().fail(
        emulation::Match{}.with_opcode(static_cast<uint8_t>(nvme::Opcode::read)).each(7), read_error);
    everything([this](int i) { return nvme::read(lba(i), blocks_[i]); });
    int failed = 0;
    for (int i = 0; i < pieces; ++i) {
      failed += status_[i] == read_error;
      if (status_[i] == 0) check(i, static_cast<unsigned char>(i < pieces - 10 ? i + 1 : 0));
    }
    CHECK(failed == (pieces + 6) / 7, "seed %llu: %d failed", number(seed_), failed);
    ends_ = true;
    while (job_.ring->left() != job_.launches) job_.run();
    CHECK(job_.launches > 3 && job_.ring->refusal().is_ok(), "seed %llu: %llu launches, refusal %u", number(seed_),
          number(job_.launches), job_.ring->refusal().pack());
    CHECK(job_.ring->in_flight() == 0, "seed %llu: in flight", number(seed_));
  }

  static unsigned long long number(uint64_t value) { return value; }

 private:
  static uint64_t lba(int i) { return static_cast<uint64_t>(i) * most_blocks; }
  unsigned char* place(int i) const { return data_.as<unsigned char>(lba(i) * block_bytes); }
  void fill(int i, unsigned char value) const { std::memset(place(i), value, size_t{blocks_[i]} * block_bytes); }
  void check(int i, unsigned char value) const {
    for (uint32_t at = 0; at < most_blocks * block_bytes; ++at) {
      const unsigned char wanted = at < blocks_[i] * block_bytes ? value : 0xff;
      if (place(i)[at] == wanted) continue;
      CHECK(false, "seed %llu: byte %u of piece %d is %x, not %x", number(seed_), at, i, place(i)[at], wanted);
      return;
    }
  }

  /// Posts the command of every piece, and launches the kernel until all are answered.
  template <class Make>
  void everything(Make make) {
    make_ = make;
    posted_ = ended_ = 0;
    std::fill(std::begin(status_), std::end(status_), uint16_t{0xffff});
    for (int launches = 0; ended_ < pieces; ++launches) {
      CHECK(launches < 10000, "seed %llu: no end", number(seed_));
      if (launches == 10000) throw Fault("the kernel makes no progress");
      pauses_ = false;
      job_.run();
    }
  }

  bool step() {
    bool did = job_.model->step(1 + random_.below(8)) != 0;
    const uint32_t answers = job_.take(
        [&](int i, uint16_t status) {
          CHECK(status_[i] == 0xffff, "seed %llu: piece %d is answered twice", number(seed_), i);
          status_[i] = status;
          CHECK(status == 0 || status == read_error, "seed %llu: piece %d: status %x", number(seed_), i, status);
          ++ended_;
        },
        random_.below(20));
    if (ends_) job_.ring->end(false);
    if (posted_ < pieces && !pauses_) {
      for (uint32_t batch = random_.below(40); batch != 0 && posted_ < pieces; --batch, did = true) {
        const nvme::Command command = make_(posted_);
        const bool has_ranges = command.opcode() == static_cast<uint8_t>(nvme::Opcode::dataset_management);
        const uint64_t bus = has_ranges ? ranges_.bus() : data_.bus() + lba(posted_) * block_bytes;
        if (!job_.post(command, bus, posted_)) break;
        ++posted_;
      }
      job_.ring->commit();
      pauses_ = random_.one_in(pause_every_);
    }
    return did || answers != 0;
  }

  Gpu& gpu_;
  Random random_;
  Job job_;
  uint64_t seed_;
  host::DmaBuffer data_, ranges_;
  uint32_t blocks_[pieces] = {};
  uint16_t status_[pieces] = {};
  std::function<nvme::Command(int)> make_;
  int posted_ = 0;
  int ended_ = 0;
  bool pauses_ = false;
  uint32_t pause_every_;  ///< one in so many batches; seldom, and a launch uses the entries of the rings several times
  bool ends_ = false;
};

/// The host gives up while the drive is silent: the kernel ends at once, and so it does by itself.
void abandon(Gpu& gpu) {
  for (const bool by_host : {true, false}) {
    Job job(gpu, 64);
    if (!by_host) job.wave->patience = {20000};
    const host::DmaBuffer data = job.controller->allocate(4096);
    for (int i = 0; i < 50; ++i) CHECK(job.post(nvme::read(0, 8), data.bus(), i), "no room");
    job.ring->commit();
    uint32_t steps = 0;
    gpu.step_devices = [&](Random&) {
      if (by_host && ++steps == 1000) job.ring->end(true);
      return false;
    };
    gpu.start(0);
    job.run();
    CHECK(job.ring->in_flight() == 50, "%u in flight", job.ring->in_flight());
  }
}

/// What the queue refuses is told, and nothing else is taken.
void refuse(Gpu& gpu, uint64_t seed) {
  Job job(gpu, 40);
  const host::DmaBuffer data = job.controller->allocate(4096);
  for (int i = 0; i < 60; ++i) job.ring->post(nvme::read(0, 8), data.bus());
  job.ring->commit();
  gpu.step_devices = [&](Random&) {
    if (job.ring->left() == job.launches) CHECK(!job.ring->refusal().is_ok(), "the end without its reason");
    return false;
  };
  gpu.start(seed);
  job.run();
  CHECK(job.ring->refusal() == xio::Status::would_block, "refusal %u", job.ring->refusal().pack());
}

/// The line of serve.hpp that has an instruction made, if it is marked as an ordering; else 0.
int own_ordering(const std::string& source) {
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find(" < ", at), source.size());
    const std::string place = source.substr(at, end - at);
    at = end + 3;
    if (place.find("/device/arch/") != std::string::npos) continue;
    const size_t name = place.find("serve.hpp:");
    if (name == std::string::npos) break;
    const int number = std::atoi(place.c_str() + place.rfind(':') + 1);
    std::ifstream file(XIO_SERVE_SOURCE);
    std::string line;
    for (int i = 0; i < number; ++i) std::getline(file, line);
    return line.find("// order:") == std::string::npos ? 0 : number;
  }
  return 0;
}

/// What goes wrong under one schedule of a weakened kernel.
bool goes_wrong(Gpu& gpu, uint64_t seed) {
  const uint32_t before = std::exchange(wrong, 0);
  try {
    constexpr uint32_t depths[] = {64, 5};
    refuse(gpu, seed);
    if (wrong == 0) Mixture(gpu, 3 * seed + 1, depths[seed % 2], false).run();
  } catch (const std::exception&) {
    ++wrong;
  }
  return std::exchange(wrong, before) != 0;
}

/// Every ordering of the kernel's own is needed, where it has an effect: without it some schedule goes wrong.
void weaken(Gpu& gpu) {
  constexpr uint64_t seeds = 60;
  const std::vector<Mutation> all = gpu.mutations("fio_serve");
  std::vector<bool> mattered(all.size());
  const uint64_t usual = std::exchange(most_instructions, 3000000);
  for (uint64_t seed = 1; seed < 4; ++seed) {
    CHECK(!goes_wrong(gpu, seed), "seed %llu", Mixture::number(seed));
    for (size_t i = 0; i < all.size(); ++i) mattered[i] = mattered[i] || gpu.mattered(all[i]);
  }
  quiet = true;
  for (size_t i = 0; i < all.size(); ++i) {
    const int line = own_ordering(all[i].source);
    if (line == 0 || !mattered[i] || all[i].change.find("scope") != std::string::npos) continue;
    gpu.apply(all[i]);
    uint64_t seed = 1;
    while (seed <= seeds && !goes_wrong(gpu, seed)) ++seed;
    gpu.restore();
    if (seed <= seeds) continue;
    std::printf("WRONG: %s: without line %d of serve.hpp (%s, %s) nothing is wrong\n", gpu.target().c_str(), line,
                all[i].text.c_str(), all[i].change.c_str());
    ++wrong;
  }
  quiet = false;
  most_instructions = usual;
}

struct Limit {
  const char* target;
  double instructions;  ///< of a wave
  double doorbells;
  double host_writes;  ///< 0: the model does not count them (PTX)
};
/// At depth 64, batches of 16. A wave of gfx11, gfx12 and sm_90 has half as many lanes. Each thread of sm_90 executes
/// every instruction.
constexpr Limit limits[] = {{"gfx90a", 14, 0.03, 1.2},
                            {"gfx942", 13, 0.03, 1.2},
                            {"gfx1100", 21, 0.03, 1.2},
                            {"gfx1201", 20, 0.03, 1.2},
                            {"sm_90", 32, 0.03, 0}};

void count(Gpu& gpu, bool all) {
  const double lanes = gpu.target().compare(0, 3, "sm_") == 0 ? gpu.wave_size() : 1;
  const uint32_t shapes[][2] = {{64, 16}, {1, 1}, {64, 1}, {128, 64}, {256, 16}};
  for (const auto& [depth, batch] : shapes) {
    constexpr int total = 4096;
    const Counts counts = read(gpu, depth, batch, total);
    const auto each = [&](uint64_t sum) { return static_cast<double>(sum) / total; };
    const double instructions = each(counts.instructions) / lanes;
    std::printf(
        "%s, depth %u, batches of %u: %.1f instructions of the wave, %.3f doorbells, %.2f writes and %.2f lines read "
        "over PCIe, %.3f atomics for a read\n",
        gpu.target().c_str(), depth, batch, instructions, each(counts.doorbells), each(counts.host_writes),
        each(counts.host_loads), each(counts.atomics));
    for (const Limit& limit : limits) {
      if (depth != 64 || batch != 16 || gpu.target() != limit.target) continue;
      CHECK(instructions <= limit.instructions, "%.2f instructions, at most %g", instructions, limit.instructions);
      CHECK(each(counts.doorbells) <= limit.doorbells, "at most %g doorbells", limit.doorbells);
      if (limit.host_writes != 0)
        CHECK(each(counts.host_writes) <= limit.host_writes, "at most %g writes", limit.host_writes);
    }
    if (!all) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seeds = 20;
  bool all = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seeds" && i + 1 < argc) {
      seeds = std::strtoull(argv[++i], nullptr, 0);
    } else if (argument == "--counts") {
      all = true;
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) return 2;
  try {
    for (const std::string& file : files) {
      const std::unique_ptr<Gpu> gpu = load(file);
      count(*gpu, all);
      abandon(*gpu);
      refuse(*gpu, 0);
      weaken(*gpu);
      constexpr uint32_t depths[] = {64, 5, 100, 1};
      for (uint64_t seed = 0; seed < seeds; ++seed) Mixture(*gpu, seed, depths[seed % 4], seed % 3 == 2).run();
    }
  } catch (const std::exception& error) {
    std::printf("WRONG: %s\n", error.what());
    ++wrong;
  }
  std::printf("%u wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
