// SPDX-License-Identifier: MIT

/// @file
/// @brief Runs scenarios with defects in the library's calls: reads lines "defect case", and answers each with what
/// the case noticed, or "-". Without a defect the cases must pass, else the exit status is 1.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <set>

#include <executors/cpu.hpp>
#include <machine/core/load.hpp>
#include <scenarios/cases.hpp>
#include <scenarios/defect.hpp>

/// The CPU's kernels read this instead of the system's clock: time of this process, of which a busy machine takes none,
/// so that a deadline that is short enough for many defects passes only with one.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return static_cast<int>(
      ::syscall(SYS_clock_gettime, clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, time));
}

namespace {

using scenarios::Case;

/// The page that kernels look at.
class Switch {
 public:
  Switch() {
    void* const wanted = reinterpret_cast<void*>(scenarios::defect_page);
    constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (::mmap(wanted, scenarios::defect_page_bytes, PROT_READ | PROT_WRITE, how, -1, 0) != wanted)
      throw scenarios::Fault("the addresses of the switch are in use");
    word_ = static_cast<uint32_t*>(wanted);
  }
  void set(uint32_t defect) { *word_ = defect; }
  const void* page() const { return word_; }

 private:
  uint32_t* word_ = nullptr;
};

/// An executor that can access the switch, too, and whose kernels lose patience soon.
class Switched final : public scenarios::Gpu {
 public:
  Switched(std::unique_ptr<scenarios::Gpu> inner, const Switch& defect, uint64_t patience_ns)
      : inner_(std::move(inner)), switch_(defect), patience_ns_(patience_ns) {}

  const std::string& target() const override { return inner_->target(); }
  uint32_t wave_size() const override { return inner_->wave_size(); }
  std::vector<machine::KernelInfo> kernels() const override { return inner_->kernels(); }
  void start(uint64_t seed) override { inner_->start(seed); }
  void run(const std::string& kernel, const machine::Launch& launch) override {
    inner_->limits = limits;
    inner_->step_devices = step_devices;
    inner_->memory = memory;
    inner_->memory.add(switch_.page(), scenarios::defect_page_bytes, scenarios::MemoryKind::local, "switch");
    inner_->run(kernel, launch);
    counts = inner_->counts;
  }
  uint64_t patience_ns() const override { return patience_ns_; }
  std::vector<machine::Mutation> mutations(const std::string& kernel) const override {
    return inner_->mutations(kernel);
  }
  void apply(const machine::Mutation& mutation) override { inner_->apply(mutation); }
  void restore() override { inner_->restore(); }

 private:
  std::unique_ptr<scenarios::Gpu> inner_;
  const Switch& switch_;
  uint64_t patience_ns_;
};

/// What the case says of the first seed whose run is wrong; empty if none is.
std::string complaint_of(scenarios::Gpu& gpu, const Case& one, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string error = one.run(gpu, one, seed).error;
    if (error.find("does not end") != std::string::npos) return {};  // which no deadline has noticed
    if (!error.empty()) return "seed " + std::to_string(seed) + ": " + error;
  }
  return {};
}

const Case& case_of(const std::vector<Case>& all, const std::string& name) {
  for (const Case& one : all)
    if (one.name == name) return one;
  throw scenarios::Fault("no case " + name);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs scenarios with defects in the library's calls");
  std::vector<std::string> programs;
  uint32_t lanes = 64;
  uint64_t seeds = 20;
  app.add_option("--programs", programs, "NVMe's and RDMA's kernels for a GPU; without: the CPU")->expected(2);
  app.add_option("--lanes", lanes, "lanes of a CPU's wave")->check(CLI::IsMember({8, 32, 64}));
  app.add_option("--seeds", seeds, "of a case, unless one is wrong before");
  CLI11_PARSE(app, argc, argv);
  try {
    Switch defect;
    std::vector<std::unique_ptr<scenarios::Gpu>> gpus;  // for NVMe, and for RDMA
    for (size_t i = 0; i < 2; ++i) {
      std::unique_ptr<scenarios::Gpu> inner = std::make_unique<executors::Cpu>(lanes);
      if (!programs.empty()) inner = machine::load(programs[i]);
      // A model of a GPU has its own time, which follows from the instructions.
      gpus.push_back(
          std::make_unique<Switched>(std::move(inner), defect, programs.empty() ? 1'000'000'000 : 5'000'000));
    }
    std::printf("%s\n", gpus[0]->target().c_str());
    std::fflush(stdout);
    const std::vector<Case> cases[] = {scenarios::nvme_cases(), scenarios::rdma_cases()};
    std::set<std::string> good;
    uint32_t number = 0;
    for (std::string name; std::cin >> number >> name;) {
      bool rdma = false;
      for (const Case& one : cases[1]) rdma = rdma || one.name == name;
      scenarios::Gpu& gpu = *gpus[rdma];
      gpu.limits.instructions = 200'000'000;
      const Case& one = case_of(cases[rdma], name);
      if (scenarios::misfit(one, gpu.wave_size()) != nullptr) throw scenarios::Fault(name + " does not fit");
      defect.set(0);
      const std::string before = good.insert(name).second ? complaint_of(gpu, one, 4) : std::string();
      if (!before.empty()) throw scenarios::Fault(name + " without a defect: " + before);
      defect.set(number);
      const std::string noticed = complaint_of(gpu, one, seeds);
      std::printf("%s\n", noticed.empty() ? "-" : noticed.c_str());
      std::fflush(stdout);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
