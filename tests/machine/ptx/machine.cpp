// SPDX-License-Identifier: MIT
/// @file
/// @brief Launches, and the schedule of threads.

#include <machine/ptx/machine.hpp>

#include <algorithm>
#include <cstring>

namespace machine::ptx {

namespace {

constexpr uint32_t stack_bytes = 64 << 10;

/// Each seed draws its own adversarial parameters.
Mood draw_mood(uint64_t seed) {
  Mood mood;
  Random random(seed * 77 + 5);
  static constexpr uint32_t stale[] = {2, 3, 8, 30};
  static constexpr uint32_t drain[] = {2, 4, 10, 40, 100};
  static constexpr uint32_t overtake[] = {2, 4, 16};
  static constexpr uint64_t patience[] = {200, 1000, 3000, 8000};
  static constexpr uint32_t device[] = {4, 10, 40, 150};
  static constexpr uint32_t burst[] = {1, 3, 8, 32};
  static constexpr uint32_t stall[] = {0, 200, 2000, 20000};
  // Runs whose threads always go alone are rare: they take several times as long as the others.
  static constexpr Convergence convergence[] = {Convergence::all,    Convergence::all,    Convergence::all,
                                                Convergence::all,    Convergence::random, Convergence::random,
                                                Convergence::random, Convergence::one};
  mood.memory.stale = random.pick(stale);
  mood.memory.drain = random.pick(drain);
  mood.memory.overtake = random.pick(overtake);
  mood.memory.patience = random.pick(patience);
  mood.device_every = random.pick(device);
  mood.burst = random.pick(burst);
  mood.stall_for = random.pick(stall);
  mood.convergence = random.pick(convergence);
  // So that a device writes between two loads of a thread: of the words of an entry, or of an entry and its data.
  static constexpr uint32_t within[] = {0, 0, 2, 6};
  mood.device_within = random.pick(within);
  return mood;
}

Extent position(uint32_t index, const Extent& in) { return {index % in.x, index / in.x % in.y, index / in.x / in.y}; }

}  // namespace

Machine::Machine(Program program) : program_(std::move(program)), memory_(memory, counts) {
  variables_.resize((program_.global_bytes + 7) / 8);
  char* const begin = reinterpret_cast<char*>(variables_.data());
  for (const auto& [name, variable] : program_.variables) {
    if (variable.space == Space::shared) continue;
    std::copy(variable.initial.begin(), variable.initial.end(), begin + variable.offset);
    for (const auto& [at, of] : variable.pointers) {
      const auto found = program_.variables.find(of);
      if (found == program_.variables.end()) throw Fault("PTX: " + name + " is initialised by an unknown " + of);
      const auto address = reinterpret_cast<uint64_t>(begin) + found->second.offset;
      std::memcpy(begin + variable.offset + at, &address, sizeof address);
    }
  }
  memory_.write_register = [this](uint64_t address, uint64_t value, uint32_t bytes) {
    store_register(address, value, bytes);
  };
}

std::vector<KernelInfo> Machine::kernels() const {
  std::vector<KernelInfo> out;
  for (const Function& f : program_.functions) {
    if (!f.entry) continue;
    KernelInfo info;
    info.name = f.name;
    info.argument_bytes = f.argument_bytes;
    for (const Parameter& one : f.parameters) {
      info.argument_offsets.push_back(one.offset);
      info.argument_sizes.push_back(one.bytes);
    }
    info.shared_bytes = static_cast<uint32_t>(program_.shared_bytes);
    info.private_bytes = f.local_bytes;
    info.registers = f.registers;
    out.push_back(std::move(info));
  }
  return out;
}

void Machine::start(uint64_t seed) {
  seed_ = seed;
  counts = {};
  slept_ = 0;
  random_ = Random(seed ^ 0xabcdef);
  mood = draw_mood(seed);
  for (Function* const f : entered_) f->executed.clear();
  entered_.clear();
}

/// Resets a thread, but keeps its allocations for the next launch.
void Machine::restart(Thread& t) {
  t.carry = false;
  t.patience = 0;
  t.asleep_until = 0;
  t.frame = {};
  t.callers.clear();
  t.registers.clear();
  t.stack.resize(stack_bytes / 8);
  std::memset(t.bytes(), 0, t.stack_used);
  t.stack_used = 0;
}

void Machine::prepare(const Function& kernel, const Launch& launch) {
  grid_ = launch.grid;
  block_ = launch.block;
  const uint32_t block_threads = block_.x * block_.y * block_.z;
  const uint32_t block_count = grid_.x * grid_.y * grid_.z;
  if (block_threads == 0 || block_count == 0 || block_threads > 1024)
    throw Fault("a launch of that size is not possible");
  if (launch.argument_bytes < kernel.argument_bytes)
    throw Fault(kernel.name + " wants " + std::to_string(kernel.argument_bytes) + " bytes of arguments");
  dynamic_bytes_ = launch.dynamic_shared_bytes;
  shared_bytes_ = (static_cast<uint32_t>(program_.shared_bytes) + 15) / 16 * 16 + dynamic_bytes_;
  memory_.clear_own();
  memory_.add_own(variables_.data(), variables_.size() * 8, true);
  memory_.begin(block_count * block_threads, block_count, seed_ * 1000003 + counts.instructions, seed_ == 0,
                mood.memory);
  blocks_.assign(block_count, {});
  runnable_.clear();
  threads_.resize(size_t{block_count} * block_threads);
  const uint32_t warps = (block_threads + 31) / 32;
  warps_.assign(size_t{warps} * block_count, {});
  for (uint32_t b = 0; b < block_count; ++b) {
    blocks_[b].at = position(b, grid_);
    blocks_[b].shared.assign((shared_bytes_ + 7) / 8, 0xdeadbeefdeadbeefu);
    memory_.add_own(blocks_[b].shared.data(), shared_bytes_, true);
    for (uint32_t i = 0; i < block_threads; ++i) {
      Thread& t = threads_[size_t{b} * block_threads + i];
      t.id = b * block_threads + i;
      t.block = b;
      t.index = i;
      t.at = position(i, block_);
      t.lane = i % 32;
      t.warp = b * warps + i / 32;
      t.place = t.id;
      restart(t);
      memory_.reset(t.reader, t.id, b);
      push(t, program_.functions[static_cast<size_t>(program_.by_name.at(kernel.name))]);
      std::memcpy(t.bytes() + t.frame.parameters, launch.arguments, kernel.argument_bytes);
      t.wrote_stack(t.frame.parameters + kernel.argument_bytes);
      t.state = State::running;
      Warp& warp = warps_[t.warp];
      if (warp.count++ == 0) warp.first = t.id;
      warp.in[static_cast<int>(State::running)] |= 1u << t.lane;
      blocks_[b].threads.push_back(t.id);
      runnable_.push_back(t.id);
    }
  }
  live_ = static_cast<uint32_t>(threads_.size());
  started_at_ = counts.instructions;
  stall_until_ = 0;
  stalled_kind_ = 0;
  turns_ = 0;
}

void Machine::run(const std::string& kernel, const Launch& launch) {
  const auto found = program_.by_name.find(kernel);
  if (found == program_.by_name.end() || !program_.functions[static_cast<size_t>(found->second)].entry)
    throw Fault("there is no kernel " + kernel);
  prepare(program_.functions[static_cast<size_t>(found->second)], launch);
  schedule();
  // A kernel ends when all its stores have arrived; devices do not wait for that.
  while (memory_.arrive_one()) {
    if (step_devices && random_.one_in(mood.device_every) && step_devices(random_)) memory_.devices_moved();
  }
  memory_.end();
}

uint64_t Machine::time() const { return nanoseconds ? nanoseconds() : 1'000'000'000 + counts.instructions + slept_; }

void Machine::become(Thread& thread, State state) {
  Warp& warp = warps_[thread.warp];
  warp.in[static_cast<int>(thread.state)] &= ~(1u << thread.lane);
  warp.in[static_cast<int>(state)] |= 1u << thread.lane;
  uint32_t& waiting = blocks_[thread.block].waiting;
  waiting = waiting - (thread.state == State::at_barrier) + (state == State::at_barrier);
  thread.state = state;
}

void Machine::stop(Thread& thread, State state) {
  become(thread, state);
  runnable_[thread.place] = runnable_.back();
  threads_[runnable_[thread.place]].place = thread.place;
  runnable_.pop_back();
}

void Machine::go_on(Thread& thread) {
  become(thread, State::running);
  thread.place = static_cast<uint32_t>(runnable_.size());
  runnable_.push_back(thread.id);
}

/// Ends a thread and completes operations that waited for it.
void Machine::finish(Thread& thread) {
  stop(thread, State::done);
  --live_;
  const Warp& warp = warps_[thread.warp];
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    if (warp.mask(State::gathering) >> lane & 1) complete(threads_[warp.first + lane]);
  }
  open_barrier(thread.block);
}

/// Whether the thread stalls; a thread, a warp or a block does so for a while.
bool Machine::stalled(const Thread& thread) {
  if (mood.stall_for == 0) return false;
  if (turns_ >= stall_until_) {
    stall_until_ = turns_ + 1 + random_.below(mood.stall_for);
    stalled_kind_ = random_.below(4);
    const Thread& of = threads_[random_.below(static_cast<uint32_t>(threads_.size()))];
    stalled_which_ = stalled_kind_ == 1 ? of.id : stalled_kind_ == 2 ? of.warp : of.block;
  }
  const uint32_t which = stalled_kind_ == 1 ? thread.id : stalled_kind_ == 2 ? thread.warp : thread.block;
  return stalled_kind_ != 0 && which == stalled_which_;
}

void Machine::schedule() {
  const bool calm = seed_ == 0;
  uint32_t next = 0;
  while (live_ != 0) {
    ++turns_;
    if (step_devices && (calm || random_.one_in(mood.device_every)) && step_devices(random_)) memory_.devices_moved();
    if (runnable_.empty()) fail(threads_[0], "deadlock: every thread waits for threads that never arrive");
    if (counts.instructions - started_at_ > limits.instructions)
      fail(threads_[runnable_[0]],
           "no end after " + std::to_string(counts.instructions - started_at_) + " instructions");
    const auto count = static_cast<uint32_t>(runnable_.size());
    Thread& t = threads_[runnable_[calm ? next++ % count : random_.below(count)]];
    // Another thread is found soon, unless all of them stall.
    if (!calm && stalled(t) && !random_.one_in(64)) continue;
    if (t.asleep_until > time() && !(!calm && random_.one_in(16))) {
      slept_ += 5;
      continue;
    }
    if (t.state == State::parked) {
      ask_who_is_here(t);
      continue;
    }
    uint32_t turns = calm ? 1 : 1 + random_.below(2 * mood.burst);
    while (turns-- != 0 && t.state == State::running && t.asleep_until <= time()) {
      step(t);
      if (mood.device_within != 0 && !calm && step_devices && random_.one_in(mood.device_within) &&
          step_devices(random_))
        memory_.devices_moved();
    }
  }
}

std::unique_ptr<Gpu> load(const std::string& path) { return std::make_unique<Machine>(parse_file(path)); }

}  // namespace machine::ptx
