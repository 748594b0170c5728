// SPDX-License-Identifier: MIT
/// @file
/// @brief Threads in simulated time: who goes next, and what an instruction takes that is the thread's alone.

#include <machine/ptx/timed.hpp>

#include <algorithm>

namespace machine::ptx {

namespace {

/// A clock of 0 reads as a second, so that deadlines before it can be named.
constexpr uint64_t clock_begin = 1'000'000'000;
/// Most instructions of a thread in a row: it may go round in a loop that waits for a clock.
constexpr uint32_t longest_turn = 4000;
/// A lane that has waited so long for others behind it goes on: they may wait for it.
constexpr double longest_apart_ns = 30'000;

}  // namespace

TimedMachine::TimedMachine(Program program, timed::Latencies latencies)
    : Machine(std::move(program)),
      latencies_(std::move(latencies)),
      traffic_(latencies_),
      lines_per_instruction_(latencies_.code_bytes / latencies_.code_line) {
  nanoseconds = [this] { return clock_begin + static_cast<uint64_t>(now_); };
}

std::string TimedMachine::text_of(const void* instruction) const {
  const auto& i = *static_cast<const Instruction*>(instruction);
  return program_.line(i) + "  " + program_.source(i.place, 6);
}

/// Time passes for a thread.
void TimedMachine::spend(const Thread& thread, double until, const Instruction& i, timed::Reason reason) {
  Pace& pace = paces_[thread.id];
  if (until <= pace.now) return;
  if (watched(thread)) {
    timed::Spent& spent = profile_.spent[{&i, reason}];
    ++spent.times;
    spent.ns += until - pace.now;
  }
  pace.now = until;
}

/// Waits until a register may be used.
void TimedMachine::use(const Thread& thread, int32_t place) {
  if (place < 0) return;
  const Pace& pace = paces_[thread.id];
  const size_t at = thread.frame.registers + static_cast<uint32_t>(place);
  if (pace.ready[at] <= pace.now) return;
  const Instruction& maker = *pace.maker[at];
  timed::Reason reason = timed::Reason::load;
  if (maker.kind == Kind::atomic) reason = timed::Reason::atomic;
  if (maker.kind == Kind::vote || maker.kind == Kind::shuffle || maker.kind == Kind::match)
    reason = timed::Reason::vote;
  spend(thread, pace.ready[at], maker, reason);
}

/// Says when the results of an instruction may be used.
void TimedMachine::make(const Thread& thread, const Instruction& i, double ready) {
  Pace& pace = paces_[thread.id];
  for (uint32_t k = 0; k < i.outputs; ++k) {
    if (i.out[k].index < 0) continue;
    const size_t at = thread.frame.registers + static_cast<uint32_t>(i.out[k].index);
    pace.ready[at] = std::max(ready, pace.now);
    pace.maker[at] = &i;
  }
}

void TimedMachine::met(const Warp& warp, uint32_t lanes) {
  const auto thread_of = [&](uint32_t rest) -> Thread& {
    return threads_[warp.first + static_cast<uint32_t>(__builtin_ctz(rest))];
  };
  double latest = 0;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) latest = std::max(latest, paces_[thread_of(rest).id].now);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const Thread& one = thread_of(rest);
    const Instruction& i = *instruction_of(one);
    spend(one, latest, i, timed::Reason::lanes);
    // A result is waited for where it is used: votes and shuffles follow each other without that.
    if (i.outputs == 0) spend(one, latest + latencies_.vote, i, timed::Reason::vote);
    make(one, i, i.kind == Kind::active_mask ? latest : latest + latencies_.vote);
    queue(one);
  }
}

void TimedMachine::met(const std::vector<Thread*>& threads) {
  double latest = 0;
  for (const Thread* const one : threads) latest = std::max(latest, paces_[one->id].now);
  for (const Thread* const one : threads) {
    spend(*one, latest, *instruction_of(*one), timed::Reason::lanes);
    spend(*one, latest + latencies_.block_barrier, *instruction_of(*one), timed::Reason::vote);
    queue(*one);
  }
}

