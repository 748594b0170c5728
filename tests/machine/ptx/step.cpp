// SPDX-License-Identifier: MIT
/// @file
/// @brief Instructions of one thread.

#include <machine/ptx/machine.hpp>

#include <algorithm>
#include <cstring>

namespace machine::ptx {

namespace {

/// Most instructions of a turn without an access.
constexpr uint32_t longest_run = 2000;

bool joined(How how, bool a, bool b) {
  switch (how) {
    case How::bit_and: return a && b;
    case How::bit_or: return a || b;
    case How::bit_xor: return a != b;
    default: return a;
  }
}
uint64_t low_bits(uint64_t value, uint32_t bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }

}  // namespace

void Machine::push(Thread& thread, Function& function) {
  if (function.quick.empty()) {
    share_places(function);
    shorten(function);
  }
  Frame frame;
  frame.function = &function;
  frame.registers = static_cast<uint32_t>(function.constants.size());
  const Frame& caller = thread.frame;
  if (caller.function != nullptr) {
    frame.registers += caller.registers + caller.function->places;
    frame.parameters = caller.end;
  }
  frame.local = frame.parameters + (function.parameter_bytes + 15) / 16 * 16;
  frame.end = frame.local + (function.local_bytes + 15) / 16 * 16;
  if (frame.end > thread.stack.size() * 8) fail(thread, "the stack of a thread is full");
  const auto begin = static_cast<ptrdiff_t>(frame.registers);
  thread.registers.resize(frame.registers + function.places);
  std::copy(function.constants.rbegin(), function.constants.rend(),
            thread.registers.begin() + begin - static_cast<ptrdiff_t>(function.constants.size()));
  std::fill(thread.registers.begin() + begin, thread.registers.end(), 0xdeadbeefdeadbeefu);
  if (function.executed.empty()) {
    function.executed.resize(function.code.size());
    entered_.push_back(&function);
  }
  if (caller.function != nullptr) thread.callers.push_back(caller);
  thread.frame = frame;
}

void Machine::call(Thread& thread, const Call& call) {
  if (call.function < 0 || !program_.functions[static_cast<size_t>(call.function)].defined)
    fail(thread, call.name + " is not defined");
  const uint32_t caller = thread.frame.parameters;
  push(thread, program_.functions[static_cast<size_t>(call.function)]);
  char* const bytes = thread.bytes();
  for (const Copy& one : call.in) {
    const uint32_t to = thread.frame.parameters + one.to;
    std::memcpy(bytes + to, bytes + caller + one.from, one.bytes);
    thread.wrote_stack(to + one.bytes);
  }
}

/// Returns from a function. Returns false if the thread has ended.
bool Machine::leave(Thread& thread) {
  if (thread.callers.empty()) return false;
  const uint32_t callee = thread.frame.parameters;
  thread.frame = thread.callers.back();
  thread.callers.pop_back();
  Frame& frame = thread.frame;
  const Instruction& at = frame.function->code[frame.pc];
  char* const bytes = thread.bytes();
  for (const Copy& one : frame.function->calls[static_cast<size_t>(at.target)].out) {
    std::memcpy(bytes + frame.parameters + one.to, bytes + callee + one.from, one.bytes);
    thread.wrote_stack(frame.parameters + one.to + one.bytes);
  }
  ++frame.pc;
  return true;
}

uint64_t Machine::special(Thread& thread, Special which) {
  const Extent& block = blocks_[thread.block].at;
  switch (which) {
    case Special::tid_x: return thread.at.x;
    case Special::tid_y: return thread.at.y;
    case Special::tid_z: return thread.at.z;
    case Special::ntid_x: return block_.x;
    case Special::ntid_y: return block_.y;
    case Special::ntid_z: return block_.z;
    case Special::ctaid_x: return block.x;
    case Special::ctaid_y: return block.y;
    case Special::ctaid_z: return block.z;
    case Special::nctaid_x: return grid_.x;
    case Special::nctaid_y: return grid_.y;
    case Special::nctaid_z: return grid_.z;
    case Special::lane: return thread.lane;
    case Special::warp: return thread.index / 32;
    case Special::warps: return (block_.x * block_.y * block_.z + 31) / 32;
    case Special::warp_size: return 32;
    case Special::smid: return thread.block;
    case Special::gridid: return 1;
    case Special::lanemask_eq: return uint64_t{1} << thread.lane;
    case Special::lanemask_lt: return (uint64_t{1} << thread.lane) - 1;
    case Special::lanemask_le: return (uint64_t{2} << thread.lane) - 1;
    case Special::lanemask_gt: return 0xffffffffu & ~((uint64_t{2} << thread.lane) - 1);
    case Special::lanemask_ge: return 0xffffffffu & ~((uint64_t{1} << thread.lane) - 1);
    case Special::globaltimer:
    case Special::clock64: return time();
    case Special::globaltimer_lo:
    case Special::clock: return time() & 0xffffffffu;
    case Special::clock_hi: return time() >> 32;
    case Special::dynamic_shared: return dynamic_bytes_;
    case Special::total_shared: return shared_bytes_;
  }
  return 0;
}

/// Executes an instruction that changes nothing but registers of its thread. Returns false for any other.
[[gnu::always_inline]] inline bool Machine::compute_here(Thread& thread, const Instruction& i, uint64_t* registers) {
  const Frame& frame = thread.frame;
  switch (i.kind) {
    case Kind::compute:
      set(registers, i.out[0],
          i.compute(get(registers, i.in[0]), get(registers, i.in[1]), get(registers, i.in[2]),
                    get(registers, i.in[3])));
      return true;
    case Kind::compare: {
      const bool is = i.compute(get(registers, i.in[0]), get(registers, i.in[1]), 0, 0) != 0;
      const bool with = i.how != How::none && (get(registers, i.in[2]) & 1) != 0;
      set(registers, i.out[0], joined(i.how, is, with) ? i.value_of_true : 0);
      if (i.outputs > 1) set(registers, i.out[1], joined(i.how, !is, with));
      return true;
    }
    case Kind::carry:
      set(registers, i.out[0],
          i.carry(get(registers, i.in[0]), get(registers, i.in[1]), get(registers, i.in[2]), thread.carry));
      return true;
    case Kind::pack: {
      const uint32_t part = i.type.bits / i.inputs;
      uint64_t value = 0;
      for (uint32_t k = 0; k < i.inputs; ++k) value |= low_bits(get(registers, i.in[k]), part) << part * k;
      set(registers, i.out[0], value);
      return true;
    }
    case Kind::unpack: {
      const uint32_t part = i.type.bits / i.outputs;
      const uint64_t value = get(registers, i.in[0]);
      for (uint32_t k = 0; k < i.outputs; ++k) set(registers, i.out[k], low_bits(value >> part * k, part));
      return true;
    }
    case Kind::special: set(registers, i.out[0], low_bits(special(thread, i.special), i.type.bits)); return true;
    case Kind::address: {
      uint64_t address = static_cast<uint64_t>(i.offset);
      if (i.space == Space::local) address += frame.local;
      // Of a kernel's parameter, a generic address; a device function's parameter is then copied to local memory.
      if (i.space == Space::parameter) address += frame.parameters;
      if (i.space == Space::parameter && frame.function->entry) address += space_begin(thread, Space::local);
      if (i.space == Space::global || i.space == Space::constant)
        address += reinterpret_cast<uint64_t>(variables_.data());
      set(registers, i.out[0], low_bits(address, i.type.bits));
      return true;
    }
    case Kind::convert_address: {
      const uint64_t begin = i.space == Space::shared || i.space == Space::local ? space_begin(thread, i.space) : 0;
      const uint64_t address = get(registers, i.in[0]);
      set(registers, i.out[0], i.to_space ? address - begin : address + begin);
      return true;
    }
    default: return false;
  }
}

bool Machine::compute(Thread& thread, const Instruction& i) {
  return compute_here(thread, i, thread.registers.data() + thread.frame.registers);
}

/// Executes up to and including the next instruction that others can observe.
void Machine::step(Thread& thread) {
  Frame* const frame = &thread.frame;
  const Instruction* code = frame->function->code.data();
  uint64_t* times = frame->function->executed.data();
  const Quick* quick = frame->function->quick.data();
  uint64_t* registers = thread.registers.data() + frame->registers;
  uint32_t pc = frame->pc;
  uint64_t executed = 0;
  const bool traced = static_cast<bool>(trace);
  const auto save = [&] {
    frame->pc = pc;
    counts.instructions += executed;
    counts.lane_instructions += executed;
    executed = 0;
  };
  const auto reload = [&] {
    code = frame->function->code.data();
    times = frame->function->executed.data();
    quick = frame->function->quick.data();
    registers = thread.registers.data() + frame->registers;
    pc = frame->pc;
  };
  for (;;) {
    // In local variables whose address is not taken, so that they stay in registers.
    const Quick* q = quick + pc;
    uint64_t* const r = registers;
    uint64_t count = executed;
    for (;; ++q) {
      ++count;
      if (traced && q->what != Quick::end) {
        pc = static_cast<uint32_t>(q - quick);
        executed = count;
        save();
        count = 0;
        trace_line(thread, code[pc]);
      }
      if (q->predicate >= 0 && (r[q->predicate] != 0) == q->predicate_negated) continue;
      if (q->what == Quick::compute_with_constant) {
        r[q->out] = q->compute(r[q->in[0]], q->constant, 0, 0);
      } else if (q->what == Quick::compute_of_two) {
        r[q->out] = q->compute(r[q->in[0]], r[q->in[1]], 0, 0);
      } else if (q->what == Quick::copy) {
        r[q->out] = r[q->in[0]];
      } else if (q->what == Quick::branch) {
        if (count > longest_run) {
          pc = static_cast<uint32_t>(q->target);
          executed = count;
          return save();
        }
        q = quick + q->target - 1;
      } else if (q->what == Quick::compute_of_four) {
        r[q->out] = q->compute(r[q->in[0]], r[q->in[1]], r[q->more[0]], r[q->more[1]]);
      } else if (q->what == Quick::constant_only) {
        r[q->out] = q->constant;
      } else if (q->what == Quick::removed) {
        ++times[q - quick];
      } else {
        break;
      }
    }
    pc = static_cast<uint32_t>(q - quick);
    executed = count;
    if (q->what == Quick::end) {  // return without an instruction
      --executed;
      save();
      if (!leave(thread)) return finish(thread);
      reload();
      continue;
    }
    const Instruction& i = code[pc];
    switch (i.kind) {
      case Kind::compute:
      case Kind::compare:
      case Kind::carry:
      case Kind::pack:
      case Kind::unpack:
      case Kind::address:
      case Kind::convert_address:
        compute_here(thread, i, registers);
        ++pc;
        break;
      case Kind::special:
        save();
        compute_here(thread, i, registers);
        ++pc;
        if (i.special < Special::globaltimer || i.special > Special::clock64) break;
        save();  // a loop around a clock must not run alone
        return;
      case Kind::call:
        save();
        call(thread, frame->function->calls[static_cast<size_t>(i.target)]);
        reload();
        break;
      case Kind::leave:
        save();
        if (!leave(thread)) return finish(thread);
        reload();
        break;
      case Kind::exit: save(); return finish(thread);
      case Kind::trap: save(); fail(thread, "trap");
      case Kind::load:
      case Kind::store: {
        save();
        ++times[pc];
        const bool noticed = i.kind == Kind::load ? load(thread, i) : store(thread, i);
        ++pc;
        if (!noticed) break;
        return save();
      }
      case Kind::atomic:
        save();
        ++times[pc];
        atomic(thread, i);
        ++pc;
        return save();
      case Kind::fence:
        save();
        ++times[pc];
        counts.write_backs += i.release_half;
        counts.invalidations += i.acquire_half;
        memory_.fence(thread.reader, i.acquire_half, i.release_half, i.order == Order::sc, i.scope);
        ++pc;
        return save();
      case Kind::sleep:
        save();
        thread.asleep_until =
            time() + random_.below(2 * (static_cast<uint32_t>(get(registers, i.in[0])) & 0xfffff) + 1);
        ++pc;
        return save();
      case Kind::active_mask:
        save();
        become(thread, State::parked);
        thread.patience = 0;
        return;
      case Kind::warp_barrier:
      case Kind::vote:
      case Kind::match:
      case Kind::reduce:
      case Kind::shuffle:
        save();
        ++times[pc];
        return gather(thread, i);
      case Kind::block_barrier:
        save();
        ++times[pc];
        return arrive(thread, i);
      case Kind::branch:
      case Kind::nothing: save(); fail(thread, "an instruction that is not modelled");
    }
  }
}

}  // namespace machine::ptx
