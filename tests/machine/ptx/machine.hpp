// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A GPU of sm_70 or later that executes PTX, thread by thread.
///
/// Each thread has its own program counter: any thread may be ahead of the others of its warp by any number of
/// instructions. Threads are interleaved at instructions whose effects other threads can observe.

#include <string>
#include <vector>

#include <machine/core/gpu.hpp>
#include <machine/core/load.hpp>
#include <machine/ptx/memory.hpp>
#include <machine/ptx/program.hpp>

namespace machine::ptx {

/// Result of activemask: any set of threads that have arrived and includes the caller is valid.
enum class Convergence : uint8_t { all, random, one };

struct Mood {
  MemoryMood memory;
  Convergence convergence = Convergence::all;
  uint32_t device_every = 30;  ///< turns of threads between those of a device, on average
  uint32_t device_within = 0;  ///< a device moves after one in n instructions of such a turn; 0: between turns alone
  uint32_t burst = 8;          ///< accesses of a thread in a row, on average
  uint32_t stall_for = 2000;   ///< most turns that a thread, warp or block may stall
};

class Machine : public Gpu {
 public:
  explicit Machine(Program program);

  const std::string& target() const override { return program_.target; }
  uint32_t wave_size() const override { return 32; }
  std::vector<KernelInfo> kernels() const override;
  void start(uint64_t seed) override;
  void run(const std::string& kernel, const Launch& launch) override;
  std::vector<Mutation> mutations(const std::string& kernel) const override;
  uint64_t executed(const Mutation& mutation) const override;
  void apply(const Mutation& mutation) override;
  void restore() override;

  /// Drawn by start(); may be changed before run().
  Mood mood;

 protected:
  enum class State : uint8_t { running, parked, gathering, at_barrier, done };
  struct Frame {
    Function* function = nullptr;
    uint32_t pc = 0;
    uint32_t registers = 0;   ///< index of the first one
    uint32_t parameters = 0;  ///< bytes of the stack
    uint32_t local = 0;
    uint32_t end = 0;
  };
  struct alignas(64) Thread {
    // First what each turn needs.
    Frame frame;
    uint64_t asleep_until = 0;
    std::vector<uint64_t> registers;
    uint32_t id = 0;
    uint32_t block = 0;
    uint32_t index = 0;  ///< in the block
    Extent at;
    uint32_t lane = 0;
    uint32_t warp = 0;  ///< of the grid
    uint32_t place = 0;
    State state = State::running;  ///< see become()
    bool carry = false;
    uint32_t mask = 0;  ///< threads that it waits for
    uint32_t barrier = 0;
    uint32_t barrier_threads = 0;
    uint32_t patience = 0;
    std::vector<Frame> callers;
    std::vector<uint64_t> stack;  ///< parameters and local memory
    uint64_t stack_used = 0;      ///< bytes from its beginning that may have been written
    Reader reader;
    char* bytes() { return reinterpret_cast<char*>(stack.data()); }
    void wrote_stack(uint64_t end) {
      if (end > stack_used) stack_used = end;
    }
  };
  struct Warp {
    uint32_t first = 0;              ///< id of its first thread
    uint32_t count = 0;              ///< threads, whose lanes and ids are consecutive
    uint32_t in[5] = {};             ///< lanes, by State
    const Instruction* at[32] = {};  ///< by lane, of those that gather
    uint32_t mask(State state) const { return in[static_cast<int>(state)]; }
  };
  struct Block {
    Extent at;
    std::vector<uint64_t> shared;
    std::vector<uint32_t> threads;
    uint32_t waiting = 0;  ///< threads at a barrier
  };

  // Launch and schedule (machine.cpp).
  void prepare(const Function& kernel, const Launch& launch);
  void restart(Thread& thread);
  virtual void schedule();
  bool stalled(const Thread& thread);
  void become(Thread& thread, State state);
  void stop(Thread& thread, State state);
  void go_on(Thread& thread);
  void finish(Thread& thread);
  uint64_t time() const;

  // Reports of the state (report.cpp).
  [[noreturn]] void fail(const Thread& thread, const std::string& what);
  const Instruction* instruction_of(const Thread& thread) const;
  std::string where_all_stand(size_t most) const;

  // One instruction (step.cpp). compute() returns false for one that is not the thread's alone.
  void step(Thread& thread);
  bool compute(Thread& thread, const Instruction& instruction);
  bool compute_here(Thread& thread, const Instruction& instruction, uint64_t* registers);
  void call(Thread& thread, const Call& call);
  bool leave(Thread& thread);
  void push(Thread& thread, Function& function);
  uint64_t special(Thread& thread, Special which);
  void trace_line(const Thread& thread, const Instruction& instruction);
  void trace_access(uint64_t address, uint64_t value);
  static uint64_t get(const uint64_t* registers, const Operand& operand) {
    return operand.index >= 0 ? registers[operand.index] ^ static_cast<uint64_t>(operand.negated) : operand.value;
  }
  static void set(uint64_t* registers, const Operand& operand, uint64_t value) {
    if (operand.index >= 0) registers[operand.index] = value;
  }
  uint64_t get(const Thread& thread, const Operand& operand) const {
    return get(thread.registers.data() + thread.frame.registers, operand);
  }
  void set(Thread& thread, const Operand& operand, uint64_t value) {
    set(thread.registers.data() + thread.frame.registers, operand, value);
  }

  // Memory (access.cpp). The first two return whether others can observe the access.
  bool load(Thread& thread, const Instruction& instruction);
  bool store(Thread& thread, const Instruction& instruction);
  void atomic(Thread& thread, const Instruction& instruction);
  uint64_t address_of(Thread& thread, const Instruction& instruction);
  uint64_t space_begin(Thread& thread, Space space);
  char* own_bytes(Thread& thread, uint64_t address, uint32_t bytes);

  // Collective operations of threads (together.cpp).
  void gather(Thread& thread, const Instruction& instruction);
  void complete(Thread& thread);
  void act(Warp& warp, uint32_t members);
  void shuffle(Thread& thread, const Instruction& instruction, uint32_t members, const uint64_t (&values)[32]);
  void ask_who_is_here(Thread& thread);
  void arrive(Thread& thread, const Instruction& instruction);
  void open_barrier(uint32_t block);
  /// Lanes have executed an instruction together, and are about to go on; threads have met at a barrier of their block.
  virtual void met(const Warp& warp, uint32_t lanes) { static_cast<void>(warp), static_cast<void>(lanes); }
  virtual void met(const std::vector<Thread*>& threads) { static_cast<void>(threads); }

  Program program_;
  Memory memory_;
  Random random_{1};
  std::vector<uint64_t> variables_;
  std::vector<Thread> threads_;
  std::vector<Block> blocks_;
  std::vector<Warp> warps_;
  std::vector<uint32_t> runnable_;
  std::vector<Reader*> meeting_;    ///< threads at a barrier, while it opens
  std::vector<Function*> entered_;  ///< since start()
  Extent grid_;
  Extent block_;
  uint32_t shared_bytes_ = 0;
  uint32_t dynamic_bytes_ = 0;
  uint32_t live_ = 0;
  uint64_t slept_ = 0;
  uint64_t started_at_ = 0;  ///< instructions executed before this launch
  uint64_t stall_until_ = 0;
  uint32_t stalled_kind_ = 0;
  uint32_t stalled_which_ = 0;
  uint64_t turns_ = 0;
  std::vector<std::pair<uint32_t, Instruction>> originals_;  ///< instructions replaced by mutations
};

}  // namespace machine::ptx
