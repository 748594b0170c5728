// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Main loop of the in-process NVMe controller: registers, doorbells, fetch, completion. Not thread-safe.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/admin.hpp>
#include <xio/host/emulation/nvme/command_store.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/doorbell_watch.hpp>
#include <xio/host/emulation/nvme/fault_plan.hpp>
#include <xio/host/emulation/nvme/io.hpp>
#include <xio/host/emulation/nvme/life_cycle.hpp>
#include <xio/host/emulation/nvme/registers.hpp>
#include <xio/host/emulation/nvme/rules.hpp>
#include <xio/host/emulation/nvme/violations.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// The controller without its registers, thread and memory, which NvmeController owns. @ingroup emulation_nvme
class Engine final : private CommandControl {
 public:
  Engine(const NvmeConfig& config, AddressSpace& space, FaultPlan& plan, detail::NvmeCounters& counters,
         NvmeViolations& violations, Registers& registers, uint32_t* doorbells)
      : core_(config, space, counters, violations, doorbells),
        io_(core_),
        admin_(core_, *this),
        watch_(core_, admin_.events(), plan, orders_),
        life_(core_, admin_, watch_, store_, registers),
        plan_(plan),
        registers_(registers) {}

  /// Runs one pass: registers, admin queue, then at most `limit` commands of each I/O queue, and due delays.
  /// Returns the amount of work done; 0: idle.
  size_t pass(uint32_t limit, bool admin_only) {
    const bool reset = registers_.take_disable();
    plan_.refresh(orders_);
    if (orders_.removed) return 0;
    if (orders_.seeds != seeds_) random_.seed(orders_.seed);
    seeds_ = orders_.seeds;
    const InUse in_use{core_.bus};
    if (core_.bus.begin()) forget_addresses();
    size_t work = life_.serve(orders_, reset);
    if (running()) work += serve_admin();
    if (running() && !admin_only) {
      ++passes_;
      work += serve_io(limit);
    }
    return work + watch_.take_changes();
  }

  /// Returns whether work is pending that no doorbell announces, so that the thread must not sleep.
  bool waits() const {
    return life_.starting() || !store_.by_time.empty() || !store_.by_step.empty() || !store_.window.empty();
  }

  ControllerCore& core() { return core_; }
  AdminCommands& admin() { return admin_; }
  /// Records a register write that hit no doorbell.
  void stray_doorbell() { watch_.stray(); }

 private:
  struct InUse {
    BusReader& bus;
    ~InUse() { bus.end(); }
  };

  bool running() const { return life_.ready() && !watch_.failed(); }

  void forget_addresses() {
    for (uint32_t qid = 0; qid <= core_.config.queues; ++qid) {
      if (core_.sqs[qid].exists) core_.sqs[qid].memory.forget();
      if (core_.cqs[qid].exists) core_.cqs[qid].memory.forget();
    }
  }

  // Queues.

  size_t serve_admin() {
    if (std::exchange(obeyed_, orders_.version) != orders_.version) take_orders();
    SubmissionQueue& sq = core_.sqs[0];
    watch_.look_at_head(core_.cqs[0]);
    watch_.look_at_tail(sq);
    size_t work = fetch(sq, ~0u);
    uint16_t cid = 0;
    uint32_t event = 0;
    while (running() && room(core_.cqs[0]) && admin_.events().take(cid, event)) {
      nvme::Sqe request{};
      request.cdw0 = uint32_t{cid} << 16 | spec::admin_async_event_request;
      post(sq, core_.cqs[0], request, spec::success, event, true);
      core_.counters.async_events.add();
      ++work;
    }
    return work + retry(core_.cqs[0]);
  }

