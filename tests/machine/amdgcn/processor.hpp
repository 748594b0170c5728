// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An AMD GPU: waves, their accesses in flight, and an adversarial scheduler.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <machine/amdgcn/caches.hpp>
#include <machine/amdgcn/mood.hpp>
#include <machine/amdgcn/program.hpp>
#include <machine/amdgcn/wave.hpp>
#include <machine/core/gpu.hpp>

namespace machine::amdgcn {

class Processor final : public Gpu {
 public:
  explicit Processor(const std::string& path);

  const std::string& target() const override { return program_.target().name; }
  uint32_t wave_size() const override { return program_.target().lanes; }
  std::vector<KernelInfo> kernels() const override;
  void start(uint64_t seed) override;
  void run(const std::string& kernel, const Launch& launch) override;
  std::vector<Mutation> mutations(const std::string& kernel) const override;
  void apply(const Mutation& mutation) override;
  void restore() override;
  uint64_t executed(const Mutation& mutation) const override;
  /// Waits matter only if there was something to wait for.
  bool mattered(const Mutation& mutation) const override;

  // Interface of instructions to the rest of the machine.
  Program& program() const { return program_; }
  const Target& model() const { return program_.target(); }
  Caches& caches() { return caches_; }
  Random& random() { return random_; }
  uint64_t ticks() const { return ticks_; }
  std::unique_ptr<Access> new_access(Wave& wave, const Instruction& instruction, Access::Kind kind);
  void issue(Wave& wave, std::unique_ptr<Access> access);
  void issue(Wave& wave, const ScalarAccess& access);
  void issue(Wave& wave, const SharedAccess& access);
  /// Performs and retires the accesses that a wait requires. Returns false if the wave must try again.
  bool wait(Wave& wave, const Waits& waits);
  /// Delays accesses that a weakened wait leaves in flight, now and then, so that others see the wave's later ones
  /// first.
  void hold_back(Wave& wave, const Waits& dropped);
  void perform_shared(Wave& wave, size_t keep);
  void sleep(Wave& wave, uint64_t duration);
  /// A barrier of the workgroup in two steps: a wave arrives, and waits for the others.
  void signal(Wave& wave);
  void await(Wave& wave);
  void end(Wave& wave);

 private:
  struct Saved {
    size_t instruction;
    Instruction kept;
  };

  // flight.cpp
  void perform(Wave& wave, Access& access, uint32_t part, uint64_t lanes);
  void perform_all(Wave& wave, Access& access);
  void perform_others(const Wave& wave, uint64_t before);
  void perform_lane(Wave& wave, Access& access, uint32_t part, uint32_t lane);
  void perform_some(Wave& wave);
  void note_addresses(Access& access);
  void merge_register_stores(Access& access);
  void count(const Access& access);
  uint64_t perform_atomic(Wave& wave, Access& access, uint32_t lane);
  void retire(Wave& wave, bool stores, size_t left);
  void return_data(Wave& wave, const Access& access);
  void sample(Wave& wave, ScalarAccess& access);
  void retire_scalars(Wave& wave, size_t left);
  void retire_shared(Wave& wave, size_t left);
  void poison_again(Wave& wave);
  static size_t outstanding(const Wave& wave, bool stores);

  // launch.cpp
  void lay_out_arguments(const Kernel& kernel, const Launch& launch);
  void make_group(const Kernel& kernel, const Launch& launch, uint32_t number);
  void make_wave(const Kernel& kernel, const Launch& launch, Group& group, uint32_t number);
  void set_scalars(const Kernel& kernel, Wave& wave);
  void check_reachable(const std::string& kernel);

  // scheduler.cpp
  Wave* choose_wave(uint32_t& turn);
  void schedule(const std::string& kernel);
  bool step(Wave& wave);
  void open_barrier(Group& group);
  void check_poison(const Wave& wave, const Instruction& instruction) const;
  void background();
  void report_trace(const Wave& wave, const Instruction& instruction) const;
  std::string where() const;
  [[noreturn]] void never_ends(const std::string& kernel) const;
  uint64_t clock() const;

  mutable Program program_;
  Random random_;
  Mood mood_;
  Caches caches_;
  uint64_t ticks_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<std::unique_ptr<Wave>> free_waves_;
  std::vector<std::unique_ptr<Access>> free_accesses_;
  struct Pending {
    Wave* wave;
    Access* access;
  };
  std::array<std::vector<Pending>, compute_units> pending_;  ///< per unit, in issue order
  std::vector<size_t> order_;                                ///< of retire()
  /// So that the heap does not decide which of them share a line.
  struct alignas(line_bytes) Line {
    uint8_t bytes[line_bytes] = {};
  };
  std::vector<Line> arguments_;
  Line packet_;
  std::vector<std::string> checked_;
  std::vector<Saved> saved_;
  std::vector<uint32_t> begun_;  ///< instructions, since start()
  const Wave* current_wave_ = nullptr;
  const Instruction* current_ = nullptr;
};

}  // namespace machine::amdgcn
