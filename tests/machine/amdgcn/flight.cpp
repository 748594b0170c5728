// SPDX-License-Identifier: MIT
/// @file
/// @brief Accesses in flight: when they are performed, and when their results arrive.

#include <algorithm>
#include <cstring>

#include <machine/amdgcn/atomics.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/unstored.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint32_t short_hold = 500;
constexpr uint32_t long_hold = 20000;
constexpr uint32_t longest_linger = 4000;
constexpr uint32_t piece_bytes = 8;
constexpr uint32_t blocked_ticks = 8;

void set_bits(uint64_t* bits, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) bits[i / 64] |= uint64_t{1} << i % 64;
}

bool share_words(const Access& a, const Access& b) {
  uint64_t common = 0;
  for (uint32_t i = 0; i < 16; ++i) common |= a.words[i] & b.words[i];
  return common != 0;
}

bool overlap(const Access& a, uint64_t lanes_a, const Access& b, uint64_t lanes_b) {
  if (a.low >= b.high || b.low >= a.high || !share_words(a, b)) return false;
  for (uint64_t i = lanes_a; i != 0; i &= i - 1) {
    const int x = __builtin_ctzll(i);
    for (uint64_t j = lanes_b; j != 0; j &= j - 1) {
      const int y = __builtin_ctzll(j);
      if (a.address[x] < b.address[y] + b.bytes && b.address[y] < a.address[x] + a.bytes) return true;
    }
  }
  return false;
}

}  // namespace

std::unique_ptr<Access> Processor::new_access(Wave& wave, const Instruction& instruction, Access::Kind kind) {
  std::unique_ptr<Access> access;
  if (free_accesses_.empty()) {
    access = std::make_unique<Access>();
  } else {
    access = std::move(free_accesses_.back());
    free_accesses_.pop_back();
  }
  access->kind = kind;
  access->scope = instruction.scope;
  access->bytes = instruction.bytes;
  access->registers = 0;
  access->stores_counter = false;
  access->to_registers = false;
  access->destination = 0;
  access->instruction = &instruction;
  access->mask = wave.active();
  access->left[0] = access->mask;
  access->left[1] = instruction.bytes > piece_bytes ? access->mask : 0;
  access->low = ~uint64_t{0};
  access->high = 0;
  access->issued = ticks_;
  access->hold = 0;
  for (uint64_t& lanes : access->unstored) lanes = 0;
  return access;
}

void Processor::note_addresses(Access& access) {
  for (uint64_t& word : access.words) word = 0;
  for (uint64_t lanes = access.left[0]; lanes != 0; lanes &= lanes - 1) {
    const uint64_t address = access.address[__builtin_ctzll(lanes)];
    const uint64_t end = address + access.bytes;
    access.low = std::min(access.low, address);
    access.high = std::max(access.high, end);
    for (uint64_t word = address / 8; word <= (end - 1) / 8; ++word)
      access.words[word / 64 % 16] |= uint64_t{1} << word % 64;
  }
}

/// Merges stores of one instruction to one line of registers: they leave as one write, and the device takes only one.
void Processor::merge_register_stores(Access& access) {
  uint64_t kept = 0;
  for (uint64_t lanes = access.left[0]; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(lanes));
    const uint64_t line = access.address[lane] / line_bytes;
    uint64_t rival = 0;
    for (uint64_t others = kept; others != 0; others &= others - 1)
      if (access.address[__builtin_ctzll(others)] / line_bytes == line) rival = others & -others;
    if (rival == 0) {
      kept |= uint64_t{1} << lane;
      continue;
    }
    ++counts.merged_doorbells;
    if (!mood_.calm && random_.one_in(2)) kept = (kept & ~rival) | uint64_t{1} << lane;
  }
  access.left[0] = kept;
  access.left[1] &= kept;
}

