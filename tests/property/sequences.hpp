// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Random sequences of calls on one queue, against a simple account of what each must return and what lies
/// where.

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <xio/vendors/nvme/decode.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

namespace property {

using namespace protocol_tests;
using xio::nvme::Opcode;
using xio::nvme::Piece;

/// What the test drew for one queue.
struct Setting {
  uint32_t depth, cq_entries, slots, block_bytes;
  bool lists, shadow;
};

/// One operation that was accepted.
struct Operation {
  Token token;
  Opcode opcode = Opcode::read;
  uint64_t lba = 0;
  uint32_t blocks = 0;            ///< 0: names no blocks
  size_t buffer = 0;              ///< where its data lies
  bool differs = false;           ///< a compare with other data
  bool ended = false;             ///< somebody was told so
  std::vector<uint16_t> answers;  ///< status field of each part
};

/// The account of one sequence.
template <class Q>
class Sequence {
 public:
  static constexpr uint64_t capacity = 4096;
  static constexpr size_t slot_bytes = size_t{1} << 18;
  static constexpr uint32_t buffers = 24;

  Sequence(uint64_t seed, const Setting& setting)
      : random_(seed),
        setting_(setting),
        rig_(config(setting), buffers * slot_bytes),
        nvme_queue_(rig_.queue(setting.depth,
                               [&](QueueOptions& options) {
                                 options.cq_entries = setting.cq_entries;
                                 options.completion_slots = setting.slots;
                                 options.shadow_doorbells = setting.shadow;
                                 if (!setting.lists) options.list_bytes = 0;
                               })),
        queue_(nvme_queue_.handle()),
        handle_(nvme_queue_.handle()),
        medium_(capacity, 0),
        free_(buffers),
        wave_([this](uint64_t) { move_device(); }) {
    for (uint32_t i = 0; i < buffers; ++i) free_[i] = i;
    auto& faults = rig_.model.faults();
    faults.seed(seed);
    if (chance(2)) faults.reorder(static_cast<uint32_t>(below(12)));
    if (chance(2)) faults.delay_steps(Match().each(1 + below(4)), 0, 1 + below(20));
    // Bad blocks, so far apart that a part has one at most.
    const uint32_t largest = std::max({handle_.max_blocks, handle_.verify_blocks, handle_.write_zeroes_blocks});
    for (uint64_t lba = below(300); lba < capacity; lba += largest * 2 + below(700)) {
      const auto status = static_cast<uint16_t>((chance(2) ? 0x280 : 0x100) + below(0x20) + (chance(2) ? 0x4000 : 0));
      if ((status & 0x7ff) == 0) continue;
      bad_[lba] = status;
      faults.fail(Match().with_lba(lba, lba), status);
    }
  }

  void run(uint32_t steps) {
    for (uint32_t i = 0; i < steps; ++i) {
      step();
      if (chance(3)) move_device();
    }
    for (Operation& operation : live_) check_wait(operation);
    settle();
    check_errors_by_quiet();
    const auto seen = rig_.statistics(nvme_queue_);
    REQUIRE(seen.command_id_conflicts + seen.stale_fetches + seen.suspicious_tails + seen.suspicious_heads == 0);
    REQUIRE(seen.cq_full_stalls == 0);
    REQUIRE(seen.max_in_flight <= setting_.depth);
    REQUIRE(seen.completions == tickets_);
    check_medium();
  }

 private:
  static NvmeConfig config(const Setting& setting) {
    NvmeConfig c = stepped();
    c.namespaces[0].blocks = capacity;
    c.namespaces[0].block_bytes = setting.block_bytes;
    c.poison_fetched_entries = true;
    c.mdts = 4;
    c.vsl = static_cast<uint8_t>(1 + setting.depth % 4);
    c.wzsl = static_cast<uint8_t>(setting.depth % 3);  // 0: none of its own
    return c;
  }

  /// Most blocks of one part.
  uint32_t part_of(Opcode opcode) const {
    return opcode == Opcode::verify         ? handle_.verify_blocks
           : opcode == Opcode::write_zeroes ? handle_.write_zeroes_blocks
                                            : handle_.max_blocks;
  }

  uint64_t below(uint64_t n) { return random_() % n; }
  bool chance(uint32_t n) { return below(n) == 0; }

