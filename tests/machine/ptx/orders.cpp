// SPDX-License-Identifier: MIT
/// @file
/// @brief What threads know of each other's stores: morally strong reads, releases, acquires, fences, barriers. See
/// memory.hpp.

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

/// Whether a read and a message are morally strong: both are strong, each scope includes the other's thread, and they
/// overlap completely.
bool Memory::strong(const Reader& reader, Order order, Scope scope, uint64_t address, uint32_t bytes,
                    const Message& message) {
  if (order == Order::weak || !message.strong) return false;
  const Scope far = distance(reader.block, reader.author, message.block, message.author);
  if (scope < far || message.scope < far) return false;
  return message.author == 0 || (message.address == address && message.bytes == bytes);
}

bool Memory::knows(const Reader& reader, const Message& message) const {
  if (message.author == reader.author || message.epoch <= reader.known[message.author]) return true;
  if (message.is_observed_by(reader.author, authors_)) return true;
  for (const Observer& one : message.observers) {
    if (one.epoch <= reader.known[one.author]) return true;
  }
  return false;
}

/// Marks a morally strong read. Returns false if it adds nothing, as when the thread wrote or already read the message.
bool Memory::observe(Reader& reader, const MessagePointer& message) {
  if (message->author == reader.author) return false;
  if (message->is_observed_by(reader.author, authors_)) return false;
  const bool known = knows(reader, *message);
  if (known && !message->release) return false;
  message->add_observer({reader.author, reader.epoch});
  if (!known && !message->arrived) by_author_[reader.author].push(reader.epoch, message);
  return true;
}

/// Adds the knowledge of a morally strong read, effective now or after the next fence.
void Memory::take(Reader& reader, const Message& message, bool first, bool now, Scope scope) {
  if (!message.release || !(first || now)) return;
  const Release& release = *message.release;
  const Clock* joined = nullptr;  // often the clocks of several scopes are one
  const auto add = [&](Scope level, const ClockPointer& clock) {
    if (!clock) return;
    if (first) {
      join(reader.read[static_cast<int>(level)], clock);
      reader.news[static_cast<int>(level)] = true;
    }
    ClockPointer& taken = reader.taken[static_cast<int>(level)];
    if (!now || scope < level || taken == clock) return;
    if (clock.get() != joined) reader.known.join(*clock);
    joined = clock.get();
    taken = clock;
  };
  for (const auto& [block, clock] : release.block) {
    if (block == reader.block) add(Scope::cta, clock);
  }
  add(Scope::gpu, release.gpu);
  add(Scope::sys, release.device);
}

/// A read of contents that a device wrote before the GPU first used the line.
void Memory::take_first(Reader& reader, const Line& line, Order order, Scope scope) {
  if (!line.first || order == Order::weak || scope != Scope::sys) return;
  join(reader.read[static_cast<int>(Scope::sys)], line.first);
  reader.news[static_cast<int>(Scope::sys)] = true;
  if (acquire_order(order)) reader.known.join(*line.first);
}

void Memory::join(ClockPointer& so_far, const ClockPointer& more) {
  if (!more || so_far == more) return;
  if (!so_far) {
    so_far = more;
  } else if (so_far.alone()) {
    so_far->join(*more);
  } else if (!so_far->covers(*more)) {
    ClockPointer out = clocks_.take();
    out->copy(*so_far);
    out->join(*more);
    so_far = std::move(out);
  }
}

ClockPointer Memory::snapshot(Reader& reader) {
  ClockPointer out = clocks_.take();
  out->copy(reader.known, reader.author, reader.epoch++);
  return out;
}

void Memory::merge(ReleasePointer& so_far, const ReleasePointer& more) {
  if (!more || so_far == more) return;
  if (!so_far) {
    so_far = more;
    return;
  }
  if (!so_far.alone()) {
    ReleasePointer out = releases_.take();
    out->block = so_far->block;
    out->gpu = so_far->gpu;
    out->system = so_far->system;
    out->device = so_far->device;
    so_far = std::move(out);
  }
  for (const auto& [block, clock] : more->block) {
    bool found = false;
    for (auto& [there, known] : so_far->block) {
      if (there != block) continue;
      join(known, clock);
      found = true;
    }
    if (!found) so_far->block.emplace_back(block, clock);
  }
  join(so_far->gpu, more->gpu);
  join(so_far->system, more->system);
  join(so_far->device, more->device);
}

/// Knowledge attached to a strong store: its own release, the releases of fences before it and of the thread's earlier
/// stores to the same bytes and, for an RMW, of the message that it read.
Memory::ReleasePointer Memory::release_of(Reader& reader, Order order, Scope scope, const Granule& granule,
                                          uint64_t mask, const Message* read, bool* own) {
  ClockPointer levels[3];
  for (int i = 0; i < 3; ++i) levels[i] = reader.released[i];
  if (releases(order)) {
    const ClockPointer now = snapshot(reader);
    for (int i = 0; i <= static_cast<int>(scope); ++i) levels[i] = now;
    *own = true;
  }
  ReleasePointer out;
  if (levels[0]) {
    out = releases_.take();
    out->block.emplace_back(reader.block, levels[0]);
    out->gpu = levels[1];
    out->system = levels[2];
  }
  for (const MessagePointer& one : granule.messages) {
    if (one->author != reader.author || !one->own_release || one->mask != mask) continue;
    merge(out, one->release);
    *own = true;
  }
  if (read) merge(out, read->release);
  return out;
}

void Memory::fence(Reader& reader, bool acquire, bool release, bool sequential, Scope scope) {
  if (calm_) return;
  const int wide = static_cast<int>(scope);
  const Clock* joined = nullptr;
  for (int i = 0; acquire && i <= wide; ++i) {
    const Clock* const one = reader.news[i] ? reader.read[i].get() : nullptr;
    if (one != joined && one != nullptr) reader.known.join(*one);
    if (one != nullptr) joined = one;
    reader.news[i] = false;
  }
  if (sequential) {
    ClockPointer& block = sequential_block_[reader.block];
    if (block) reader.known.join(*block);
    if (scope >= Scope::gpu && sequential_gpu_) reader.known.join(*sequential_gpu_);
    if (scope == Scope::sys) {
      // Stores arrive before the device is looked at, which may run at the same time: either it has seen them, or the
      // thread knows what it wrote.
      if (release) arrive_known(*snapshot(reader));
      __atomic_thread_fence(__ATOMIC_SEQ_CST);
      devices_moved();
      reader.known.join(device_);
    }
  }
  if (!release) return;
  const ClockPointer now = snapshot(reader);
  for (int i = 0; i <= wide; ++i) reader.released[i] = now;
  if (!sequential) return;
  join(sequential_block_[reader.block], now);
  if (scope >= Scope::gpu) join(sequential_gpu_, now);
  if (scope == Scope::sys) arrive_known(*now);
}

void Memory::meet(const std::vector<Reader*>& readers) {
  if (calm_ || readers.empty()) return;
  Clock& all = meeting_;
  all.reset(authors_);
  for (const Reader* const one : readers) {
    all.join(one->known);
    if (all[one->author] < one->epoch) all.set(one->author, one->epoch);
  }
  for (Reader* const one : readers) {
    one->known.copy(all);
    ++one->epoch;
  }
}

}  // namespace machine::ptx
