// SPDX-License-Identifier: MIT
/// @file
/// @brief Collective operations of a warp or a block. Votes, matches and shuffles order no memory; barriers do.

#include <machine/ptx/machine.hpp>

#include <algorithm>
#include <string>

namespace machine::ptx {

namespace {

/// Most turns that a thread waits for others of its warp, if the mask is to include all that can arrive.
constexpr uint32_t longest_patience = 3000;

bool same_instruction(const Instruction& a, const Instruction& b) {
  return a.kind == b.kind && a.how == b.how && a.type.letter == b.type.letter && a.type.bits == b.type.bits;
}
/// The lowest lane of a set.
uint32_t lowest(uint32_t set) { return static_cast<uint32_t>(__builtin_ctz(set)); }
const Operand& mask_operand(const Instruction& i) {
  return i.kind == Kind::warp_barrier ? i.in[0] : i.in[i.inputs - 1];
}

uint64_t reduced(const Instruction& i, uint64_t a, uint64_t b) {
  const bool less = i.type.is_signed() ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  switch (i.how) {
    case How::add: return (a + b) & 0xffffffffu;
    case How::bit_and: return a & b;
    case How::bit_or: return a | b;
    case How::bit_xor: return a ^ b;
    case How::min: return less ? a : b;
    default: return less ? b : a;
  }
}

}  // namespace

void Machine::gather(Thread& thread, const Instruction& i) {
  thread.mask = static_cast<uint32_t>(get(thread, mask_operand(i)));
  if (!(thread.mask >> thread.lane & 1)) fail(thread, "the mask does not name the thread that executes");
  warps_[thread.warp].at[thread.lane] = &i;
  stop(thread, State::gathering);
  complete(thread);
}

/// Completes a collective operation once no thread is missing. Ended threads are not waited for.
void Machine::complete(Thread& thread) {
  Warp& warp = warps_[thread.warp];
  const Instruction& i = *warp.at[thread.lane];
  const uint32_t missing =
      thread.mask & (warp.mask(State::running) | warp.mask(State::parked) | warp.mask(State::at_barrier));
  const uint32_t before = missing == 0 ? ~0u : (missing & (0 - missing)) - 1;
  const uint32_t there = thread.mask & warp.mask(State::gathering);
  for (uint32_t rest = there & before; rest != 0; rest &= rest - 1) {
    const uint32_t lane = lowest(rest);
    const Thread& other = threads_[warp.first + lane];
    if (other.mask == thread.mask && (warp.at[lane] == &i || same_instruction(i, *warp.at[lane]))) continue;
    if (!(other.mask >> thread.lane & 1)) return;  // it waits for others, and may come here later
    fail(thread, "two threads name each other at different instructions, or with different masks");
  }
  if (missing == 0) act(warp, there);
}

void Machine::act(Warp& warp, uint32_t there) {
  uint64_t values[32] = {};
  uint32_t votes = 0;
  const uint32_t first_lane = lowest(there);
  const Instruction& first = *warp.at[first_lane];
  if (first.kind == Kind::warp_barrier) {
    meeting_.clear();
    for (uint32_t rest = there; rest != 0; rest &= rest - 1)
      meeting_.push_back(&threads_[warp.first + lowest(rest)].reader);
    memory_.meet(meeting_);
    ++counts.warp_barriers;
  } else {
    for (uint32_t rest = there; rest != 0; rest &= rest - 1) {
      const uint32_t lane = lowest(rest);
      values[lane] = get(threads_[warp.first + lane], warp.at[lane]->in[0]);
      if (values[lane] & 1) votes |= 1u << lane;
    }
  }
  for (uint32_t rest = there; rest != 0; rest &= rest - 1) {
    const uint32_t lane = lowest(rest);
    Thread* const one = &threads_[warp.first + lane];
    const Instruction& i = *warp.at[lane];
    uint64_t result = 0;
    switch (i.kind) {
      case Kind::vote:
        if (i.how == How::ballot) result = votes;
        if (i.how == How::any) result = votes != 0;
        if (i.how == How::all) result = votes == there;
        if (i.how == How::uniform) result = votes == 0 || votes == there;
        set(*one, i.out[0], result);
        break;
      case Kind::match: {
        const uint64_t ones = i.type.bits == 64 ? ~uint64_t{0} : 0xffffffffu;
        uint32_t same = 0;
        for (uint32_t others = there; others != 0; others &= others - 1) {
          if ((values[lowest(others)] & ones) == (values[lane] & ones)) same |= others & (0 - others);
        }
        const bool all = same == there;
        set(*one, i.out[0], i.how == How::all && !all ? 0 : same);
        if (i.outputs > 1) set(*one, i.out[1], all);
        break;
      }
      case Kind::reduce:
        result = values[first_lane] & 0xffffffffu;
        for (uint32_t others = there & (there - 1); others != 0; others &= others - 1)
          result = reduced(i, result, values[lowest(others)] & 0xffffffffu);
        set(*one, i.out[0], result);
        break;
      case Kind::shuffle: shuffle(*one, i, there, values); break;
      default: break;
    }
  }
  met(warp, there);
  for (uint32_t rest = there; rest != 0; rest &= rest - 1) {
    Thread& one = threads_[warp.first + lowest(rest)];
    ++one.frame.pc;
    go_on(one);
  }
}

void Machine::shuffle(Thread& thread, const Instruction& i, uint32_t members, const uint64_t (&values)[32]) {
  const uint32_t by = static_cast<uint32_t>(get(thread, i.in[1])) & 31;
  const uint32_t limits_word = static_cast<uint32_t>(get(thread, i.in[2]));
  const uint32_t segment = limits_word >> 8 & 31;
  const uint32_t clamp = limits_word & 31;
  const uint32_t low = thread.lane & segment;
  const uint32_t high = low | (clamp & ~segment);
  uint32_t from = thread.lane;
  bool inside = false;
  switch (i.how) {
    case How::up:
      from = thread.lane - by;
      inside = static_cast<int32_t>(from) >= static_cast<int32_t>(high);
      break;
    case How::down:
      from = thread.lane + by;
      inside = from <= high;
      break;
    case How::butterfly:
      from = thread.lane ^ by;
      inside = from <= high;
      break;
    default: from = low | (by & ~segment); inside = from <= high;
  }
  if (!inside) from = thread.lane;
  if (from > 31 || !(members >> from & 1))
    fail(thread, "a shuffle from lane " + std::to_string(from) + ", which takes no part");
  set(thread, i.out[0], values[from] & 0xffffffffu);
  if (i.outputs > 1) set(thread, i.out[1], inside);
}

/// activemask: returns some of the threads at the same instruction. If all are wanted, the thread first waits until no
/// other thread of its warp is running, for a limited number of turns.
void Machine::ask_who_is_here(Thread& thread) {
  const Convergence how = seed_ == 0 ? Convergence::all : mood.convergence;
  if (how == Convergence::all && thread.patience < longest_patience) {
    if (warps_[thread.warp].mask(State::running) != 0) {
      ++thread.patience;
      return;
    }
  }
  const auto same_place = [&](const Thread& other) {
    const auto same = [](const Frame& a, const Frame& b) { return a.function == b.function && a.pc == b.pc; };
    return same(other.frame, thread.frame) &&
           std::equal(other.callers.begin(), other.callers.end(), thread.callers.begin(), thread.callers.end(), same);
  };
  uint32_t mask = 1u << thread.lane;
  const Warp& warp = warps_[thread.warp];
  for (uint32_t rest = warp.mask(State::parked); rest != 0; rest &= rest - 1) {
    const Thread& other = threads_[warp.first + lowest(rest)];
    if (!same_place(other) || how == Convergence::one) continue;
    if (how == Convergence::random && random_.one_in(3)) continue;
    mask |= 1u << other.lane;
  }
  met(warp, mask);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    Thread& other = threads_[warp.first + lowest(rest)];
    set(other, instruction_of(other)->out[0], mask);
    ++other.frame.pc;
    become(other, State::running);
  }
}