void Processor::count(const Access& access) {
  if (access.kind == Access::Kind::load) {
    ++counts.loads;
    return;
  }
  ++(access.kind == Access::Kind::store ? counts.stores : counts.atomics);
  if (access.left[0] == 0) return;
  const Range& range = caches_.range(access.address[__builtin_ctzll(access.left[0])], 1);
  if (access.to_registers || range.kind == MemoryKind::local) return;
  if (access.kind == Access::Kind::store) counts.host_stores += count_bits(access.left[0]);
  if (!caches_.leaves(range, access.scope)) return;
  uint64_t lines[128];
  uint64_t masks[128];
  uint32_t known = 0;
  uint8_t places[256] = {};  // by line: index + 1 of one in `lines`
  for (uint64_t lanes = access.left[0]; lanes != 0; lanes &= lanes - 1) {
    const uint64_t address = access.address[__builtin_ctzll(lanes)];
    for (uint32_t done = 0; done < access.bytes;) {
      const uint64_t line = (address + done) / line_bytes;
      const auto at = static_cast<uint32_t>((address + done) % line_bytes);
      const uint32_t bytes = std::min(access.bytes - done, line_bytes - at);
      auto place = static_cast<uint8_t>(line);
      while (places[place] != 0 && lines[places[place] - 1] != line) ++place;
      if (places[place] == 0) {
        lines[known] = line;
        masks[known++] = 0;
        places[place] = static_cast<uint8_t>(known);
      }
      masks[places[place] - 1] |= byte_mask(at, bytes);
      done += bytes;
    }
  }
  for (uint32_t i = 0; i < known; ++i) {
    counts.host_writes += runs(masks[i]);
    counts.host_bytes += count_bits(masks[i]);
  }
}

void Processor::issue(Wave& wave, std::unique_ptr<Access> access) {
  Access& a = *access;
  a.stores_counter = model().store_counter && a.kind != Access::Kind::load && a.registers == 0;
  if (a.kind == Access::Kind::write_back) {
    ++counts.write_backs;
    a.left[0] = 1;
    a.left[1] = 0;
  } else {
    note_addresses(a);
    if (a.left[0] != 0 && a.kind != Access::Kind::load) {
      const uint64_t first = a.address[__builtin_ctzll(a.left[0])];
      a.to_registers = caches_.range(first, a.bytes).kind == MemoryKind::registers;
      if (a.to_registers) merge_register_stores(a);
    }
    if (!a.to_registers && a.left[0] != 0) wave.processor->program().code()[wave.counter - 1].to_memory = true;
    count(a);
  }
  set_bits(wave.poisoned_vectors, a.destination, a.registers);
  wave.poisoned = wave.poisoned || a.registers != 0;
  if (random_.one_in(mood_.hold)) a.hold = ticks_ + random_.below(random_.one_in(8) ? long_hold : short_hold);
  if (a.kind != Access::Kind::load && random_.one_in(mood_.linger)) wave.wake = ticks_ + random_.below(longest_linger);
  wave.flight.push_back(std::move(access));
  wave.stores += a.stores_counter;
  if (a.pending() && a.kind != Access::Kind::write_back) pending_[wave.requester.unit].push_back({&wave, &a});
  if (mood_.calm) perform_all(wave, a);
}

void Processor::perform_all(Wave& wave, Access& access) {
  if (!access.pending()) return;
  current_wave_ = &wave;
  current_ = access.instruction;
  if (access.kind == Access::Kind::write_back) {
    // The wave's earlier stores precede it on the same path.
    for (size_t i = 0; wave.flight[i].get() != &access; ++i)
      if (wave.flight[i]->kind != Access::Kind::load) perform_all(wave, *wave.flight[i]);
    if (wave.group->in_order) perform_others(wave, access.issued);
    caches_.write_back(wave.requester, access.scope, access.issued, true);
    access.left[0] = 0;
    return;
  }
  perform(wave, access, 0, access.left[0]);
  perform(wave, access, 1, access.left[1]);
}

/// Performs what the other waves of a workgroup issued before, but for stores to devices' registers.
void Processor::perform_others(const Wave& wave, uint64_t before) {
  const std::vector<Pending>& pending = pending_[wave.requester.unit];
  for (size_t i = 0; i < pending.size() && pending[i].access->issued < before;) {
    const Pending one = pending[i];
    if (one.wave == &wave || one.wave->group != wave.group || one.access->to_registers) {
      ++i;
      continue;
    }
    perform_all(*one.wave, *one.access);
    // It removed itself, and possibly others, from the list.
    i = 0;
  }
}