  size_t serve_io(uint32_t limit) {
    if (listed_ != core_.queue_changes) list_queues();
    for (const uint16_t qid : active_cqs_) watch_.look_at_head(core_.cqs[qid]);
    size_t work = 0;
    for (size_t i = 0; i < active_sqs_.size() && running(); ++i) {
      SubmissionQueue& sq = core_.sqs[active_sqs_[(i + passes_) % active_sqs_.size()]];
      watch_.look_at_tail(sq);
      work += fetch(sq, limit);
    }
    if (passes_ % 64 == 0 || core_.config.execution == NvmeExecution::stepped) watch_.look_for_strays();
    if (!running()) return work;
    const bool quiet = work == 0;
    work += advance_delays();
    if (quiet && !store_.window.empty()) {
      draw();
      ++work;
    }
    for (const uint16_t qid : active_cqs_) work += retry(core_.cqs[qid]);
    return work;
  }

  void list_queues() {
    listed_ = core_.queue_changes;
    active_sqs_.clear();
    active_cqs_.clear();
    for (uint32_t qid = 1; qid <= core_.config.queues; ++qid) {
      if (core_.sqs[qid].exists) active_sqs_.push_back(static_cast<uint16_t>(qid));
      if (core_.cqs[qid].exists) active_cqs_.push_back(static_cast<uint16_t>(qid));
    }
  }

  size_t fetch(SubmissionQueue& sq, uint32_t limit) {
    CompletionQueue& cq = core_.cqs[sq.cq];
    detail::QueueCounters& counters = core_.counters.queue(sq.id);
    size_t work = 0;
    while (work < limit && sq.head != sq.tail && running() && room(cq)) {
      unsigned char* const entry = sq.memory.entry(sq.head, core_.bus);
      if (!entry) {
        core_.violations.add(NvmeViolation::memory, sq.id, "an SQ entry is not mapped");
        watch_.fail();
        break;
      }
      nvme::Sqe sqe;
      std::memcpy(&sqe, entry, sizeof sqe);
      if (core_.config.poison_fetched_entries) {
        if (sqe.cdw0 == 0xffffffffu && sqe.prp1 == ~uint64_t{0}) {
          counters.stale_fetches.add();
          core_.violations.add(NvmeViolation::entry, sq.id, "a doorbell covers an entry that was not stored");
        }
        std::memset(entry, 0xff, sizeof sqe);
      }
      sq.head = sq.head + 1 == sq.size ? 0 : sq.head + 1;
      ++work;
      counters.commands.add();
      counters.by_opcode[static_cast<uint8_t>(sqe.cdw0)].add();
      counters.in_flight_histogram[std::min<uint64_t>(sq.in_flight, histogram_limit)].add();
      if (sq.id != 0) core_.counters.busy_queues_histogram[core_.counters.busy_queues.get()].add();
      begin(sq, cq, sqe);
    }
    return work;
  }

  void begin(SubmissionQueue& sq, CompletionQueue& cq, const nvme::Sqe& sqe) {
    judge_entry(sq.id, sqe);
    if (core_.config.check_command_ids && !sq.claim(static_cast<uint16_t>(sqe.cdw0 >> 16))) {
      core_.violations.add(NvmeViolation::identifier, sq.id, "a command identifier that is in use");
      core_.counters.queue(sq.id).command_id_conflicts.add();
      post(sq, cq, sqe, spec::command_id_conflict, 0, false);
      return;
    }
    if (orders_.rules.empty() && (orders_.window < 2 || sq.id == 0)) {
      uint32_t result = 0;
      bool kept = false;
      core_.data.set_queue(sq.id);
      const uint16_t status = sq.id == 0 ? admin_.execute(sqe, result, kept) : io_.execute(sqe, DataFault{}, result);
      if (!kept) post(sq, cq, sqe, status, result, true);
      return;
    }
    const uint32_t index = store_.take();
    Command& command = store_[index];
    command.sqe = sqe;
    command.sqid = sq.id;
    judge(orders_, random_, command);
    if (command.fatal) return watch_.fail();
    route(index);
  }

  /// Records a violation if the entry is malformed.
  void judge_entry(uint16_t qid, const nvme::Sqe& sqe) {
    if ((sqe.cdw0 >> 16) == 0xffff) core_.violations.add(NvmeViolation::identifier, qid, "FFFFh as command identifier");
    const char* const wrong = qid == 0 ? admin_rules_.check(sqe, AdminCommands::moves_data(sqe)) : io_.wrong(sqe);
    if (wrong == nullptr) return;
    core_.violations.add(NvmeViolation::reserved, qid, "opcode " + std::to_string(sqe.cdw0 & 0xff) + ": " + wrong);
  }

