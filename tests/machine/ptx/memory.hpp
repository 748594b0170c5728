// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Executable model of memory under the PTX memory model.
///
/// Each stored 8-byte word keeps its stores ("messages") in coherence order. A load returns the value of any message
/// that is not older than its thread's knowledge; a store takes any position after it. Knowledge follows base causality
/// order: vector clocks that releases attach to messages and acquires read from them, if the two are morally strong, at
/// their common scope; barriers; and fence.sc, which have one order per block and one for the GPU. A morally strong
/// read marks the message that it read: threads causally after the read see no older message (causality order through
/// observation).
///
/// Devices and the CPU see this process's memory. A message arrives there at any time, after earlier messages of the
/// same bytes and after everything known to its release (of system scope). A device is a thread that acquires what it
/// reads and releases what it writes, at system scope, with a fence.sc between any two of its turns. Its writes are
/// found by comparing the lines that the GPU uses with their previous contents.
///
/// More than PTX promises, since the L2 is the one place of the GPU's memory (docs/internals/memory-model.md, Releases
/// in GPU memory): a device that sees a store of system scope also sees, in that memory alone, what a release
/// of gpu scope ordered before it; and threads that acquire what the device writes then know of that, too.
///
/// Stricter than the model: a load takes effect when it is executed (no load buffering), an RMW of system scope sees
/// the newest value, partially overlapping accesses are ordered byte by byte, a device's writes of one turn become
/// known together, each store arrives even if a later one follows immediately, .const and kernel parameters do not
/// change. Weaker than hardware: weak loads may return to an older value, atomics of narrow scope lose each other's
/// updates if their scopes do not overlap.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <machine/core/address_space.hpp>
#include <machine/core/counts.hpp>
#include <machine/core/line_table.hpp>
#include <machine/core/random.hpp>
#include <machine/ptx/clock.hpp>
#include <machine/ptx/pool.hpp>
#include <machine/ptx/program.hpp>

namespace machine::ptx {

/// How adversarial a run is.
struct MemoryMood {
  uint32_t stale = 3;        ///< one in n loads may return an older value
  uint32_t drain = 8;        ///< a store arrives at one in n accesses
  uint32_t overtake = 3;     ///< one in n stores may precede other stores of its bytes
  uint64_t patience = 3000;  ///< accesses until a store must have arrived and older values are no longer read
};

/// Knowledge of a thread.
struct Reader {
  uint32_t author = 0;  ///< from 1; 0 is the device
  uint32_t block = 0;
  uint32_t epoch = 1;
  Clock known;
  ClockPointer read[3];      ///< from relaxed reads, effective after a fence of that scope
  bool news[3] = {};         ///< not all of it is known yet
  ClockPointer taken[3];     ///< last acquired at that scope, and already known
  ClockPointer released[3];  ///< by the last fence of that scope or a wider one
};

class Memory {
 public:
  Memory(AddressSpace& ranges, Counts& counts) : ranges_(ranges), counts_(counts) {}

  /// Prepares a launch. `calm`: sequential consistency, no messages.
  void begin(uint32_t threads, uint32_t blocks, uint64_t seed, bool calm, const MemoryMood& mood);
  /// Sets a thread's knowledge to that at the beginning of a launch.
  void reset(Reader& reader, uint32_t thread, uint32_t block) const;
  /// Ends a launch: all stores arrive.
  void end();

  uint64_t load(Reader& reader, uint64_t address, uint32_t bytes, Order order, Scope scope, bool non_coherent);
  void store(Reader& reader, uint64_t address, uint32_t bytes, uint64_t value, Order order, Scope scope);
  /// `change(old, fresh)` returns whether `fresh` is stored.
  using Change = std::function<bool(uint64_t old, uint64_t& fresh)>;
  uint64_t atomic(Reader& reader, uint64_t address, uint32_t bytes, Order order, Scope scope, const Change& change);
  void fence(Reader& reader, bool acquires, bool releases, bool sequential, Scope scope);
  /// Synchronises the knowledge of all readers at a barrier.
  void meet(const std::vector<Reader*>& readers);