/// Performs a part of some lanes. Accesses of one unit to the same bytes stay in order, since they use one cache; the
/// waves of a workgroup that share a unit have no other ordering.
void Processor::perform(Wave& wave, Access& access, uint32_t part, uint64_t lanes) {
  if (lanes == 0) return;
  std::vector<Pending>& pending = pending_[wave.requester.unit];
  for (size_t i = 0; i < pending.size() && pending[i].access != &access;) {
    const Pending before = pending[i];
    if (!before.access->pending() ||
        !overlap(*before.access, before.access->left[0] | before.access->left[1], access, lanes)) {
      ++i;
      continue;
    }
    perform_all(*before.wave, *before.access);
    // It removed itself, and possibly others, from the list.
    i = 0;
  }
  current_wave_ = &wave;
  current_ = access.instruction;
  access.left[part] &= ~lanes;
  for (; lanes != 0; lanes &= lanes - 1)
    perform_lane(wave, access, part, static_cast<uint32_t>(__builtin_ctzll(lanes)));
  if (access.pending()) return;
  const auto done =
      std::find_if(pending.begin(), pending.end(), [&](const Pending& one) { return one.access == &access; });
  if (done != pending.end()) pending.erase(done);
}

void Processor::perform_lane(Wave& wave, Access& access, uint32_t part, uint32_t lane) {
  const uint32_t first = part * piece_bytes;
  const uint32_t bytes = part == 0 ? std::min<uint32_t>(access.bytes, piece_bytes) : access.bytes - piece_bytes;
  const uint64_t address = access.address[lane] + first;
  uint32_t words[2] = {0, 0};
  const uint32_t at = part * 2;
  switch (access.kind) {
    case Access::Kind::load:
      caches_.load(wave.requester, address, bytes, access.scope, words);
      access.data[at][lane] = words[0];
      if (bytes > 4) access.data[at + 1][lane] = words[1];
      break;
    case Access::Kind::store:
      words[0] = access.data[at][lane];
      if (bytes > 4) words[1] = access.data[at + 1][lane];
      if (access.to_registers) {
        ++counts.doorbells;
        store_register(address, words[0] | uint64_t{words[1]} << 32, bytes);
      } else {
        caches_.store(wave.requester, address, bytes, access.scope, words);
      }
      break;
    case Access::Kind::atomic: {
      const uint64_t old = perform_atomic(wave, access, lane);
      access.data[0][lane] = static_cast<uint32_t>(old);
      if (bytes > 4) access.data[1][lane] = static_cast<uint32_t>(old >> 32);
      break;
    }
    case Access::Kind::write_back: break;
  }
}

uint64_t Processor::perform_atomic(Wave& wave, Access& access, uint32_t lane) {
  const auto word = [&](uint32_t at) { return uint64_t{access.data[at][lane]}; };
  const bool wide = access.bytes == 8;
  const uint64_t data = wide ? word(0) | word(1) << 32 : word(0);
  const uint64_t compare = wide ? word(2) | word(3) << 32 : word(1);
  const AtomicOperation operation = access.instruction->atomic;
  return caches_.atomic(wave.requester, access.address[lane], access.bytes, access.scope,
                        [&](uint64_t old) { return changed(operation, access.bytes, old, data, compare); });
}

size_t Processor::outstanding(const Wave& wave, bool stores) {
  return stores ? wave.stores : wave.flight.size() - wave.stores;
}

void Processor::return_data(Wave& wave, const Access& access) {
  const Instruction& by = *access.instruction;
  for (uint32_t k = 0; k < access.registers; ++k) {
    Lanes& to = wave.v[access.destination + k];
    note_unstored(wave, access.destination + k, access.mask, access.unstored[k], access.unstored_at);
    for (uint64_t lanes = access.mask; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctzll(lanes);
      uint32_t value = access.data[k][lane];
      if (access.bytes < 4 && by.sign_extend)
        value = static_cast<uint32_t>(access.bytes == 1 ? int32_t{static_cast<int8_t>(value)}
                                                        : int32_t{static_cast<int16_t>(value)});
      if (by.low_half) value = (to[static_cast<size_t>(lane)] & 0xffff0000u) | (value & 0xffffu);
      if (by.high_half) value = (to[static_cast<size_t>(lane)] & 0xffffu) | value << 16;
      to[static_cast<size_t>(lane)] = value;
    }
  }
}

/// Performs accesses in any order, and returns their results in issue order.
void Processor::retire(Wave& wave, bool stores, size_t left) {
  const size_t all = outstanding(wave, stores);
  if (all <= left) return;
  size_t count = all - left;
  order_.clear();
  for (size_t i = 0; i < wave.flight.size() && order_.size() < count; ++i)
    if (wave.flight[i]->stores_counter == stores) order_.push_back(i);
  if (!mood_.calm)
    for (size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random_.below(static_cast<uint32_t>(i))]);
  for (const size_t i : order_) perform_all(wave, *wave.flight[i]);
  if (stores) wave.stores -= count;
  for (size_t i = 0; count > 0;) {
    if (wave.flight[i]->stores_counter != stores) {
      ++i;
      continue;
    }
    return_data(wave, *wave.flight[i]);
    free_accesses_.push_back(std::move(wave.flight[i]));
    wave.flight.erase(wave.flight.begin() + static_cast<ptrdiff_t>(i));
    --count;
  }
}