  // Path of a command from fetch to completion.

  void route(uint32_t index) {
    Command& command = store_[index];
    if (command.holder) {
      store_.held.push_back(index);
    } else if (command.delay_steps != 0) {
      store_.by_step.push(passes_ + command.delay_steps, index);
      command.delay_steps = 0;
    } else if (command.delay_ns != 0) {
      store_.by_time.push(monotonic_ns() + command.delay_ns, index);
      command.delay_ns = 0;
    } else if (orders_.window >= 2 && command.sqid != 0) {
      store_.window.push_back(index);
      while (store_.window.size() >= orders_.window) draw();
    } else {
      conclude(index);
    }
  }

  void conclude(uint32_t index) {
    Command& command = store_[index];
    bool kept = false;
    if (!command.decided) {
      core_.data.set_queue(command.sqid);
      command.status = command.sqid == 0 ? admin_.execute(command.sqe, command.result, kept)
                                         : io_.execute(command.sqe, command.data, command.result);
      command.decided = true;
    }
    if (kept) {
      store_.give_back(index);
    } else if (command.dropper) {
      store_.dropped.push_back(index);
    } else {
      deliver(index);
    }
  }

  void deliver(uint32_t index) {
    CompletionQueue& cq = core_.cqs[core_.sqs[store_[index].sqid].cq];
    if (room(cq)) {
      post_stored(cq, index);
    } else {
      cq.ready.push_back(index);
    }
  }

  void post_stored(CompletionQueue& cq, uint32_t index) {
    const Command& command = store_[index];
    SubmissionQueue& sq = core_.sqs[command.sqid];
    post(sq, cq, command.sqe, command.status, command.result, true);
    if (command.duplicate && !watch_.blocked(cq)) write(sq, cq, command.sqe, command.status, command.result);
    store_.give_back(index);
  }

  size_t advance_delays() {
    size_t work = 0;
    uint32_t index = 0;
    for (; store_.by_step.pop(passes_, index); ++work) route(index);
    if (store_.by_time.empty()) return work;
    for (const uint64_t now = monotonic_ns(); store_.by_time.pop(now, index); ++work) route(index);
    return work;
  }

  /// Completes a command of the reorder window.
  void draw() {
    std::swap(store_.window[random_.between(0, store_.window.size() - 1)], store_.window.back());
    const uint32_t index = store_.window.back();
    store_.window.pop_back();
    conclude(index);
  }

  size_t retry(CompletionQueue& cq) {
    size_t work = 0;
    for (; !cq.ready.empty() && running() && !watch_.blocked(cq); ++work) {
      const uint32_t index = cq.ready.front();
      cq.ready.pop_front();
      post_stored(cq, index);
    }
    return work;
  }

  void take_orders() {
    std::vector<uint32_t> free;
    CommandStore::extract_from(store_.held, [&](uint32_t index) { return store_[index].holder->ended.load(); }, free);
    for (const uint32_t index : free) {
      store_[index].holder.reset();
      route(index);
    }
    free.clear();
    CommandStore::extract_from(
        store_.dropped, [&](uint32_t index) { return store_[index].dropper->released.load(); }, free);
    for (const uint32_t index : free) {
      store_[index].dropper.reset();
      deliver(index);
    }
  }

  bool room(CompletionQueue& cq) { return cq.ready.empty() && !watch_.blocked(cq); }