  /// Finds writes by devices, which may have run.
  void devices_moved();

  /// Adds memory of the machine itself: shared memory, variables. No device writes it.
  void add_own(const void* memory, size_t bytes, bool writable);
  void clear_own() { own_.clear(); }

  /// Called when a store to registers arrives.
  std::function<void(uint64_t address, uint64_t value, uint32_t bytes)> write_register;
  /// Makes one more store arrive. Returns false if there is none.
  bool arrive_one();

 private:
  /// Contents of a release, by the scope that reader and releasing thread share.
  struct Release : Pooled<Release> {
    std::vector<std::pair<uint32_t, ClockPointer>> block;  ///< for threads of the same block
    ClockPointer gpu;
    ClockPointer system;
    ClockPointer device;  ///< released by a device
    void clear() {
      block.clear();
      gpu = system = device = nullptr;
    }
  };
  using ReleasePointer = Owner<Release>;
  struct Line;
  struct Observer {
    uint32_t author;
    uint32_t epoch;
  };
  /// The RMW that read a value: no other morally strong RMW may read it.
  struct Claim {
    uint64_t mask = 0;
    uint32_t author = 0;
    uint32_t block = 0;
    Scope scope = Scope::sys;
  };
  struct Facts {
    Line* line = nullptr;
    uint64_t address = 0;
    uint64_t value = 0;  ///< at its position in the 8 bytes, as `mask`
    uint64_t mask = 0;
    uint64_t born = 0;
    uint32_t author = 0;
    uint32_t epoch = 0;
    uint32_t block = 0;
    uint32_t place = 0;  ///< in pending_
    uint8_t bytes = 0;
    Scope scope = Scope::sys;
    bool strong = false;
    bool rmw = false;
    bool own_release = false;
    bool arrived = false;
    bool arriving = false;
    MemoryKind kind = MemoryKind::host;
  };
  struct Message : Facts, Pooled<Message> {
    std::vector<Claim> claims;
    ReleasePointer release;
    std::vector<Observer> observers;
    uint64_t observed[4] = {};  ///< one bit for each author among them, modulo 256
    void add_observer(const Observer& one) {
      observers.push_back(one);
      observed[one.author / 64 % 4] |= uint64_t{1} << one.author % 64;
    }
    bool is_observed_by(uint32_t who, uint32_t authors) const {
      if ((observed[who / 64 % 4] >> who % 64 & 1) == 0) return false;
      if (authors <= 256) return true;
      for (const Observer& one : observers)
        if (one.author == who) return true;
      return false;
    }
    void clear() {
      static_cast<Facts&>(*this) = {};
      claims.clear();
      release = nullptr;
      if (observers.empty()) return;
      observers.clear();
      for (uint64_t& bits : observed) bits = 0;
    }
  };
  using MessagePointer = Owner<Message>;
  /// 8 bytes.
  struct Granule {
    uint64_t before = 0;        ///< value before the first message
    uint64_t forgotten = 0;     ///< bytes whose older messages were dropped
    std::vector<Claim> claims;  ///< of the value before the first message
    std::vector<MessagePointer> messages;
    void reset() {
      before = forgotten = 0;
      claims.clear();
      messages.clear();
    }
  };
  struct LineFacts {
    uint64_t address = 0;
    uint64_t begin = 0;  ///< of the bytes whose range is known; the range of others is looked up
    uint64_t end = 0;
    alignas(16) uint64_t seen[8] = {};  ///< memory contents at the last comparison, two words at a time
    uint64_t touched = 0;               ///< time of the GPU's last use
    uint32_t looked_turn = 0;           ///< the device's turn of that comparison
    bool active = false;                ///< compared after each turn of a device
    bool own = false;
    bool writable = true;
    uint8_t used = 0;  ///< its granules
    MemoryKind kind = MemoryKind::host;
  };
  struct Line : LineFacts {
    ClockPointer first;  ///< knowledge from a device's values older than any message
    /// Null if nothing was stored there.
    Granule* granule(uint32_t index) const { return used >> index & 1 ? granules[index].get() : nullptr; }
    std::unique_ptr<Granule> granules[8];
    void reset() {
      for (uint32_t i = 0; i < 8; ++i)
        if (used >> i & 1) granules[i]->reset();
      static_cast<LineFacts&>(*this) = {};
      first = nullptr;
    }
  };
  struct KnownMessage {
    uint32_t epoch;
    MessagePointer message;
  };
  /// Messages that an author stored or read and that have not arrived, in the order of its epochs.
  struct Known {
    uint32_t next = ~0u;  ///< the first one's epoch
    size_t begin = 0;
    std::vector<KnownMessage> messages;
    void push(uint32_t epoch, const MessagePointer& message);
    MessagePointer pop();
    void clear();
  };