  void move_device() {
    if (chance(2)) {
      rig_.model.run(1 + below(4));
    } else {
      rig_.model.step(1 + static_cast<uint32_t>(below(5)));
    }
  }

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: return submit_one();
      case 6: return submit_batch();
      case 7: return chance(3) ? transfer() : submit_one();
      case 8:
      case 9: return with_some([&](Operation& operation) { check_wait(operation); });
      case 10: return with_some([&](Operation& operation) { check_test(operation); });
      case 11: return check_wait_any();
      case 12: return check_wait_all();
      case 13: return chance(4) ? check_fence() : check_errors();
      case 14:
        return chance(4) ? check_errors_by_quiet() : with_old([&](Operation& operation) { check_wait(operation); });
      default: chance(2) ? queue_.ring() : static_cast<void>(queue_.drain());
    }
  }

  template <class Action>
  void with_some(Action action) {
    if (!live_.empty()) action(live_[below(live_.size())]);
    retire();
  }
  template <class Action>
  void with_old(Action action) {
    if (!old_.empty()) action(old_[below(old_.size())]);
  }

  // Submission.

  /// Whether an operation in flight makes the outcome on these blocks uncertain.
  bool busy(uint64_t lba, uint32_t blocks, bool writes) const {
    for (const Operation& other : live_) {
      const bool meet = other.blocks != 0 && lba < other.lba + other.blocks && other.lba < lba + blocks;
      const bool other_writes = other.opcode == Opcode::write || other.opcode == Opcode::write_zeroes;
      if (meet && (writes || other_writes)) return true;
    }
    return false;
  }

  void submit_one() {
    if (free_.empty()) return;
    static constexpr Opcode kinds[] = {Opcode::read,    Opcode::read,         Opcode::write,  Opcode::write,
                                       Opcode::compare, Opcode::write_zeroes, Opcode::verify, Opcode::flush};
    Operation one;
    one.opcode = kinds[below(8)];
    const auto most = static_cast<uint32_t>(slot_bytes / setting_.block_bytes / 2);
    const uint32_t longest = chance(4) ? most : chance(2) ? handle_.max_blocks : 8;
    one.blocks = one.opcode == Opcode::flush ? 0 : 1 + static_cast<uint32_t>(below(std::min(longest, most)));
    one.lba = one.blocks == 0 ? 0 : below(capacity - one.blocks + (chance(8) ? 40 : 1));
    const bool writes = one.opcode == Opcode::write || one.opcode == Opcode::write_zeroes;
    const bool outside = one.blocks != 0 && one.lba + one.blocks > capacity;
    if (!outside && one.blocks != 0 && busy(one.lba, one.blocks, writes)) return;
    const uint32_t slot = free_.back();
    one.buffer = slot * slot_bytes + below(64) * 4;
    fill(one);

    const xio::nvme::Command command =
        one.blocks == 0 ? xio::nvme::flush() : xio::nvme::command(one.opcode).range(one.lba, one.blocks);
    const bool no_data =
        one.opcode == Opcode::flush || one.opcode == Opcode::write_zeroes || one.opcode == Opcode::verify;
    const bool waits = !chance(4);
    queue_.publish_payload();
    const auto go = [&](const auto& pages) {
      return waits ? queue_.submit(command, pages, soon()) : queue_.try_submit(command, pages);
    };
    one.token = no_data ? go(NoData{}) : go(ContiguousPages{rig_.bus(one.buffer)});
    const uint32_t part = part_of(one.opcode);
    const uint32_t parts = one.blocks == 0 ? 1 : (one.blocks + part - 1) / part;
    if (outside) {
      REQUIRE(one.token.status == Status::out_of_range);
      REQUIRE_FALSE(one.token.submitted());
      return;
    }
    if (!one.token.submitted()) {
      REQUIRE_FALSE(waits);
      REQUIRE((one.token.status == Status::would_block ||
               (parts > handle_.depth && one.token.status == Status::invalid_argument)));
      return;
    }
    // A row of parts that is too long for the table was waited for in pieces; its first error is in the token.
    tickets_ += parts;
    REQUIRE(one.token.last == tickets_ - 1);
    answer(one, parts);
    for (uint32_t i = parts - one.token.count; i < parts; ++i) expect_error(tickets_ - parts + i, one.answers[i]);
    if (one.token.count < parts) one.answers.erase(one.answers.begin(), one.answers.end() - one.token.count);
    free_.pop_back();
    live_.push_back(one);
  }

  void submit_batch() {
    if (free_.empty()) return;
    const uint32_t count = 1 + static_cast<uint32_t>(below(handle_.depth));
    const uint32_t slot = free_.back();
    const auto blocks = static_cast<uint32_t>(1 + below(std::min(2u, handle_.max_blocks)));
    const uint64_t lba = below(capacity - uint64_t{count} * blocks);
    Operation one;
    one.opcode = chance(2) ? Opcode::read : Opcode::write;
    one.lba = lba;
    one.blocks = count * blocks;
    if (one.blocks * size_t{setting_.block_bytes} > slot_bytes - 256) return;
    if (busy(lba, one.blocks, one.opcode == Opcode::write)) return;
    one.buffer = slot * slot_bytes;
    fill(one);
    std::vector<Piece> pieces;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t at = i * blocks;
      pieces.push_back({lba + at, rig_.bus(one.buffer + size_t{at} * setting_.block_bytes), blocks});
    }
    queue_.publish_payload();
    one.token = queue_.submit_batch(one.opcode, pieces.data(), count, soon());
    REQUIRE(one.token.count == count);
    tickets_ += count;
    REQUIRE(one.token.last == tickets_ - 1);
    for (uint32_t i = 0; i < count; ++i) {
      one.answers.push_back(status_of(one.opcode, lba + uint64_t{i} * blocks, blocks, false));
      expect_error(tickets_ - count + i, one.answers.back());
      if (one.answers.back() == 0) apply(one, lba + uint64_t{i} * blocks, blocks);
    }
    free_.pop_back();
    live_.push_back(one);
  }

  void transfer() {
    if constexpr (Q::policy::notifications) {
      const uint32_t count = 1 + static_cast<uint32_t>(below(60));
      if (free_.empty()) return;
      const uint64_t lba = below(capacity - count);
      if (busy(lba, count, false) || count * size_t{setting_.block_bytes} > slot_bytes) return;
      const size_t buffer = free_.back() * slot_bytes;
      std::memset(rig_.bytes(buffer), 0, count * size_t{setting_.block_bytes});
      std::vector<Piece> pieces;
      uint32_t failed = 0;
      for (uint32_t i = 0; i < count; ++i) {
        pieces.push_back({lba + i, rig_.bus(buffer + i * size_t{setting_.block_bytes}), 1});
        failed += status_of(Opcode::read, lba + i, 1, false) != 0;
      }
      tickets_ += count;
      Notification progress{};
      const Status status = queue_.transfer(Opcode::read, pieces.data(), count, soon(), progress);
      REQUIRE(progress.done == count);
      REQUIRE(progress.failed == failed);
      // Its errors are told to it, and no others.
      bool own = failed == 0 && status.is_ok();
      for (uint32_t i = 0; i < count && !own; ++i) {
        const uint16_t error = status_of(Opcode::read, lba + i, 1, false);
        own = error != 0 && error == status.vendor;
      }
      REQUIRE(own);
      for (uint32_t i = 0; i < count; ++i) {
        if (status_of(Opcode::read, lba + i, 1, false) == 0)
          check_data(buffer + i * size_t{setting_.block_bytes}, lba + i, 1);
      }
    }
  }

  // What must come of it.

  uint16_t status_of(Opcode opcode, uint64_t lba, uint32_t blocks, bool differs) const {
    const auto found = bad_.lower_bound(lba);
    if (found != bad_.end() && found->first < lba + blocks) return found->second;
    return opcode == Opcode::compare && differs ? 0x285 : 0;
  }

  /// Statuses of the parts of a command, and the errors that stay until somebody waits.
  void answer(Operation& one, uint32_t parts) {
    const uint32_t most = part_of(one.opcode);
    for (uint32_t i = 0; i < parts; ++i) {
      const uint64_t lba = one.lba + uint64_t{i} * most;
      const uint32_t blocks = one.blocks == 0 ? 0 : std::min(most, one.blocks - i * most);
      // A compare is made to differ in its first block.
      one.answers.push_back(one.blocks == 0 ? uint16_t{0} : status_of(one.opcode, lba, blocks, one.differs && i == 0));
      if (one.answers.back() == 0) apply(one, lba, blocks);
    }
  }
  /// A part succeeds: what it leaves on the medium.
  void apply(const Operation& one, uint64_t lba, uint32_t blocks) {
    for (uint32_t i = 0; i < blocks; ++i) {
      if (one.opcode == Opcode::write) medium_[lba + i] = version_;
      if (one.opcode == Opcode::write_zeroes) medium_[lba + i] = 0;
    }
  }
  void expect_error(uint64_t ticket, uint16_t status) {
    if ((status & 0x7ff) != 0) unseen_[ticket] = status;
  }

  /// Data of a write, or what a read must change.
  void fill(Operation& one) {
    const uint32_t blocks = one.blocks;
    const size_t bytes = size_t{blocks} * setting_.block_bytes;
    if (one.opcode == Opcode::write) {
      ++version_;
      // Outside of the medium there is no content to be kept.
      stamp(rig_.bytes(one.buffer), one.lba, blocks, version_, setting_.block_bytes);
    } else if (one.opcode == Opcode::compare && one.lba + blocks <= capacity) {
      for (uint32_t i = 0; i < blocks; ++i)
        content(rig_.bytes(one.buffer + i * size_t{setting_.block_bytes}), one.lba + i);
      one.differs = chance(2);
      if (one.differs) rig_.bytes(one.buffer)[0] ^= 1;
    } else {
      std::memset(rig_.bytes(one.buffer), 0x5a, bytes);
    }
  }
  void content(unsigned char* to, uint64_t lba) const {
    if (medium_[lba] == 0) {
      std::memset(to, 0, setting_.block_bytes);
    } else {
      stamp(to, lba, 1, medium_[lba], setting_.block_bytes);
    }
  }
  void check_data(size_t buffer, uint64_t lba, uint32_t blocks) {
    std::vector<unsigned char> expected(setting_.block_bytes);
    for (uint32_t i = 0; i < blocks; ++i) {
      content(expected.data(), lba + i);
      if (std::memcmp(expected.data(), rig_.bytes(buffer + i * size_t{setting_.block_bytes}), expected.size()) != 0)
        FAIL("block " << lba + i << " is not what was written");
    }
  }
  void check_medium() {
    std::vector<unsigned char> expected(setting_.block_bytes);
    std::vector<unsigned char> found(setting_.block_bytes);
    for (uint64_t lba = 0; lba < capacity; ++lba) {
      content(expected.data(), lba);
      rig_.model.read_blocks(1, lba, 1, found.data());
      if (expected != found) FAIL("block " << lba << " of the medium is not what was written");
    }
  }

  // Waiting.

  static uint16_t first_error(const Operation& one) {
    for (const uint16_t answer : one.answers) {
      if ((answer & 0x7ff) != 0) return answer;
    }
    return 0;
  }
  void check_answer(Operation& one, Status status) {
    const uint16_t expected = first_error(one);
    if (one.token.status.is_ok()) {
      CAPTURE(expected, status.vendor, status.code);
      REQUIRE(status == xio::nvme::to_status(expected));
    } else {
      REQUIRE(status == one.token.status);
    }
    for (uint32_t i = 0; i < one.token.count; ++i) unseen_.erase(one.token.last - i);
    if (one.ended) return;
    one.ended = true;
    if (one.opcode == Opcode::read && status.is_ok()) check_data(one.buffer, one.lba, one.blocks);
  }
  void check_wait(Operation& one) { check_answer(one, queue_.wait(one.token, soon())); }
  void check_test(Operation& one) {
    const Status status = queue_.test(one.token);
    if (status == Status::pending) {
      REQUIRE_FALSE(one.ended);
      return;
    }
    check_answer(one, status);
  }
  void check_wait_any() {
    Token tokens[4];
    Operation* from[4];
    uint32_t count = 0;
    for (Operation& one : live_) {
      if (count < 4 && chance(2)) {
        from[count] = &one;
        tokens[count++] = one.token;
      }
    }
    uint32_t which = 99;
    const Status status = queue_.wait_any(tokens, count, soon(), which);
    if (count == 0) {
      REQUIRE(status == Status::invalid_argument);
    } else {
      REQUIRE(which < count);
      check_answer(*from[which], status);
    }
    retire();
  }
  void check_wait_all() {
    Token tokens[3];
    std::vector<Operation*> from;
    Status expected;
    for (Operation& one : live_) {
      if (from.size() < 3 && chance(2)) {
        tokens[from.size()] = one.token;
        from.push_back(&one);
        if (expected.is_ok())
          expected = one.token.status.is_ok() ? xio::nvme::to_status(first_error(one)) : one.token.status;
      }
    }
    REQUIRE(queue_.wait_all(tokens, static_cast<uint32_t>(from.size()), soon()) == expected);
    for (Operation* one : from)
      check_answer(*one, one->token.status.is_ok() ? xio::nvme::to_status(first_error(*one)) : one->token.status);
    retire();
  }
  /// Operations that somebody was told of move to the old ones; their buffers are free.
  void retire() {
    for (size_t i = 0; i < live_.size();) {
      if (!live_[i].ended) {
        ++i;
        continue;
      }
      free_.push_back(static_cast<uint32_t>(live_[i].buffer / slot_bytes));
      old_.push_back(live_[i]);
      if (old_.size() > 50) old_.erase(old_.begin());
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  void settle() {
    REQUIRE(queue_.fence(soon()).is_ok());
    for (Operation& one : live_) {
      REQUIRE(queue_.ended(one.token));
      const bool sound = one.token.status.is_ok() && first_error(one) == 0;
      if (one.opcode == Opcode::read && sound && !one.ended) check_data(one.buffer, one.lba, one.blocks);
    }
  }
  void check_fence() { settle(); }

  void check_errors() {
    REQUIRE(queue_.fence(soon()).is_ok());
    const auto summary = queue_.errors();
    CAPTURE(summary.count, unseen_.size());
    REQUIRE(summary.count == unseen_.size());
    if (summary.count == 0) return;
    REQUIRE(summary.first_ticket == unseen_.begin()->first);
    REQUIRE(summary.first.vendor == unseen_.begin()->second);
  }
  void check_errors_by_quiet() {
    check_errors();
    const uint32_t count = queue_.errors().count;
    const Status status = queue_.quiet(soon());
    REQUIRE(status.is_ok() == (count == 0));
    unseen_.clear();
    REQUIRE(queue_.errors().count == 0);
    REQUIRE(queue_.quiet(soon()).is_ok());
  }

  std::mt19937_64 random_;
  const Setting setting_;
  Rig rig_;
  NvmeQueue nvme_queue_;
  Q queue_;
  const QueueHandle handle_;
  std::map<uint64_t, uint16_t> bad_;     // LBA to status
  std::vector<uint64_t> medium_;         // version of each block; 0: zeroes
  std::map<uint64_t, uint16_t> unseen_;  // ticket to status: errors that nobody was told of
  std::vector<uint32_t> free_;
  std::vector<Operation> live_;
  std::vector<Operation> old_;
  uint64_t tickets_ = 0;
  uint64_t version_ = 0;
  PausingWave wave_;
};

/// A queue that tells its policy.
template <Sharing S, class Policy, class Doorbell = xio::MmioDoorbell>
struct Subject : Queue<S, xio::Policy<Policy, xio::RingBy<Doorbell>>> {
  using policy = Policy;
  using Queue<S, xio::Policy<Policy, xio::RingBy<Doorbell>>>::Queue;
};

inline Setting draw_setting(uint64_t seed, bool shadow) {
  std::mt19937_64 random(seed * 77 + 5);
  Setting setting{};
  setting.depth = 1 + static_cast<uint32_t>(random() % (random() % 2 == 0 ? 4 : 40));
  uint32_t least = 2;
  while (least < setting.depth + 1) least *= 2;
  setting.cq_entries = least << random() % 3;
  uint32_t slots = 2;
  while (slots < 2 * setting.depth) slots *= 2;
  setting.slots = random() % 2 == 0 ? slots : 1024;
  setting.block_bytes = random() % 3 == 0 ? 4096 : 512;
  setting.lists = random() % 3 != 0;
  setting.shadow = shadow;
  return setting;
}

/// XIO_PROPERTY_SEEDS in the environment: how many sequences of each kind; XIO_PROPERTY_FIRST: the first of them.
template <Sharing S, class Policy, class Doorbell = xio::MmioDoorbell>
void run_sequences(uint32_t usual) {
  const char* const wanted = std::getenv("XIO_PROPERTY_SEEDS");
  const char* const begin = std::getenv("XIO_PROPERTY_FIRST");
  const uint64_t first = begin != nullptr ? std::strtoull(begin, nullptr, 10) : 1;
  const uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : usual;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Setting setting = draw_setting(seed, std::is_same_v<Doorbell, xio::ShadowDoorbell>);
    CAPTURE(seed, setting.depth, setting.cq_entries, setting.slots, setting.block_bytes, setting.lists);
    Sequence<Subject<S, Policy, Doorbell>>(seed, setting).run(300);
  }
}

}  // namespace property