void TimedMachine::look_for_parked(uint32_t which) {
  const Warp& warp = warps_[which];
  const uint32_t parked = warp.mask(State::parked);
  if (parked == 0 || warp.mask(State::running) != 0) return;
  ask_who_is_here(threads_[warp.first + static_cast<uint32_t>(__builtin_ctz(parked))]);
}

void TimedMachine::begin() {
  next_ = {};
  order_ = 0;
  ended_at_ = 0;
  profile_ = {};
  traffic_.reset(static_cast<uint32_t>(warps_.size()), static_cast<uint32_t>(blocks_.size()));
  code_near_.assign(warps_.size(),
                    timed::CodeCache(static_cast<uint64_t>(latencies_.code_near / latencies_.code_line)));
  code_far_.assign(blocks_.size(), timed::CodeCache(static_cast<uint64_t>(latencies_.code_far / latencies_.code_line)));
  paces_.assign(threads_.size(), {});
  for (const Thread& t : threads_) {
    Pace& pace = paces_[t.id];
    pace.ready.assign(t.registers.size(), 0);
    pace.maker.assign(t.registers.size(), nullptr);
    pace.now = latencies_.block_start * t.block;
    queue(t);
  }
}

void TimedMachine::schedule() {
  if (seed_ != 0) throw Fault("the timed mode takes no liberties: seed 0");
  begin();
  const uint32_t devices = device_blocks * block_.x;
  while (live_ > devices) {
    if (next_.empty()) fail(threads_[0], "deadlock: every thread waits for threads that never arrive");
    const Next next = next_.top();
    next_.pop();
    Thread& t = threads_[next.thread];
    if (t.state != State::running || paces_[t.id].now != next.at) continue;  // it has been queued anew
    if (devices_until) devices_until(next.at);
    advance(t, next_.empty() ? 1e300 : next_.top().at);
    if (t.state == State::running) queue(t);
    look_for_parked(t.warp);
    if (t.block >= device_blocks) ended_at_ = std::max(ended_at_, paces_[t.id].now);
    if (counts.instructions - started_at_ > limits.instructions)
      fail(t, "no end after " + std::to_string(counts.instructions - started_at_) + " instructions");
  }
}

/// Executes a thread's instructions up to and including one that others can observe, or to one after the horizon, when
/// another thread goes first.
void TimedMachine::advance(Thread& t, double horizon) {
  Pace& pace = paces_[t.id];
  for (uint32_t n = 0;; ++n) {
    const Function& function = *t.frame.function;
    if (t.frame.pc >= function.code.size()) {
      if (!leave(t)) return finish(t);
      continue;
    }
    const Instruction& i = function.code[t.frame.pc];
    if (i.removed) {
      ++t.frame.pc;
      continue;
    }
    if (pace.stage == Stage::fresh) {
      if (n > longest_turn) return;
      if (!issue(t, i)) {
        ++t.frame.pc;
        continue;
      }
      now_ = pace.now;
      if (compute(t, i)) {
        make(t, i, pace.now);
        ++t.frame.pc;
        continue;
      }
      if (control(t, i)) {
        if (t.state != State::running) return;
        continue;
      }
    }
    if (pace.stage != Stage::released && waits_for_lanes_behind(t, i)) return;
    if (pace.stage == Stage::fresh && pace.now > horizon) {
      pace.stage = Stage::issued;
      return;
    }
    if (pace.stage == Stage::fresh) pace.stage = Stage::issued;
    now_ = pace.now;
    if (devices_until) devices_until(pace.now);
    if (!perform(t, i, horizon)) return;
  }
}

