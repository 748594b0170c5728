// SPDX-License-Identifier: MIT
/// @file
/// @brief What threads know of each other: morally strong reads, releases, acquires, fences, barriers. See memory.hpp.

#include <machine/ptx/memory.hpp>

namespace machine::ptx {

namespace {

bool acquire_order(Order order) { return order == Order::acquire || order == Order::acq_rel || order == Order::sc; }
bool releases(Order order) { return order == Order::release || order == Order::acq_rel || order == Order::sc; }

}  // namespace

Scope Memory::distance(uint32_t block, uint32_t author, uint32_t other_block, uint32_t other_author) {
  if (author == 0 || other_author == 0) return author == other_author ? Scope::cta : Scope::sys;
  return block == other_block ? Scope::cta : Scope::gpu;
}

/// Both are strong, each scope holds the other's thread, and they overlap completely.
bool Memory::strong(const Reader& reader, Order order, Scope scope, uint64_t address, uint32_t bytes,
                    const Message& message) {
  if (order == Order::weak || !message.strong) return false;
  const Scope far = distance(reader.block, reader.author, message.block, message.author);
  if (scope < far || message.scope < far) return false;
  return message.author == 0 || (message.address == address && message.bytes == bytes);
}

bool Memory::knows(const Reader& reader, const Message& message) const {
  if (message.author == reader.author || message.epoch <= reader.known[message.author]) return true;
  for (const Observer& one : message.observers) {
    if (one.author == reader.author || one.epoch <= reader.known[one.author]) return true;
  }
  return false;
}

/// Marks a morally strong read. False where the thread had read, or written, the same message before.
bool Memory::observe(Reader& reader, const MessagePointer& message) {
  if (message->author == reader.author) return false;
  for (const Observer& one : message->observers) {
    if (one.author == reader.author) return false;
  }
  const bool known = knows(reader, *message);
  if (known && !message->release) return false;
  message->observers.push_back({reader.author, reader.epoch});
  if (!known && !message->arrived) by_author_[reader.author].push_back({reader.epoch, message});
  return true;
}

/// A morally strong read: what it brings is known now, or after the next fence.
void Memory::take(Reader& reader, const Message& message, bool first, bool now, Scope scope) {
  if (!message.release || !(first || now)) return;
  const Release& release = *message.release;
  const auto add = [&](Scope level, const ClockPointer& clock) {
    if (!clock) return;
    ClockPointer& so_far = reader.read[static_cast<int>(level)];
    if (first) so_far = joined(so_far, clock);
    if (now && scope >= level) reader.known.join(*clock);
  };
  for (const auto& [block, clock] : release.block) {
    if (block == reader.block) add(Scope::cta, clock);
  }
  add(Scope::gpu, release.gpu);
  add(Scope::sys, release.device);
}

/// What a device had written before the GPU first looked.
void Memory::take_first(Reader& reader, const Line& line, Order order, Scope scope) {
  if (!line.first || order == Order::weak || scope != Scope::sys) return;
  ClockPointer& so_far = reader.read[static_cast<int>(Scope::sys)];
  so_far = joined(so_far, line.first);
  if (acquire_order(order)) reader.known.join(*line.first);
}

ClockPointer Memory::snapshot(Reader& reader) {
  auto out = std::make_shared<Clock>(reader.known);
  out->set(reader.author, reader.epoch++);
  return out;
}

std::shared_ptr<const Memory::Release> Memory::merged(const std::shared_ptr<const Release>& a,
                                                      const std::shared_ptr<const Release>& b) const {
  if (!a || a == b) return b;
  if (!b) return a;
  auto out = std::make_shared<Release>(*a);
  for (const auto& [block, clock] : b->block) {
    bool found = false;
    for (auto& [there, so_far] : out->block) {
      if (there != block) continue;
      so_far = joined(so_far, clock);
      found = true;
    }
    if (!found) out->block.emplace_back(block, clock);
  }
  out->gpu = joined(out->gpu, b->gpu);
  out->system = joined(out->system, b->system);
  out->device = joined(out->device, b->device);
  return out;
}

/// What a strong store takes along: its own release, that of the fences before it, that of an earlier release to the
/// same bytes, and, for an RMW, that of what it read.
std::shared_ptr<const Memory::Release> Memory::release_of(Reader& reader, Order order, Scope scope,
                                                          const Granule& granule, uint64_t mask, const Message* read,
                                                          bool* own) {
  ClockPointer levels[3];
  for (int i = 0; i < 3; ++i) levels[i] = reader.released[i];
  if (releases(order)) {
    const ClockPointer now = snapshot(reader);
    for (int i = 0; i <= static_cast<int>(scope); ++i) levels[i] = now;
    *own = true;
  }
  std::shared_ptr<const Release> out;
  if (levels[0]) {
    auto fresh = std::make_shared<Release>();
    fresh->block.emplace_back(reader.block, levels[0]);
    fresh->gpu = levels[1];
    fresh->system = levels[2];
    out = std::move(fresh);
  }
  for (const MessagePointer& one : granule.messages) {
    if (one->author != reader.author || !one->own_release || one->mask != mask) continue;
    out = merged(out, one->release);
    *own = true;
  }
  if (read) out = merged(out, read->release);
  return out;
}

void Memory::fence(Reader& reader, bool acquire, bool release, bool sequential, Scope scope) {
  if (calm_) return;
  const int wide = static_cast<int>(scope);
  for (int i = 0; acquire && i <= wide; ++i) {
    if (reader.read[i]) reader.known.join(*reader.read[i]);
    // What was read at a narrower distance stays: a later fence joins it again, which changes nothing.
  }
  if (sequential) {
    ClockPointer& block = sequential_block_[reader.block];
    if (block) reader.known.join(*block);
    if (scope >= Scope::gpu && sequential_gpu_) reader.known.join(*sequential_gpu_);
    if (scope == Scope::sys) {
      devices_moved();
      reader.known.join(device_);
    }
  }
  if (!release) return;
  const ClockPointer now = snapshot(reader);
  for (int i = 0; i <= wide; ++i) reader.released[i] = now;
  if (!sequential) return;
  sequential_block_[reader.block] = joined(sequential_block_[reader.block], now);
  if (scope >= Scope::gpu) sequential_gpu_ = joined(sequential_gpu_, now);
  if (scope == Scope::sys) arrive_known(*now);
}

void Memory::meet(const std::vector<Reader*>& readers) {
  if (calm_ || readers.empty()) return;
  Clock all(authors_);
  for (const Reader* const one : readers) {
    all.join(one->known);
    if (all[one->author] < one->epoch) all.set(one->author, one->epoch);
  }
  for (Reader* const one : readers) {
    one->known = all;
    ++one->epoch;
  }
}

}  // namespace machine::ptx
