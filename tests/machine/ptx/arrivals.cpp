// SPDX-License-Identifier: MIT
/// @file
/// @brief How stores arrive in the memory shared with devices, and how device writes are found. See memory.hpp.

#include <machine/ptx/memory.hpp>

#include <algorithm>

namespace machine::ptx {

namespace {

/// Accesses after which a line that the GPU does not use is no longer checked in each turn.
constexpr uint64_t dormant_after = 60'000;

/// A line may extend beyond a mapped range, but never beyond its page.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) uint64_t word_at(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_ACQUIRE);
}

/// For comparisons; each word is read in one piece. The address is a multiple of 16.
using TwoWords = uint64_t __attribute__((vector_size(16)));
__attribute__((no_sanitize("address"), no_sanitize("thread"))) TwoWords two_words_at(uint64_t address) {
  using Aliasing = uint64_t __attribute__((vector_size(16), may_alias));
  return *reinterpret_cast<const volatile Aliasing*>(address);
}

}  // namespace

void Memory::begin(uint32_t threads, uint32_t blocks, uint64_t seed, bool calm, const MemoryMood& mood) {
  random_ = Random(seed * 31 + 7);
  mood_ = mood;
  calm_ = calm;
  authors_ = threads + 1;
  turn_ = 1;
  device_.reset(authors_);
  device_.set(0, turn_);
  device_release_ = nullptr;
  sequential_block_.assign(blocks, nullptr);
  sequential_gpu_ = nullptr;
  lines_.clear();
  active_.clear();
  pending_.clear();
  oldest_.clear();
  for (Known& known : by_author_) known.clear();
  if (by_author_.size() < authors_) by_author_.resize(authors_);
  now_ = 0;
}

void Memory::reset(Reader& reader, uint32_t thread, uint32_t block) const {
  reader.author = thread + 1;
  reader.block = block;
  reader.epoch = 1;
  reader.known.reset(calm_ ? 0 : authors_);
  if (!calm_) reader.known.set(0, 1);
  for (int i = 0; i < 3; ++i) {
    reader.read[i] = reader.released[i] = reader.taken[i] = nullptr;
    reader.news[i] = false;
  }
}

void Memory::end() {
  while (!oldest_.empty()) {
    const MessagePointer one = oldest_.front();
    oldest_.pop_front();
    arrive(one);
  }
  begin(0, 0, 1, calm_, mood_);
}

void Memory::add_own(const void* memory, size_t bytes, bool writable) {
  const auto begin = reinterpret_cast<uint64_t>(memory);
  own_.push_back({begin, begin + bytes, MemoryKind::local, writable, "own"});
}

Memory::Line& Memory::line_of(uint64_t address, uint32_t bytes) {
  Line* const found = lines_.find(address & ~uint64_t{63});
  return found != nullptr ? *found : make_line(address, bytes);
}

Memory::Line& Memory::make_line(uint64_t address, uint32_t bytes) {
  const uint64_t begin = address & ~uint64_t{63};
  const auto meets = [&](const Range& range) { return range.begin < begin + 64 && range.end > begin; };
  uint32_t ranges = 0;
  for (const Range& range : own_) ranges += meets(range);
  for (const Range& range : ranges_.ranges()) ranges += meets(range);
  const Range* range = nullptr;
  for (const Range& one : own_) {
    if (address >= one.begin && address + bytes <= one.end) range = &one;
  }
  const bool own = range != nullptr;
  if (range == nullptr) range = &ranges_.find(address, bytes);
  Line& line = lines_.add(begin);
  line.own = own;
  if (ranges == 1) {
    line.begin = range->begin;
    line.end = range->end;
  }
  line.kind = range->kind;
  line.writable = range->writable;
  line.looked_turn = turn_;
  if (line.kind != MemoryKind::registers && !calm_) {
    for (uint32_t i = 0; i < 8; ++i) line.seen[i] = word_at(line.address + 8 * i);
    if (!line.own && turn_ > 1) {
      devices_moved();  // finds earlier writes of the device that wrote the contents just read
      line.first = device_release();
      line.looked_turn = turn_;
    }
  }
  return line;
}

/// Checks an access. Lines with bytes of a single range use the range's cached bounds.
void Memory::check(Line& line, uint64_t address, uint32_t bytes, bool stores) const {
  bool writable = line.writable;
  const bool known = address >= line.begin && address + bytes <= line.end;
  if (!known && !line.own) {
    const Range& range = ranges_.find(address, bytes);
    line.kind = range.kind;
    writable = range.writable;
  } else if (!known) {
    bool inside = false;
    for (const Range& one : own_) inside = inside || (address >= one.begin && address + bytes <= one.end);
    if (!inside) throw Fault("access behind the end of shared memory or of a variable");
  }
  if (stores && !writable) throw Fault("a store to memory that must not be written");
  if (!stores && line.kind == MemoryKind::registers) throw Fault("a load from registers");
}