/// Waits for the operands. Returns false if the predicate forbids the instruction.
bool TimedMachine::issue(Thread& t, const Instruction& i) {
  ++counts.instructions;
  // ptxas finds them in constant memory, or in registers: 5 moves before a call with 18 parameters were seen.
  const bool is_parameter = i.space == Space::parameter && i.base.index == -2;
  if (!is_parameter) fetch(t, i);
  use(t, i.predicate);
  bool permitted = true;
  if (i.predicate >= 0)
    permitted = (t.registers[t.frame.registers + static_cast<uint32_t>(i.predicate)] != 0) != i.predicate_negated;
  if (permitted) {
    for (uint32_t k = 0; k < i.inputs; ++k) use(t, i.in[k].index);
    use(t, i.base.index);
    for (uint32_t k = 0; k < i.outputs && i.kind == Kind::store; ++k) use(t, i.out[k].index);
  }
  if (!is_parameter) spend(t, paces_[t.id].now + latencies_.instruction, i, timed::Reason::instructions);
  if (watched(t)) profile_.instructions += permitted;
  return permitted;
}

/// Waits for the line of code that holds the instruction.
void TimedMachine::fetch(Thread& t, const Instruction& i) {
  Pace& pace = paces_[t.id];
  const auto line = static_cast<uint64_t>((t.frame.function->first + t.frame.pc) * lines_per_instruction_);
  if (line == pace.line) return;
  pace.line = line;
  const double now = pace.now;
  const double there = code_near_[t.warp].find(line, now, [&] {
    return latencies_.code_near_miss +
           code_far_[t.block].find(line, now, [&] { return now + latencies_.code_far_miss; });
  });
  spend(t, there, i, timed::Reason::fetch);
}

/// Branches, calls and ends. Returns false for another instruction.
bool TimedMachine::control(Thread& t, const Instruction& i) {
  Pace& pace = paces_[t.id];
  switch (i.kind) {
    case Kind::branch:
      spend(t, pace.now + latencies_.branch, i, timed::Reason::instructions);
      t.frame.pc = static_cast<uint32_t>(i.target);
      return true;
    case Kind::call:
      spend(t, pace.now + latencies_.branch, i, timed::Reason::instructions);
      call(t, t.frame.function->calls[static_cast<size_t>(i.target)]);
      pace.ready.resize(t.registers.size());
      pace.maker.resize(t.registers.size());
      std::fill(pace.ready.begin() + t.frame.registers, pace.ready.end(), 0.0);
      return true;
    case Kind::leave:
      spend(t, pace.now + latencies_.branch, i, timed::Reason::instructions);
      if (!leave(t)) finish(t);
      return true;
    case Kind::exit: finish(t); return true;
    case Kind::trap: fail(t, "trap");
    default: return false;
  }
}

/// Lanes that a branch has parted come together again: who is ahead in the code waits for those behind it in the same
/// function, and goes on with those that come, as at the barriers that the assembler places where paths join.
/// Instructions that meet others wait anyway.
bool TimedMachine::waits_for_lanes_behind(Thread& t, const Instruction& i) {
  switch (i.kind) {
    case Kind::active_mask:
    case Kind::warp_barrier:
    case Kind::vote:
    case Kind::shuffle:
    case Kind::match:
    case Kind::reduce:
    case Kind::block_barrier: return false;
    default: break;
  }
  Pace& pace = paces_[t.id];
  const Warp& warp = warps_[t.warp];
  double until = pace.now;
  for (uint32_t rest = warp.mask(State::running); rest != 0; rest &= rest - 1) {
    const Thread& other = threads_[warp.first + static_cast<uint32_t>(__builtin_ctz(rest))];
    if (other.frame.function != t.frame.function || other.callers.size() != t.callers.size()) continue;
    const Pace& its = paces_[other.id];
    // After a lane that is behind, if at the same time; together with one that comes here.
    if (other.frame.pc < t.frame.pc) until = std::max(until, std::max(its.now, pace.now) + 0.01);
    if (other.frame.pc == t.frame.pc && its.stage != Stage::released) until = std::max(until, its.now);
  }
  if (until <= pace.now || pace.apart >= longest_apart_ns) {
    pace.apart = 0;
    return false;
  }
  pace.apart += until - pace.now;
  spend(t, until, i, timed::Reason::lanes);
  pace.stage = Stage::issued;
  return true;
}

}  // namespace machine::ptx