/// bar.sync; bar.arrive is refused. A barrier of the whole block does not wait for ended threads.
void Machine::arrive(Thread& thread, const Instruction& i) {
  thread.barrier = static_cast<uint32_t>(get(thread, i.in[0]));
  thread.barrier_threads = i.narrow_barrier ? static_cast<uint32_t>(get(thread, i.in[1])) : 0;
  if (thread.barrier > 15 || thread.barrier_threads % 32 != 0) fail(thread, "there is no such barrier");
  if (i.arrive_only) fail(thread, "arriving without waiting is not modelled");
  stop(thread, State::at_barrier);
  open_barrier(thread.block);
}

void Machine::open_barrier(uint32_t block) {
  if (blocks_[block].waiting == 0) return;
  uint32_t waiting[16] = {};
  uint32_t wanted[16] = {};
  uint32_t live = 0;
  for (const uint32_t id : blocks_[block].threads) {
    const Thread& one = threads_[id];
    live += one.state != State::done;
    if (one.state != State::at_barrier) continue;
    ++waiting[one.barrier];
    if (waiting[one.barrier] > 1 && wanted[one.barrier] != one.barrier_threads)
      fail(one, "threads wait for different numbers at one barrier");
    wanted[one.barrier] = one.barrier_threads;
  }
  for (uint32_t id = 0; id < 16; ++id) {
    if (waiting[id] == 0 || waiting[id] < (wanted[id] == 0 ? live : wanted[id])) continue;
    std::vector<Thread*> members;
    meeting_.clear();
    for (const uint32_t which : blocks_[block].threads) {
      Thread& one = threads_[which];
      if (one.state != State::at_barrier || one.barrier != id) continue;
      members.push_back(&one);
      meeting_.push_back(&one.reader);
    }
    memory_.meet(meeting_);
    met(members);
    for (Thread* const one : members) {
      ++one->frame.pc;
      go_on(*one);
    }
  }
}

}  // namespace machine::ptx