bool Memory::differs(const Line& line) {
  TwoWords out = {};
  for (uint32_t i = 0; i < 8; i += 2)
    out |= two_words_at(line.address + 8 * i) ^ two_words_at(reinterpret_cast<uint64_t>(line.seen + i));
  return (out[0] | out[1]) != 0;
}

void Memory::touch(Line& line, uint64_t address) {
  line.touched = now_;
  if (line.own) return;
  if (!line.active) {
    if (differs(line)) {
      devices_moved();
      look_at(line, line.looked_turn + 1);
      // A device that runs concurrently may have written here since, and to other lines before: of the same turn.
      find_writes();
    }
    line.active = true;
    active_.push_back(&line);
  }
  // A device that runs concurrently.
  if (word_at(address & ~uint64_t{7}) != line.seen[address >> 3 & 7]) devices_moved();
}

Memory::Granule& Memory::granule(Line& line, uint64_t address) {
  const uint32_t index = static_cast<uint32_t>(address >> 3 & 7);
  std::unique_ptr<Granule>& out = line.granules[index];
  if ((line.used >> index & 1) == 0) {
    if (!out) out = std::make_unique<Granule>();
    line.used = static_cast<uint8_t>(line.used | 1u << index);
    out->before = line.seen[index];
  }
  return *out;
}

/// Records what a device has written since the last comparison, as of `turn` at the earliest. The device's knowledge at
/// that time is taken to be its current knowledge.
void Memory::look_at(Line& line, uint32_t turn) {
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t address = line.address + 8 * i;
    const uint64_t word = word_at(address);
    if (word == line.seen[i]) continue;
    uint64_t mask = 0;
    for (uint32_t byte = 0; byte < 8; ++byte) {
      if ((word ^ line.seen[i]) >> 8 * byte & 0xff) mask |= uint64_t{0xff} << 8 * byte;
    }
    Granule& g = granule(line, address);
    MessagePointer message = messages_.take();
    message->line = &line;
    message->address = address;
    message->bytes = 8;
    message->mask = mask;
    message->value = word & mask;
    message->born = now_;
    message->epoch = turn;
    message->strong = true;
    message->arrived = true;
    ReleasePointer release = releases_.take();
    release->device = device_release();
    message->release = std::move(release);
    size_t at = 0;
    for (size_t k = 0; k < g.messages.size(); ++k) {
      if (g.messages[k]->arrived && (g.messages[k]->mask & mask)) at = k + 1;
    }
    g.messages.insert(g.messages.begin() + static_cast<ptrdiff_t>(at), std::move(message));
    forget_old(g);
    line.seen[i] = word;
  }
  line.looked_turn = turn_;
}

ClockPointer Memory::device_release() {
  if (!device_release_) {
    device_release_ = clocks_.take();
    device_release_->copy(device_);
  }
  return device_release_;
}

void Memory::devices_moved() {
  if (calm_) return;
  device_.set(0, ++turn_);
  device_release_ = nullptr;
  find_writes();
}

void Memory::find_writes() {
  // Repeats if it found something: a concurrent device may have written to lines already compared before it wrote to
  // this one.
  for (bool found = true; found;) {
    found = false;
    for (size_t i = 0; i < active_.size();) {
      Line& line = *active_[i];
      if (differs(line)) {
        look_at(line, turn_);
        found = true;
      }
      line.looked_turn = turn_;
      if (line.touched + dormant_after < now_) {
        line.active = false;
        // A device may still write here before it writes to a line that this turn finds changed.
        line.looked_turn = turn_ - 1;
        active_[i] = active_.back();
        active_.pop_back();
      } else {
        ++i;
      }
    }
  }
}

void Memory::advance() {
  ++now_;
  last_write_end_ = 0;
  if (calm_) return;
  if (!pending_.empty() && random_.one_in(mood_.drain)) arrive_one();
  while (!oldest_.empty() && (oldest_.front()->arrived || oldest_.front()->born + mood_.patience < now_)) {
    const MessagePointer one = oldest_.front();
    oldest_.pop_front();
    arrive(one);
  }
}

