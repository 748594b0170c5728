// SPDX-License-Identifier: MIT
#include <machine/amdgcn/caches.hpp>

#include <cstring>

namespace machine::amdgcn {
namespace {

// With a constant length, the compiler copies and compares by single instructions.
void copy_bytes(void* to, const void* from, uint32_t bytes) {
  if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else {
    std::memcpy(to, from, bytes);
  }
}
bool same_bytes(const void* a, const void* b, uint32_t bytes) {
  if (bytes == 4) return std::memcmp(a, b, 4) == 0;
  if (bytes == 8) return std::memcmp(a, b, 8) == 0;
  return std::memcmp(a, b, bytes) == 0;
}

/// Copies the bytes of a line that a mask selects, run by run.
void copy_masked(uint8_t* to, const uint8_t* from, uint64_t mask) {
  while (mask != 0) {
    const int first = __builtin_ctzll(mask);
    const uint64_t above = ~(mask >> first);
    const int count = above == 0 ? 64 : __builtin_ctzll(above);
    std::memcpy(to + first, from + first, static_cast<size_t>(count));
    if (first + count == 64) return;
    mask &= ~uint64_t{0} << (first + count);
  }
}

}  // namespace

void Caches::clear() {
  lines_.clear();
  order_.clear();
  last_ = last_host_load_ = nullptr;
  for (auto& list : dirty_) list.clear();
}

Caches::Line& Caches::add_line(uint64_t address) {
  Line& line = lines_.add(address & ~uint64_t{line_bytes - 1});
  line.used_at = static_cast<uint8_t>(address - line.address);
  order_.push_back(&line);
  last_ = &line;
  return line;
}

uint64_t Caches::within(const Range& range, const Line& line) {
  const uint64_t first = range.begin > line.address ? range.begin - line.address : 0;
  const uint64_t last = std::min<uint64_t>(range.end - line.address, line_bytes);
  return byte_mask(static_cast<uint32_t>(first), static_cast<uint32_t>(last - first));
}

void Caches::note_host_load(const Piece& piece) {
  if (piece.range->kind == MemoryKind::local || piece.line == last_host_load_) return;
  last_host_load_ = piece.line;
  ++counts_.host_loads;
}

/// Counts a hit on outdated bytes: they differ from memory, or from the L2's dirty bytes above it.
void Caches::note_stale(const Piece& piece, uint32_t unit, const uint8_t* got) {
  const DirtyCopy& copy = second(*piece.line, unit);
  if ((copy.dirty & piece.mask()) == 0) {
    counts_.stale_loads += !same_bytes(piece.memory(), got, piece.bytes);
    return;
  }
  uint8_t current[line_bytes];
  copy_bytes(current, piece.memory(), piece.bytes);
  for (uint32_t i = 0; i < piece.bytes; ++i)
    if (copy.dirty >> (piece.at + i) & 1) current[i] = copy.data[piece.at + i];
  counts_.stale_loads += !same_bytes(current, got, piece.bytes);
}

/// Loads from the L2 or from memory.
void Caches::load_second(const Piece& piece, Requester from, Scope scope, uint8_t* to) {
  if (piece.range->kind == MemoryKind::uncached) {
    note_host_load(piece);
    copy_bytes(to, piece.memory(), piece.bytes);
    return;
  }
  DirtyCopy& copy = second(*piece.line, from.unit);
  const uint64_t epoch = second_epoch_[second_of(from.unit)];
  if (copy.epoch != epoch) {
    copy.valid = copy.dirty;
    copy.epoch = epoch;
  }
  if (past_second_level(scope)) {
    note_host_load(piece);
    copy_bytes(to, piece.memory(), piece.bytes);
    // Dirty bytes of the L2 are always returned.
    if (copy.dirty & piece.mask()) {
      for (uint32_t i = 0; i < piece.bytes; ++i)
        if (copy.dirty >> (piece.at + i) & 1) to[i] = copy.data[piece.at + i];
    }
    return;
  }
  if ((copy.valid & piece.mask()) == piece.mask()) {
    copy_bytes(to, copy.data + piece.at, piece.bytes);
    note_stale(piece, from.unit, to);
    return;
  }
  note_host_load(piece);
  const uint64_t missing = within(*piece.range, *piece.line) & ~copy.valid;
  const auto* const memory = reinterpret_cast<const uint8_t*>(piece.line->address);
  copy_masked(copy.data, memory, missing);
  copy.valid |= missing;
  copy_bytes(to, copy.data + piece.at, piece.bytes);
}

/// Fetches the bytes that a read cache lacks.
void Caches::fill(const Piece& piece, Copy& copy, uint64_t epoch, Requester from, bool through_array) {
  if (copy.epoch != epoch) {
    copy.valid = 0;
    copy.epoch = epoch;
  }
  const uint64_t whole = within(*piece.range, *piece.line);
  const auto first = static_cast<uint32_t>(__builtin_ctzll(whole));
  const Piece all{piece.range, piece.line, first, count_bits(whole)};
  uint8_t fresh[line_bytes];
  if (through_array) {
    const uint32_t array = from.unit / units_of_array;
    Copy& next = piece.line->array[array];
    if (!hits(next, array_epoch_[array], all.mask())) fill(piece, next, array_epoch_[array], from, false);
    copy_bytes(fresh + first, next.data + first, all.bytes);
  } else {
    load_second(all, from, Scope::unit, fresh + first);
  }
  copy_masked(copy.data, fresh, whole & ~copy.valid);
  copy.valid |= whole;
}

void Caches::load(Requester from, uint64_t address, uint32_t bytes, Scope scope, void* to) {
  pieces(address, bytes, [&](const Piece& piece, uint32_t done) {
    if (piece.range->kind == MemoryKind::registers) throw Fault("load from a device's registers");
    uint8_t* const out = static_cast<uint8_t*>(to) + done;
    if (scope > target_.first_level_serves) return load_second(piece, from, scope, out);
    Copy& copy = piece.line->unit[from.unit];
    const bool hit = hits(copy, unit_epoch_[from.unit], piece.mask());
    if (!hit) fill(piece, copy, unit_epoch_[from.unit], from, target_.array_cache);
    copy_bytes(out, copy.data + piece.at, piece.bytes);
    if (hit) note_stale(piece, from.unit, out);
  });
}

void Caches::scalar_load(Requester from, uint64_t address, uint32_t bytes, void* to) {
  pieces(address, bytes, [&](const Piece& piece, uint32_t done) {
    if (piece.range->kind == MemoryKind::registers) throw Fault("scalar load from a device's registers");
    const uint32_t which = from.unit / units_of_array;
    Copy& copy = piece.line->scalar[which];
    const bool hit = hits(copy, scalar_epoch_[which], piece.mask());
    if (!hit) fill(piece, copy, scalar_epoch_[which], from, target_.array_cache);
    uint8_t* const out = static_cast<uint8_t*>(to) + done;
    copy_bytes(out, copy.data + piece.at, piece.bytes);
    if (hit) note_stale(piece, from.unit, out);
  });
}

void Caches::update(Copy& copy, uint64_t epoch, const Piece& piece, const uint8_t* data) {
  if (copy.epoch != epoch) return;
  copy_bytes(copy.data + piece.at, data, piece.bytes);
  copy.valid |= piece.mask();
}

void Caches::make_dirty(const Piece& piece, DirtyCopy& copy, Requester from, const uint8_t* data) {
  const uint32_t which = second_of(from.unit);
  if (copy.epoch != second_epoch_[which]) {
    copy.valid = copy.dirty;
    copy.epoch = second_epoch_[which];
  }
  if (copy.dirty == 0) {
    copy.since = now;
    copy.writer = from.sender;
  } else if (copy.writer != from.sender) {
    copy.writer = several_writers;
  }
  copy_bytes(copy.data + piece.at, data, piece.bytes);
  copy.valid |= piece.mask();
  copy.dirty |= piece.mask();
  if (!copy.listed) {
    copy.listed = true;
    dirty_[which].push_back(piece.line);
  }
}

void Caches::store(Requester from, uint64_t address, uint32_t bytes, Scope scope, const void* data) {
  pieces(address, bytes, [&](const Piece& piece, uint32_t done) {
    if (!piece.range->writable) throw Fault("store to memory that is read only: " + piece.range->name);
    const uint8_t* const in = static_cast<const uint8_t*>(data) + done;
    const uint32_t array = from.unit / units_of_array;
    // Write-through; the caches of other units keep their copies.
    update(piece.line->unit[from.unit], unit_epoch_[from.unit], piece, in);
    if (target_.array_cache) update(piece.line->array[array], array_epoch_[array], piece, in);
    if (piece.range->kind == MemoryKind::uncached) {
      copy_bytes(piece.memory(), in, piece.bytes);
      return;
    }
    DirtyCopy& copy = second(*piece.line, from.unit);
    if (!past_second_level(scope)) return make_dirty(piece, copy, from, in);
    copy_bytes(piece.memory(), in, piece.bytes);
    if (copy.epoch == second_epoch_[second_of(from.unit)]) {
      copy_bytes(copy.data + piece.at, in, piece.bytes);
      copy.valid |= piece.mask();
    }
    copy.dirty &= ~piece.mask();
  });
}

void Caches::write_line_back(Line& line, DirtyCopy& copy) {
  if (copy.dirty == 0) return;
  auto* const memory = reinterpret_cast<uint8_t*>(line.address);
  copy_masked(memory, copy.data, copy.dirty);
  if (range(line.address + static_cast<uint64_t>(__builtin_ctzll(copy.dirty)), 1).kind != MemoryKind::local) {
    counts_.host_writes += runs(copy.dirty);
    counts_.host_bytes += count_bits(copy.dirty);
  }
  copy.dirty = 0;
}

void Caches::write_back(Requester from, Scope scope, uint64_t begun, bool all) {
  if (!past_second_level(scope)) return;
  const uint32_t which = second_of(from.unit);
  std::vector<Line*>& list = dirty_[which];
  for (size_t i = 0; i < list.size();) {
    DirtyCopy& copy = list[i]->second[which];
    const bool needed = copy.since <= begun || copy.writer == from.sender || copy.writer == several_writers;
    if (copy.dirty != 0 && ((all && needed) || random_.one_in(4))) write_line_back(*list[i], copy);
    if (copy.dirty != 0) {
      ++i;
      continue;
    }
    copy.listed = false;
    list[i] = list.back();
    list.pop_back();
  }
}

/// Drops clean bytes; dirty bytes stay.
void Caches::drop_clean(uint32_t which) { ++second_epoch_[which]; }

void Caches::invalidate(Requester from, Scope scope, uint8_t levels) {
  if (levels & first_level) ++unit_epoch_[from.unit];
  if (levels & array_level) ++array_epoch_[from.unit / units_of_array];
  if ((levels & second_level) && past_second_level(scope)) drop_clean(second_of(from.unit));
}

void Caches::tick() {
  if (order_.empty()) return;
  const auto any = [&]() -> Line& { return *order_[random_.below(static_cast<uint32_t>(order_.size()))]; };
  const uint32_t which = random_.below(mood_.second_levels);
  if (random_.one_in(mood_.evict_dirty) && !dirty_[which].empty()) {
    Line& line = *dirty_[which][random_.below(static_cast<uint32_t>(dirty_[which].size()))];
    write_line_back(line, line.second[which]);
  }
  if (random_.one_in(mood_.evict_clean)) {
    Line& line = any();
    line.second[which].valid = line.second[which].dirty;
    line.unit[random_.below(compute_units)].valid = 0;
    line.array[random_.below(unit_arrays)].valid = 0;
    line.scalar[random_.below(unit_arrays)].valid = 0;
  }
  if (random_.one_in(mood_.refetch)) {
    // A load by another wave of that unit, not counted.
    Line& line = any();
    const uint64_t host_loads = counts_.host_loads;
    const uint64_t stale_loads = counts_.stale_loads;
    uint8_t byte;
    load({random_.below(compute_units), several_writers}, line.address + line.used_at, 1, Scope::unit, &byte);
    counts_.host_loads = host_loads;
    counts_.stale_loads = stale_loads;
  }
}

void Caches::end_kernel() {
  for (uint32_t which = 0; which < unit_arrays; ++which) {
    for (Line* line : dirty_[which]) write_line_back(*line, line->second[which]);
  }
  clear();
}

}  // namespace machine::amdgcn