  Line& line_of(uint64_t address, uint32_t bytes);
  Line& make_line(uint64_t address, uint32_t bytes);
  void check(Line& line, uint64_t address, uint32_t bytes, bool stores) const;
  static bool differs(const Line& line);
  void look_at(Line& line, uint32_t turn);
  /// Records what devices have written to lines that the GPU uses, as of the current turn.
  void find_writes();
  ClockPointer device_release();
  void touch(Line& line, uint64_t address);
  void advance();
  Granule& granule(Line& line, uint64_t address);

  bool knows(const Reader& reader, const Message& message) const;
  static Scope distance(uint32_t block, uint32_t author, uint32_t other_block, uint32_t other_author);
  static bool strong(const Reader& reader, Order order, Scope scope, uint64_t address, uint32_t bytes,
                     const Message& message);
  bool observe(Reader& reader, const MessagePointer& message);
  void take(Reader& reader, const Message& message, bool first, bool now, Scope scope);
  void take_first(Reader& reader, const Line& line, Order order, Scope scope);
  /// Joins `more` into `so_far`. A clock with other owners is copied first.
  void join(ClockPointer& so_far, const ClockPointer& more);
  ClockPointer snapshot(Reader& reader);
  ReleasePointer release_of(Reader& reader, Order order, Scope scope, const Granule& granule, uint64_t mask,
                            const Message* read, bool* own);
  void merge(ReleasePointer& so_far, const ReleasePointer& more);
  size_t choose(Reader& reader, const Granule& granule, uint64_t mask, bool non_coherent);
  static uint64_t value_at(const Granule& granule, uint64_t mask, size_t index);
  static bool may_follow(const Reader& reader, Scope scope, const Granule& granule, uint64_t mask, size_t at,
                         size_t newest, size_t arrived);
  MessagePointer new_message(const Reader& reader, Line& line, uint64_t address, uint32_t bytes, uint64_t value);
  void insert(Reader& reader, Granule& granule, const MessagePointer& message);
  void begin_pending(Reader& reader, const MessagePointer& message);
  void forget_old(Granule& granule);

  void arrive(const MessagePointer& message);
  void arrive_known(const Clock& clock);
  /// arrive_known() of messages in the GPU's own memory.
  void arrive_local(const Clock& clock);
  void perform(Message& message);
  void count_write(const Message& message);

  AddressSpace& ranges_;
  Counts& counts_;
  Pool<Clock> clocks_;  // declared before the members that own clocks
  Pool<Release> releases_;
  Pool<Message> messages_;
  std::vector<Range> own_;
  Random random_{1};
  MemoryMood mood_;
  bool calm_ = true;
  uint64_t now_ = 0;
  uint32_t authors_ = 1;
  uint32_t turn_ = 0;
  Clock device_;
  ClockPointer device_release_;
  std::vector<ClockPointer> sequential_block_;
  ClockPointer sequential_gpu_;
  Clock meeting_;
  LineTable<Line> lines_;
  std::vector<Line*> active_;
  std::vector<MessagePointer> pending_;
  std::deque<MessagePointer> oldest_;
  std::vector<Known> by_author_;
  uint64_t last_write_end_ = 0;
};

}  // namespace machine::ptx