void Processor::poison_again(Wave& wave) {
  for (uint64_t& bits : wave.poisoned_vectors) bits = 0;
  for (uint64_t& bits : wave.poisoned_scalars) bits = 0;
  for (const auto& access : wave.flight) set_bits(wave.poisoned_vectors, access->destination, access->registers);
  for (const SharedAccess& access : wave.shared) set_bits(wave.poisoned_vectors, access.destination, access.registers);
  for (const ScalarAccess& access : wave.scalars) set_bits(wave.poisoned_scalars, access.destination, access.registers);
  wave.poisoned = wave.in_flight();
}

bool Processor::wait(Wave& wave, const Waits& waits) {
  if (!wave.in_flight()) return true;
  const size_t vectors = outstanding(wave, false);
  const size_t scalars = wave.scalars.size();
  const size_t shared = wave.shared.size();
  const bool needed[2] = {waits.vector < vectors, waits.stores < wave.stores};
  const bool busy = needed[0] || needed[1] || (waits.shared < shared) || (waits.scalar < scalars) ||
                    (waits.shared_or_scalar < scalars + shared);
  if (!busy) return true;
  uint64_t until = ticks_;
  for (const auto& access : wave.flight)
    if (needed[access->stores_counter] && access->pending()) until = std::max(until, access->hold);
  if (until == ticks_ && !wave.blocked && !random_.one_in(mood_.yield))
    until += random_.below(2 * mood_.yield) * blocked_ticks * waves_.size();
  wave.blocked = until != ticks_;
  if (wave.blocked) {
    wave.wake = std::max(wave.wake, until);
    return false;
  }
  Waits& served = wave.processor->program().code()[wave.counter - 1].served;
  if (needed[0]) served.vector = 0;
  if (needed[1]) served.stores = 0;
  if (waits.shared < shared) served.shared = 0;
  if (waits.scalar < scalars) served.scalar = 0;
  if (waits.shared_or_scalar < scalars + shared) served.shared_or_scalar = 0;
  retire(wave, false, waits.vector);
  retire(wave, true, waits.stores);
  retire_shared(wave, waits.shared);
  // Scalar loads return in any order, so only a wait for all of them is certain; messages return in order.
  const bool messages =
      std::all_of(wave.scalars.begin(), wave.scalars.end(), [](const auto& one) { return one.message; });
  if (waits.scalar == 0 || waits.shared_or_scalar == 0)
    retire_scalars(wave, 0);
  else if (messages && waits.scalar < scalars)
    retire_scalars(wave, waits.scalar);
  else if (messages && shared == 0 && waits.shared_or_scalar < scalars)
    retire_scalars(wave, waits.shared_or_scalar);
  if (waits.shared_or_scalar != Waits::any)
    retire_shared(wave, waits.shared_or_scalar == 0 ? 0 : waits.shared_or_scalar + wave.scalars.size());
  poison_again(wave);
  return true;
}

/// Performs some accesses although no wait requires them.
void Processor::perform_some(Wave& wave) {
  for (size_t i = 0; i < wave.flight.size(); ++i) {
    Access& access = *wave.flight[i];
    if (!access.pending() || access.hold > ticks_) continue;
    if (!random_.one_in(access.to_registers ? mood_.perform_register : mood_.perform)) continue;
    const uint32_t how = random_.below(3);
    if (how == 0) {
      perform_all(wave, access);
    } else if (access.kind == Access::Kind::write_back) {
      caches_.write_back(wave.requester, access.scope, access.issued, false);
    } else {
      const uint32_t part = random_.below(2);
      perform(wave, access, part, access.left[part] & (how == 1 ? ~uint64_t{0} : random_.next()));
    }
  }
  for (ScalarAccess& access : wave.scalars)
    if (random_.one_in(4)) sample(wave, access);
  if (!wave.shared.empty() && random_.one_in(4))
    perform_shared(wave, random_.below(static_cast<uint32_t>(wave.shared.size())));
}

}  // namespace machine::amdgcn