bool Memory::arrive_one() {
  if (pending_.empty()) return false;
  const MessagePointer one = pending_[random_.below(static_cast<uint32_t>(pending_.size()))];
  arrive(one);
  return true;
}

void Memory::arrive(const MessagePointer& message) {
  if (message->arrived || message->arriving) return;
  message->arriving = true;
  Granule& g = *message->line->granules[message->address >> 3 & 7];
  std::vector<MessagePointer> earlier;
  for (const MessagePointer& one : g.messages) {
    if (one == message) break;
    if (!one->arrived && (one->mask & message->mask)) earlier.push_back(one);
  }
  for (const MessagePointer& one : earlier) arrive(one);
  // Only a system-scope store makes other stores known to a device.
  const bool tells = message->strong && message->scope == Scope::sys;
  if (tells && message->release) {
    const ClockPointer system = message->release->system;
    const ClockPointer gpu = message->release->gpu;
    if (system) arrive_known(*system);
    if (gpu && !(gpu == system)) arrive_local(*gpu);
  }
  perform(*message);
  message->arrived = true;
  pending_[message->place] = pending_.back();
  pending_[message->place]->place = message->place;
  pending_.pop_back();
  if (tells) {  // a device may have read it
    if (message->release) {
      for (const ClockPointer& known : {message->release->system, message->release->gpu}) {
        if (!known) continue;
        device_.join(*known);
        device_release_ = nullptr;
      }
    }
    message->add_observer({0, turn_ + 1});
  }
  if (message->kind == MemoryKind::registers)
    g.messages.erase(std::find(g.messages.begin(), g.messages.end(), message));
}

void Memory::Known::push(uint32_t epoch, const MessagePointer& message) {
  if (messages.empty()) next = epoch;
  messages.push_back({epoch, message});
}

Memory::MessagePointer Memory::Known::pop() {
  MessagePointer out = std::move(messages[begin++].message);
  if (begin == messages.size()) {
    clear();
  } else {
    next = messages[begin].epoch;
  }
  return out;
}

void Memory::Known::clear() {
  messages.clear();
  begin = 0;
  next = ~0u;
}

void Memory::arrive_known(const Clock& clock) {
  for (uint32_t author = 1; author < authors_; ++author) {
    Known& known = by_author_[author];
    while (known.next <= clock[author]) arrive(known.pop());
  }
}

void Memory::arrive_local(const Clock& clock) {
  std::vector<MessagePointer> found;  // arrivals change what is known
  for (uint32_t author = 1; author < authors_; ++author) {
    const Known& known = by_author_[author];
    for (size_t i = known.begin; i < known.messages.size() && known.messages[i].epoch <= clock[author]; ++i) {
      const MessagePointer& one = known.messages[i].message;
      if (one->kind == MemoryKind::local && !one->line->own) found.push_back(one);
    }
  }
  for (const MessagePointer& one : found) arrive(one);
}

void Memory::perform(Message& message) {
  const uint64_t value = message.value >> 8 * (message.address & 7);
  count_write(message);
  if (message.kind == MemoryKind::registers) return write_register(message.address, value, message.bytes);
  Line* const line = calm_ ? nullptr : message.line;
  if (line && !line->own && differs(*line)) {
    devices_moved();
    look_at(*line, line->looked_turn + 1);
  }
  switch (message.bytes) {
    case 1:
      __atomic_store_n(reinterpret_cast<uint8_t*>(message.address), static_cast<uint8_t>(value), __ATOMIC_RELEASE);
      break;
    case 2:
      __atomic_store_n(reinterpret_cast<uint16_t*>(message.address), static_cast<uint16_t>(value), __ATOMIC_RELEASE);
      break;
    case 4:
      __atomic_store_n(reinterpret_cast<uint32_t*>(message.address), static_cast<uint32_t>(value), __ATOMIC_RELEASE);
      break;
    default: __atomic_store_n(reinterpret_cast<uint64_t*>(message.address), value, __ATOMIC_RELEASE);
  }
  if (!line) return;
  uint64_t& seen = line->seen[message.address >> 3 & 7];
  seen = (seen & ~message.mask) | message.value;
}

void Memory::count_write(const Message& message) {
  if (message.kind == MemoryKind::registers) {
    ++counts_.doorbells;
  } else if (message.kind != MemoryKind::local) {
    const bool goes_on = message.address == last_write_end_ && (message.address & 63) != 0;
    counts_.host_writes += !goes_on;
    counts_.host_bytes += message.bytes;
    last_write_end_ = message.address + message.bytes;
  }
}

}  // namespace machine::ptx
