// SPDX-License-Identifier: MIT
/// @file
/// @brief Accesses of threads: which message a load reads, where a store goes. See memory.hpp.

#include <machine/ptx/memory.hpp>

#include <algorithm>
#include <cstring>

namespace machine::ptx {

namespace {

constexpr size_t none = ~size_t{0};
constexpr size_t kept_messages = 10;

uint64_t mask_of(uint64_t address, uint32_t bytes) {
  const uint64_t ones = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  return ones << 8 * (address & 7);
}
bool acquires(Order order) { return order == Order::acquire || order == Order::acq_rel || order == Order::sc; }

uint64_t read_word(uint64_t address, uint32_t bytes) {
  switch (bytes) {
    case 1: return __atomic_load_n(reinterpret_cast<const uint8_t*>(address), __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n(reinterpret_cast<const uint16_t*>(address), __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
    default: return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_ACQUIRE);
  }
}

}  // namespace

/// The bytes of a mask as of the message at `index`.
uint64_t Memory::value_at(const Granule& granule, uint64_t mask, size_t index) {
  uint64_t value = 0;
  uint64_t missing = mask;
  for (size_t i = index + 1; i-- > 0 && missing != 0;) {
    const Message& one = *granule.messages[i];
    value |= one.value & missing;
    missing &= ~one.mask;
  }
  return value | (granule.before & missing);
}

/// The index of the message that a load reads; none: the contents before the first message.
size_t Memory::choose(Reader& reader, const Granule& granule, uint64_t mask, bool non_coherent) {
  bool back = random_.one_in(mood_.stale);
  size_t newest = none;
  size_t oldest = none;
  for (size_t i = granule.messages.size(); i-- > 0;) {
    const Message& one = *granule.messages[i];
    if ((one.mask & mask) == 0) continue;
    if (newest == none) newest = i;
    oldest = i;
    const bool floor = non_coherent ? one.author == reader.author : knows(reader, one);
    if (!back || floor || one.born + mood_.patience < now_) {
      counts_.stale_loads += i != newest;
      return i;
    }
    back = random_.below(2) != 0;
  }
  if (granule.forgotten & mask) {
    counts_.stale_loads += oldest != newest;
    return oldest;
  }
  counts_.stale_loads += newest != none;
  return none;
}

uint64_t Memory::load(Reader& reader, uint64_t address, uint32_t bytes, Order order, Scope scope, bool non_coherent) {
  advance();
  Line& line = line_of(address, bytes);
  check(line, address, bytes, false);
  counts_.host_loads += !line.own && line.kind != MemoryKind::local;
  if (calm_) return read_word(address, bytes);
  touch(line, address);
  const uint32_t index = static_cast<uint32_t>(address >> 3 & 7);
  const Granule* const g = line.granule(index);
  const uint64_t shift = 8 * (address & 7);
  const uint64_t mask = mask_of(address, bytes);
  if (g == nullptr || g->messages.empty()) {
    take_first(reader, line, order, scope);
    return (line.seen[index] & mask) >> shift;
  }
  const size_t at = choose(reader, *g, mask, non_coherent);
  const uint64_t value = value_at(*g, mask, at) >> shift;
  if (at == none) {
    take_first(reader, line, order, scope);
  } else {
    const MessagePointer message = g->messages[at];
    if (strong(reader, order, scope, address, bytes, *message))
      take(reader, *message, observe(reader, message), acquires(order), scope);
  }
  if (acquires(order)) {  // earlier relaxed reads of the same bytes also form an acquire pattern with it
    for (const MessagePointer& one : g->messages) {
      if (!one->release || one->mask != mask) continue;
      if (one->is_observed_by(reader.author, authors_)) take(reader, *one, false, true, scope);
    }
  }
  return value;
}

Memory::MessagePointer Memory::new_message(const Reader& reader, Line& line, uint64_t address, uint32_t bytes,
                                           uint64_t value) {
  MessagePointer out = messages_.take();
  out->line = &line;
  out->address = address;
  out->bytes = static_cast<uint8_t>(bytes);
  out->mask = mask_of(address, bytes);
  out->value = value << 8 * (address & 7) & out->mask;
  out->born = now_;
  out->author = reader.author;
  out->epoch = reader.epoch;
  out->block = reader.block;
  out->kind = line.kind;
  return out;
}

/// Inserts a message behind all messages of the same bytes that the thread knows or that have arrived, but not between
/// an RMW and the message that it read.
void Memory::insert(Reader& reader, Granule& g, const MessagePointer& message) {
  size_t at = g.messages.size();
  bool before = random_.one_in(mood_.overtake);
  for (size_t i = g.messages.size(); before && i-- > 0;) {
    const Message& one = *g.messages[i];
    if ((one.mask & message->mask) == 0) continue;
    const Scope far = distance(one.block, one.author, message->block, message->author);
    const bool atomic = one.rmw && message->strong && one.scope >= far && message->scope >= far;
    if (one.arrived || atomic || knows(reader, one)) break;
    at = i;
    before = random_.below(2) != 0;
  }
  g.messages.insert(g.messages.begin() + static_cast<ptrdiff_t>(at), message);
  forget_old(g);
}

/// Drops messages that have arrived and are covered by later ones.
void Memory::forget_old(Granule& g) {
  uint64_t kept = 0;  // bytes of older messages, which may concern other bytes alone
  for (size_t at = 0; at < g.messages.size() && g.messages.size() > kept_messages && kept != ~uint64_t{0};) {
    const Message& one = *g.messages[at];
    bool covered = false;
    for (size_t i = at + 1; one.arrived && i < g.messages.size() && !covered; ++i)
      covered = (g.messages[i]->mask & one.mask) == one.mask && g.messages[i]->arrived;
    if (!covered || (one.mask & kept) != 0) {
      kept |= one.mask;
      ++at;
      continue;
    }
    g.before = (g.before & ~one.mask) | one.value;
    g.forgotten |= one.mask;
    g.messages.erase(g.messages.begin() + static_cast<ptrdiff_t>(at));
  }
}

void Memory::begin_pending(Reader& reader, const MessagePointer& message) {
  message->place = static_cast<uint32_t>(pending_.size());
  pending_.push_back(message);
  oldest_.push_back(message);
  by_author_[reader.author].push(message->epoch, message);
}

void Memory::store(Reader& reader, uint64_t address, uint32_t bytes, uint64_t value, Order order, Scope scope) {
  advance();
  Line& line = line_of(address, bytes);
  check(line, address, bytes, true);
  counts_.host_stores += !line.own && (line.kind == MemoryKind::host || line.kind == MemoryKind::uncached);
  if (calm_) {
    const MessagePointer message = new_message(reader, line, address, bytes, value);
    return perform(*message);
  }
  if (line.kind != MemoryKind::registers) touch(line, address);
  Granule& g = granule(line, address);
  const MessagePointer message = [&] {
    const uint64_t mask = mask_of(address, bytes);
    bool own = false;
    ReleasePointer release;
    if (order != Order::weak) release = release_of(reader, order, scope, g, mask, nullptr, &own);
    MessagePointer out = new_message(reader, line, address, bytes, value);
    out->strong = order != Order::weak;
    out->scope = scope;
    out->release = std::move(release);
    out->own_release = own;
    return out;
  }();
  insert(reader, g, message);
  begin_pending(reader, message);
}

/// Whether an RMW may read the message at `at` and follow it in coherence order: not if another RMW that it must see
/// has done so, nor before a message that has arrived.
bool Memory::may_follow(const Reader& reader, Scope scope, const Granule& g, uint64_t mask, size_t at, size_t newest,
                        size_t arrived) {
  if (at == newest) return true;
  if (arrived != none && (at == none || at < arrived)) return false;
  if (at == none && (g.forgotten & mask)) return false;
  for (const Claim& claim : at == none ? g.claims : g.messages[at]->claims) {
    if ((claim.mask & mask) == 0) continue;
    const Scope far = distance(reader.block, reader.author, claim.block, claim.author);
    if (claim.author == reader.author || (scope >= far && claim.scope >= far)) return false;
  }
  return true;
}

uint64_t Memory::atomic(Reader& reader, uint64_t address, uint32_t bytes, Order order, Scope scope,
                        const Change& change) {
  advance();
  Line& line = line_of(address, bytes);
  check(line, address, bytes, true);
  if (line.kind == MemoryKind::registers) throw Fault("an atomic on registers");
  uint64_t fresh = 0;
  if (calm_) {
    const uint64_t old = read_word(address, bytes);
    if (change(old, fresh)) perform(*new_message(reader, line, address, bytes, fresh));
    return old;
  }
  touch(line, address);
  Granule& g = granule(line, address);
  const uint64_t mask = mask_of(address, bytes);
  const uint64_t shift = 8 * (address & 7);
  if (scope == Scope::sys) {          // devices must not come between
    std::vector<MessagePointer> all;  // arrivals may change the granule's messages
    for (const MessagePointer& one : g.messages) {
      if ((one->mask & mask) && !one->arrived) all.push_back(one);
    }
    for (const MessagePointer& one : all) arrive(one);
  }
  size_t newest = none;
  size_t arrived = none;
  for (size_t i = 0; i < g.messages.size(); ++i) {
    if ((g.messages[i]->mask & mask) == 0) continue;
    newest = i;
    if (g.messages[i]->arrived) arrived = i;
  }
  size_t at = scope == Scope::sys ? newest : choose(reader, g, mask, false);
  uint64_t old = value_at(g, mask, at) >> shift;
  bool writes = change(old, fresh);
  if (writes && !may_follow(reader, scope, g, mask, at, newest, arrived)) {
    at = newest;
    old = value_at(g, mask, at) >> shift;
    writes = change(old, fresh);
  }
  const MessagePointer read = at == none ? nullptr : g.messages[at];
  if (!read) take_first(reader, line, order, scope);
  const bool sees = read && strong(reader, order, scope, address, bytes, *read);
  if (sees) take(reader, *read, observe(reader, read), acquires(order), scope);
  if (!writes) return old;
  bool own = false;
  ReleasePointer release = release_of(reader, order, scope, g, mask, sees ? read.get() : nullptr, &own);
  const MessagePointer message = new_message(reader, line, address, bytes, fresh);
  message->strong = true;
  message->scope = scope;
  message->rmw = true;
  message->release = std::move(release);
  message->own_release = own;
  (read ? read->claims : g.claims).push_back({mask, reader.author, reader.block, scope});
  const ptrdiff_t behind = at == none ? 0 : static_cast<ptrdiff_t>(at) + 1;
  g.messages.insert(g.messages.begin() + behind, message);
  begin_pending(reader, message);
  if (scope == Scope::sys) arrive(message);
  forget_old(g);
  return old;
}

}  // namespace machine::ptx
