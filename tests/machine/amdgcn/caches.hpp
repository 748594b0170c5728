// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The caches between a GPU's units and memory: one per unit, one per array of units, a scalar cache, and the
/// L2.
///
/// No cache is coherent by itself. A load may hit arbitrarily old data; a store stays in the L2 until it is written
/// back. Lines have 64 bytes; each byte has its own valid and dirty state.

#include <array>
#include <cstdint>
#include <vector>

#include <machine/amdgcn/mood.hpp>
#include <machine/amdgcn/range_map.hpp>
#include <machine/amdgcn/target.hpp>
#include <machine/core/bits.hpp>
#include <machine/core/counts.hpp>
#include <machine/core/line_table.hpp>

namespace machine::amdgcn {

constexpr uint32_t compute_units = 4;
constexpr uint32_t units_of_array = 2;
constexpr uint32_t unit_arrays = compute_units / units_of_array;
constexpr uint32_t line_bytes = 64;

/// The bytes `at` to `at + count - 1` of a line.
inline uint64_t byte_mask(uint32_t at, uint32_t count) {
  return (count >= line_bytes ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << at;
}
/// Number of contiguous byte ranges: each is one write.
inline uint32_t runs(uint64_t mask) { return count_bits(mask & ~(mask << 1)); }

/// Who issues an access.
struct Requester {
  uint32_t unit = 0;
  uint32_t sender = 0;  ///< wave, or the workgroup where its waves' accesses stay in order: a write-back follows them
};

class Caches {
 public:
  Caches(const Target& target, Random& random, Counts& counts) : target_(target), random_(random), counts_(counts) {}

  void start(const Mood& mood) {
    mood_ = mood;
    clear();
  }
  void map(const std::vector<Range>& ranges) { ranges_.assign(ranges); }
  const Range& range(uint64_t address, uint32_t bytes) { return ranges_.find(address, bytes); }

  void load(Requester from, uint64_t address, uint32_t bytes, Scope scope, void* to);
  void store(Requester from, uint64_t address, uint32_t bytes, Scope scope, const void* data);
  /// Applies `change`, which maps the old value to the new one, in the L2, or in memory for accesses that the L2 does
  /// not serve.
  template <class Change>
  uint64_t atomic(Requester from, uint64_t address, uint32_t bytes, Scope scope, Change change);
  void scalar_load(Requester from, uint64_t address, uint32_t bytes, void* to);

  /// Whether stores of this scope bypass the L2.
  bool leaves(const Range& range, Scope scope) const {
    return range.kind == MemoryKind::uncached || past_second_level(scope);
  }

  /// Writes back some or all dirty lines; data that another wave stored after `begun` may stay.
  void write_back(Requester from, Scope scope, uint64_t begun, bool all);
  void invalidate(Requester from, Scope scope, uint8_t levels);
  void invalidate_scalar(Requester from) { ++scalar_epoch_[from.unit / units_of_array]; }

  /// Spontaneous evictions and refetches.
  void tick();
  /// Writes back all dirty data.
  void end_kernel();
  void clear();

  uint64_t now = 0;

 private:
  /// Of no cache: its copies are invalid.
  static constexpr uint64_t no_epoch = ~uint64_t{0};
  struct Copy {
    uint64_t valid = 0;
    uint64_t epoch = no_epoch;
    uint8_t data[line_bytes];
    void reset() {
      valid = 0;
      epoch = no_epoch;
    }
  };
  struct DirtyCopy : Copy {
    uint64_t dirty = 0;
    uint64_t since = 0;  ///< tick at which it became dirty
    uint32_t writer = 0;
    bool listed = false;
    void reset() {
      Copy::reset();
      dirty = since = writer = 0;
      listed = false;
    }
  };
  struct Line {
    uint64_t address = 0;
    const Range* range = nullptr;  ///< of the last access
    uint8_t used_at = 0;           ///< offset of a mapped byte
    Copy unit[compute_units];
    Copy array[unit_arrays];
    Copy scalar[unit_arrays];
    DirtyCopy second[unit_arrays];
    void reset() {
      range = nullptr;
      for (Copy& copy : unit) copy.reset();
      for (Copy& copy : array) copy.reset();
      for (Copy& copy : scalar) copy.reset();
      for (DirtyCopy& copy : second) copy.reset();
    }
  };
  static constexpr uint32_t several_writers = ~0u;

  /// Part of an access within one line.
  struct Piece {
    const Range* range;
    Line* line;
    uint32_t at;
    uint32_t bytes;
    uint64_t mask() const { return byte_mask(at, bytes); }
    uint8_t* memory() const { return reinterpret_cast<uint8_t*>(line->address + at); }
  };
  template <class Each>
  void pieces(uint64_t address, uint32_t bytes, Each each);

  Line* find_line(uint64_t address) {
    const uint64_t begin = address & ~uint64_t{line_bytes - 1};
    if (last_ == nullptr || last_->address != begin) last_ = lines_.find(begin);
    return last_;
  }
  Line& line_at(uint64_t address) {
    Line* const line = find_line(address);
    return line != nullptr ? *line : add_line(address);
  }
  Line& add_line(uint64_t address);
  uint32_t second_of(uint32_t unit) const { return mood_.second_levels > 1 ? unit / units_of_array : 0; }
  DirtyCopy& second(Line& line, uint32_t unit) { return line.second[second_of(unit)]; }
  bool past_second_level(Scope scope) const {
    return scope == Scope::system || (scope == Scope::agent && mood_.second_levels > 1);
  }
  static bool hits(const Copy& copy, uint64_t epoch, uint64_t mask) {
    return copy.epoch == epoch && (copy.valid & mask) == mask;
  }
  static uint64_t within(const Range& range, const Line& line);
  void fill(const Piece& piece, Copy& copy, uint64_t epoch, Requester from, bool through_array);
  void load_second(const Piece& piece, Requester from, Scope scope, uint8_t* to);
  void note_stale(const Piece& piece, uint32_t unit, const uint8_t* got);
  void note_host_load(const Piece& piece);
  void write_line_back(Line& line, DirtyCopy& copy);
  void make_dirty(const Piece& piece, DirtyCopy& copy, Requester from, const uint8_t* data);
  void update(Copy& copy, uint64_t epoch, const Piece& piece, const uint8_t* data);
  void drop_clean(uint32_t which);

  const Target& target_;
  Random& random_;
  Counts& counts_;
  Mood mood_;
  RangeMap ranges_;
  LineTable<Line> lines_;
  std::vector<Line*> order_;
  Line* last_ = nullptr;
  Line* last_host_load_ = nullptr;
  std::array<std::vector<Line*>, unit_arrays> dirty_;
  std::array<uint64_t, compute_units> unit_epoch_{};
  std::array<uint64_t, unit_arrays> array_epoch_{};
  std::array<uint64_t, unit_arrays> scalar_epoch_{};
  std::array<uint64_t, unit_arrays> second_epoch_{};
};

template <class Change>
uint64_t Caches::atomic(Requester from, uint64_t address, uint32_t bytes, Scope scope, Change change) {
  uint64_t old = 0;
  pieces(address, bytes, [&](const Piece& piece, uint32_t) {
    if (piece.bytes != bytes) throw Fault("atomic access across lines");
    if (piece.range->kind == MemoryKind::registers) throw Fault("atomic access to a device's registers");
    if (!piece.range->writable) throw Fault("atomic access to memory that is read only: " + piece.range->name);
    // The rest of the line may stay cached.
    for (Copy* copy : {&piece.line->unit[from.unit], &piece.line->array[from.unit / units_of_array]})
      copy->valid &= ~piece.mask();
    DirtyCopy& copy = second(*piece.line, from.unit);
    if (leaves(*piece.range, scope) || mood_.second_levels > 1) {
      if (copy.dirty & piece.mask()) write_line_back(*piece.line, copy);
      copy.valid &= ~piece.mask();
      note_host_load(piece);
      const auto exchange = [&](auto* word) {
        auto seen = __atomic_load_n(word, __ATOMIC_RELAXED);
        using Word = decltype(seen);
        while (!__atomic_compare_exchange_n(word, &seen, static_cast<Word>(change(uint64_t{seen})), false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        }
        old = seen;
      };
      if (bytes == 8) {
        exchange(reinterpret_cast<uint64_t*>(piece.memory()));
      } else {
        exchange(reinterpret_cast<uint32_t*>(piece.memory()));
      }
    } else {
      load_second(piece, from, Scope::agent, reinterpret_cast<uint8_t*>(&old));
      const uint64_t value = change(old);
      make_dirty(piece, copy, from, reinterpret_cast<const uint8_t*>(&value));
    }
  });
  return old;
}

template <class Each>
void Caches::pieces(uint64_t address, uint32_t bytes, Each each) {
  Line* const known = find_line(address);
  if (known != nullptr && known->range->holds(address, bytes)) {
    const auto at = static_cast<uint32_t>(address % line_bytes);
    if (at + bytes <= line_bytes) return each(Piece{known->range, known, at, bytes}, 0);
  }
  const Range& range = ranges_.find(address, bytes);
  for (uint32_t done = 0; done < bytes;) {
    const auto at = static_cast<uint32_t>((address + done) % line_bytes);
    const uint32_t count = std::min(bytes - done, line_bytes - at);
    Line* const line = range.kind == MemoryKind::registers ? nullptr : &line_at(address + done);
    if (line != nullptr) line->range = &range;
    each(Piece{&range, line, at, count}, done);
    done += count;
  }
}

}  // namespace machine::amdgcn