  /// Completes a command.
  /// @pre the completion queue has space
  void post(SubmissionQueue& sq, CompletionQueue& cq, const nvme::Sqe& sqe, uint16_t status, uint32_t result,
            bool claimed) {
    detail::QueueCounters& counters = core_.counters.queue(sq.id);
    if (claimed) sq.give_back(static_cast<uint16_t>(sqe.cdw0 >> 16));
    core_.set_in_flight(sq, sq.in_flight - 1);
    counters.in_flight.set(sq.in_flight);
    counters.completions.add();
    if (status != 0) {
      counters.errors.add();
      const bool blocks = sq.id != 0 && io_.names_blocks(sqe);
      admin_.logs().record(sq.id, sqe, status, blocks ? IoCommands::first_lba(sqe) : 0);
    }
    write(sq, cq, sqe, status, result);
  }

  void write(SubmissionQueue& sq, CompletionQueue& cq, const nvme::Sqe& sqe, uint16_t status, uint32_t result) {
    unsigned char* const entry = cq.memory.entry(cq.tail, core_.bus);
    if (!entry) {
      core_.violations.add(NvmeViolation::memory, cq.id, "a CQ entry is not mapped");
      return watch_.fail();
    }
    auto* const words = reinterpret_cast<uint64_t*>(entry);
    const uint64_t high = (core_.config.quirks.reports_head ? sq.head : 0u) | uint64_t{sq.id} << 16 |
                          uint64_t{sqe.cdw0 >> 16} << 32 | uint64_t{status} << 49 | uint64_t{cq.phase} << 48;
    // The half with the phase bit publishes the entry.
    __atomic_store_n(words, uint64_t{result}, __ATOMIC_RELAXED);
    __atomic_store_n(words + 1, high, __ATOMIC_RELEASE);
    sq.posted_head = sq.head;
    if (++cq.tail == cq.size) {
      cq.tail = 0;
      cq.phase = !cq.phase;
    }
  }

  // CommandControl, for admin commands.

  void look_at_doorbells() override {
    for (uint32_t qid = 1; qid <= core_.config.queues; ++qid) {
      if (core_.sqs[qid].exists) watch_.look_at_tail(core_.sqs[qid]);
      if (core_.cqs[qid].exists) watch_.look_at_head(core_.cqs[qid]);
    }
  }

  void abort_queue(uint32_t sqid) override {
    CompletionQueue& cq = core_.cqs[core_.sqs[sqid].cq];
    const auto mine = [&](uint32_t index) { return store_[index].sqid == sqid; };
    std::vector<uint32_t> ready(cq.ready.begin(), cq.ready.end());
    std::vector<uint32_t> done;
    CommandStore::extract_from(ready, mine, done);
    cq.ready.assign(ready.begin(), ready.end());
    const size_t finished = done.size();
    const std::vector<uint32_t> unfinished = store_.extract(mine);
    done.insert(done.end(), unfinished.begin(), unfinished.end());
    for (size_t i = 0; i < done.size(); ++i) {
      if (i >= finished) store_[done[i]].status = spec::aborted_sq_deletion;
      if (watch_.blocked(cq)) {
        store_.give_back(done[i]);
      } else {
        post_stored(cq, done[i]);
      }
    }
  }

  bool abort_command(uint32_t sqid, uint16_t cid) override {
    const std::vector<uint32_t> found = store_.extract([&](uint32_t index) {
      return store_[index].sqid == sqid && store_[index].cid() == cid && !store_[index].dropper;
    });
    if (found.empty()) return false;
    store_[found[0]].status = spec::abort_requested;
    store_[found[0]].decided = true;
    deliver(found[0]);
    return true;
  }

  const EntryRules admin_rules_{EntryRules::admin};
  ControllerCore core_;
  IoCommands io_;
  AdminCommands admin_;
  FaultPlan::Orders orders_;
  DoorbellWatch watch_;
  CommandStore store_;
  LifeCycle life_;
  Random random_;
  FaultPlan& plan_;
  Registers& registers_;
  std::vector<uint16_t> active_sqs_, active_cqs_;
  uint64_t listed_ = 0;  // core_.queue_changes that the lists reflect
  uint64_t passes_ = 0;
  uint64_t seeds_ = 0;
  uint64_t obeyed_ = 0;  // version of the orders whose ended and released rules were processed
};

}  // namespace emulation

XIO_NAMESPACE_END
