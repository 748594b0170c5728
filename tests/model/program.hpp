// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Programs for the explorer: a few actors, and the memory that they share.

#include <cstddef>
#include <cstdint>
#include <string>

namespace model {

/// Where an actor is among the waves of a kernel.
struct WavePlace {
  uint32_t lanes = 1;
  uint32_t block = 0;
  uint32_t first_thread = 0;  ///< of its block
  uint32_t block_threads = 1;
  uint32_t blocks = 1;
};

/// One small program. Its object does not change during an execution, but for what memory() returns.
class Program {
 public:
  virtual ~Program() = default;
  virtual uint32_t actors() const = 0;
  /// The wave that an actor is.
  virtual WavePlace place(uint32_t actor) const {
    WavePlace alone;
    alone.block = actor;
    return alone;
  }
  /// The body of an actor, for each of its lanes. At its steps, what lies on its stack may be copied byte by byte: no
  /// object there may own memory.
  virtual void run(uint32_t actor) = 0;
  /// Everything that actors share, also what only checks look at; a multiple of 8 bytes.
  virtual void* memory() = 0;
  virtual size_t memory_bytes() const = 0;
  /// Looks at the end of an execution; returns what is wrong, or an empty text.
  virtual std::string judge() = 0;
  /// Whether stores may be performed later.
  virtual bool weak() const { return false; }
  /// Whether its actors do not say what they know (Execution::mark()): of a loop that reads the clock or pauses, two
  /// rounds that read the same are taken for one that waits. A program may not count such rounds.
  virtual bool unmarked() const { return false; }
  /// Whether this actor does the same as the one before it, and what they do it with differs in names only: then it is
  /// enough to see that one change memory first.
  virtual bool like_previous(uint32_t /*actor*/) const { return false; }
  /// The actor that may be stopped; none if there is none.
  virtual uint32_t victim() const { return ~0u; }
  /// A word of memory() that is added to the time, so that an actor can let time pass; null: only that of a stop
  /// passes.
  virtual const uint64_t* clock() { return nullptr; }
  /// Looks when all others have ended, or wait for what the stopped one must do.
  virtual std::string judge_stopped() { return {}; }
};

/// For programs: a time that all deadlines but the last lie before, once it has come.
constexpr uint64_t early = 1000, late = 1000000000000;

struct Limits {
  uint64_t states = ~uint64_t{0};  ///< stop after so many; the result says that it is not complete
  uint64_t random = 0;             ///< then so many executions with random choices
};

struct Result {
  std::string failure;    ///< empty: none
  std::string trace;      ///< the actors in the order in which they ran, where there was a failure
  uint64_t steps = 0;     ///< of the search: from a state to one that follows
  uint64_t ends = 0;      ///< states that nothing follows
  uint64_t states = 0;    ///< different states met
  bool complete = false;  ///< all schedules were tried
};

}  // namespace model
