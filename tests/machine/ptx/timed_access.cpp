// SPDX-License-Identifier: MIT
/// @file
/// @brief Instructions that others can observe, in simulated time.

#include <machine/ptx/timed.hpp>

#include <algorithm>

namespace machine::ptx {

namespace {

timed::Reach reach_of(Scope scope) {
  return scope == Scope::cta ? timed::Reach::block : scope == Scope::gpu ? timed::Reach::gpu : timed::Reach::system;
}
bool releases(Order order) { return order == Order::release || order == Order::acq_rel || order == Order::sc; }
bool acquires(Order order) { return order == Order::acquire || order == Order::acq_rel || order == Order::sc; }

}  // namespace

timed::Access TimedMachine::access_of(Thread& t, const Instruction& i) {
  const uint64_t address = address_of(t, i);
  bool far = false;
  if (own_bytes(t, address, 1) == nullptr) {
    const uint64_t shared = reinterpret_cast<uint64_t>(blocks_[t.block].shared.data());
    const bool own = (address >= shared && address < shared + shared_bytes_) ||
                     address - reinterpret_cast<uint64_t>(variables_.data()) < variables_.size() * 8;
    far = !own && memory.find(address, 1).kind != MemoryKind::local;
  }
  return {&i, address, t.warp, t.block, far, paces_[t.id].now};
}

/// The fence in front of a store or an atomic that releases. Returns false if it ends after the horizon: the access is
/// made then, when the thread's turn comes again.
bool TimedMachine::release(Thread& t, const Instruction& i, double horizon) {
  Pace& pace = paces_[t.id];
  if (pace.stage == Stage::released || !releases(i.order)) return true;
  const timed::Reach reach = reach_of(i.scope);
  if (watched(t)) ++profile_.releases[static_cast<int>(reach)];
  spend(t, traffic_.fence(t.warp, pace.outstanding, reach, pace.now), i, timed::Reason::release);
  pace.stage = Stage::released;
  now_ = pace.now;
  return pace.now <= horizon;
}

bool TimedMachine::timed_load(Thread& t, const Instruction& i) {
  Pace& pace = paces_[t.id];
  const timed::Access access = access_of(t, i);
  if (!load(t, i)) {
    make(t, i, pace.now);
    return true;
  }
  bool from_cache = false;
  const double ready = traffic_.load(access, i.order == Order::weak, i.non_coherent, from_cache);
  if (watched(t)) {
    ++(from_cache ? profile_.loads_l1 : profile_.loads);
    profile_.loads_far += access.far;
    profile_.acquiring += i.order == Order::acquire;
  }
  pace.outstanding.loads = std::max(pace.outstanding.loads, ready);
  if (i.order == Order::acquire) {
    spend(t, ready + latencies_.invalidate, i, timed::Reason::load);
    traffic_.invalidate(t.block);
  }
  make(t, i, ready);
  return false;
}

bool TimedMachine::timed_store(Thread& t, const Instruction& i, double horizon) {
  if (!release(t, i, horizon)) return false;
  const timed::Access access = access_of(t, i);
  const bool observed = store(t, i);
  ++t.frame.pc;
  Pace& pace = paces_[t.id];
  pace.stage = Stage::fresh;
  if (!observed) return true;
  (access.far ? pace.outstanding.far_store : pace.outstanding.near_store) = traffic_.store(access);
  profile_.stores += watched(t);
  return false;
}

bool TimedMachine::timed_atomic(Thread& t, const Instruction& i, double horizon) {
  if (!release(t, i, horizon)) return false;
  const timed::Access access = access_of(t, i);
  atomic(t, i);
  Pace& pace = paces_[t.id];
  const double ready = traffic_.atomic(access);
  if (watched(t)) ++(i.outputs != 0 ? profile_.atomics : profile_.reductions);
  pace.outstanding.loads = std::max(pace.outstanding.loads, ready);
  if (acquires(i.order)) {
    spend(t, ready + latencies_.invalidate, i, timed::Reason::atomic);
    traffic_.invalidate(t.block);
  }
  make(t, i, ready);
  ++t.frame.pc;
  pace.stage = Stage::fresh;
  return false;
}

bool TimedMachine::perform(Thread& t, const Instruction& i, double horizon) {
  Pace& pace = paces_[t.id];
  const auto done = [&] {
    ++t.frame.pc;
    pace.stage = Stage::fresh;
    return false;
  };
  switch (i.kind) {
    case Kind::load: {
      const bool alone = timed_load(t, i);
      done();
      return alone;
    }
    case Kind::store: return timed_store(t, i, horizon);
    case Kind::atomic: return timed_atomic(t, i, horizon);
    case Kind::fence: {
      const timed::Reach reach = reach_of(i.scope);
      if (watched(t)) ++profile_.fences[static_cast<int>(reach)];
      spend(t, traffic_.fence(t.warp, pace.outstanding, reach, pace.now), i, timed::Reason::fence);
      traffic_.invalidate(t.block);
      return done();
    }
    case Kind::sleep:
      // PTX permits any time up to twice what is asked for.
      spend(t, pace.now + static_cast<double>(get(t, i.in[0]) & 0xfffff), i, timed::Reason::sleep);
      return done();
    case Kind::active_mask:
      pace.stage = Stage::fresh;
      become(t, State::parked);
      return false;
    case Kind::warp_barrier:
    case Kind::vote:
    case Kind::match:
    case Kind::reduce:
    case Kind::shuffle:
      pace.stage = Stage::fresh;
      gather(t, i);
      return false;
    case Kind::block_barrier:
      pace.stage = Stage::fresh;
      arrive(t, i);
      return false;
    default: fail(t, "an instruction that is not timed");
  }
}

}  // namespace machine::ptx
