// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief CC and CSTS handling: enable, reset and shutdown of the in-process NVMe controller (NVM Express Base
/// Specification 2.0, sections 3.1.3.5, 3.1.3.6, 3.5 and 3.6).

#include <time.h>

#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/admin.hpp>
#include <xio/host/emulation/nvme/command_store.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/doorbell_watch.hpp>
#include <xio/host/emulation/nvme/fault_plan.hpp>
#include <xio/host/emulation/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// CLOCK_MONOTONIC in nanoseconds.
inline uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// Controller life cycle: reset, enable, shutdown, fatal status.
class LifeCycle {
 public:
  LifeCycle(ControllerCore& core, AdminCommands& admin, DoorbellWatch& watch, CommandStore& store, Registers& registers)
      : core_(core),
        admin_(admin),
        watch_(watch),
        store_(store),
        registers_(registers),
        enabled_((registers.cc() & 1) != 0) {}

  /// Returns whether the controller is enabled and ready.
  bool ready() const { return ready_; }
  /// Returns whether CC.EN = 1 but not yet CSTS.RDY = 1.
  bool starting() const { return starting_; }

  /// Processes register writes and the plan's orders. Returns the number of changes.
  /// @param reset  whether CC.EN went to 0, sampled before the orders were refreshed, so that a failure ordered before
  ///               the reset takes effect first
  size_t serve(const FaultPlan::Orders& orders, bool reset) {
    size_t work = 0;
    if (orders.failures != failures_ && enabled_) watch_.fail();
    failures_ = orders.failures;
    if (reset) {
      disable();
      ++work;
    }
    const uint32_t cc = registers_.cc();
    if ((cc & 1) != 0 && !enabled_) {
      enabled_ = starting_ = true;
      enable_time_ = monotonic_ns();
      ++work;
    }
    if (starting_ && orders.enable_us != ~uint64_t{0} &&
        (orders.enable_us == 0 || monotonic_ns() - enable_time_ >= 1000 * orders.enable_us)) {
      starting_ = false;
      start(cc);
      ++work;
    }
    const uint32_t csts = (ready_ ? Registers::csts_ready : 0u) | (watch_.failed() ? Registers::csts_fatal : 0u) |
                          shutdown((cc >> 14 & 3) != 0);
    if (csts != registers_.csts()) registers_.set_csts(csts);
    return work;
  }

 private:
  /// Returns the shutdown status, for CSTS.
  uint32_t shutdown(bool notified) {
    if (!notified) shutdown_time_ = 0;
    if (!notified) return 0;
    if (shutdown_time_ == 0) shutdown_time_ = monotonic_ns();
    const uint64_t due = shutdown_time_ + uint64_t{1000000} * core_.config.quirks.shutdown_ms;
    return monotonic_ns() >= due ? Registers::csts_shutdown_complete : Registers::csts_shutdown_occurring;
  }

  /// Starts the controller. Unsupported CC settings and invalid admin queues are fatal.
  void start(uint32_t cc) {
    const uint32_t page = cc >> 7 & 0xf;
    const uint64_t page_bytes = uint64_t{4096} << page;
    const uint32_t sq_size = registers_.admin_sq_size();
    const uint32_t cq_size = registers_.admin_cq_size();
    const uint32_t sets = cc >> 4 & 7;
    core_.all_command_sets = sets == 6;
    const bool sets_fit = sets == 0 || (sets == 6 && has_key_values(core_.config));
    const bool fits = sets_fit && (cc >> 11 & 7) == 0 && (cc >> 16 & 0xf) == spec::sqe_shift &&
                      (cc >> 20 & 0xf) == spec::cqe_shift && page >= core_.config.mpsmin &&
                      page <= core_.config.mpsmax && sq_size >= 2 && cq_size >= 2 &&
                      registers_.admin_sq() % page_bytes == 0 && registers_.admin_cq() % page_bytes == 0;
    if (!fits) {
      core_.violations.add(NvmeViolation::setup, 0, "enabled with unsupported settings");
      return watch_.fail();
    }
    core_.page_shift = 12 + page;
    core_.data.set_page_shift(core_.page_shift);
    const auto pages = [&](uint64_t base, uint64_t bytes) {
      std::vector<uint64_t> list;
      for (uint64_t offset = 0; offset < bytes; offset += page_bytes) list.push_back(base + offset);
      return list;
    };
    core_.open_cq(0, cq_size, pages(registers_.admin_cq(), uint64_t{cq_size} * spec::cqe_bytes));
    core_.open_sq(0, 0, sq_size, pages(registers_.admin_sq(), uint64_t{sq_size} * spec::sqe_bytes));
    for (const uint64_t base : {registers_.admin_cq(), registers_.admin_sq()}) {
      const bool completions = base == registers_.admin_cq();
      if (!core_.bus.find_all(base, completions ? cq_size * spec::cqe_bytes : sq_size * spec::sqe_bytes))
        core_.violations.add(NvmeViolation::memory, 0, "an admin queue is not mapped");
    }
    ready_ = true;
    core_.counters.enables.add();
  }

  void disable() {
    enabled_ = starting_ = ready_ = false;
    watch_.reset();
    store_.clear();
    for (uint32_t qid = 0; qid <= core_.config.queues; ++qid) {
      if (core_.sqs[qid].exists) core_.close_sq(qid);
    }
    for (uint32_t qid = 0; qid <= core_.config.queues; ++qid) {
      core_.close_cq(qid);
      core_.sqs[qid].doorbell.reset();
    }
    core_.shadow_page = core_.event_page = 0;
    admin_.reset();
    core_.counters.resets.add();
  }

  ControllerCore& core_;
  AdminCommands& admin_;
  DoorbellWatch& watch_;
  CommandStore& store_;
  Registers& registers_;
  uint64_t enable_time_ = 0;
  uint64_t shutdown_time_ = 0;  // when CC.SHN was first seen; 0: it is 0
  uint64_t failures_ = 0;
  bool enabled_;
  bool starting_ = false;
  bool ready_ = false;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
