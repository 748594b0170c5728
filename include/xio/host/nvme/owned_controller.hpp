// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A controller that the library owns: reset and enabled through its registers, with the library's admin queue.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/nvme/admin.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/text.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// ControllerAccess through registers. The transport must outlive it.
class OwnedController final : public ControllerAccess {
 public:
  OwnedController(NvmeTransport& transport, const ControllerOptions& options, const nvme::Cap& cap)
      : transport_(transport),
        options_(options),
        cap_(cap),
        page_shift_(choose_page_shift()),
        admin_(transport, options.admin_entries, cap.dstrd(), size_t{1} << page_shift_) {}

  /// Enables the disabled controller with new admin queues.
  void start() override {
    admin_.restart();
    transport_.write32(nvme::reg::aqa, nvme::Aqa::of(admin_.entries(), admin_.entries()).raw);
    transport_.write64(nvme::reg::asq, admin_.sq_bus());
    transport_.write64(nvme::reg::acq, admin_.cq_bus());
    const nvme::Cc cc = nvme::Cc{}.css(command_sets()).mps(page_shift_ - 12).iosqes(6).iocqes(4);
    transport_.write32(nvme::reg::cc, cc.en(true).raw);
    late_ = true;
    wait_for(
        [this](nvme::Csts status) {
          if (status.cfs())
            throw ControllerFailure(transport_.description() + " failed while it was enabled (CSTS.CFS)");
          return status.rdy();
        },
        Timeout(ready_limit()), "become ready (CC.EN = 1)");
    late_ = false;
  }

  void open() override { admin_.open(); }

  /// Disables the controller: it stops all memory accesses, and its queues are deleted.
  void stop() override {
    admin_.close();
    try {
      const bool was_late = !disable_by_register();
      if (!keeps_fatal_status() && !was_late) return;
    } catch (const ControllerFailure&) {
      // A controller that ignores its registers may still respond to a bus reset.
      if (!reset_by_bus()) throw;
      return;
    }
    // It is idle, but has failed or was never ready. If the bus has no reset, or the reset does not help, start()
    // detects the failure.
    reset_by_bus();
  }

  /// Notifies a working controller of the shutdown, then disables it, whether or not it has finished.
  void shut_down(std::chrono::milliseconds limit) override {
    admin_.close();
    const nvme::Cc cc{transport_.read32(nvme::reg::cc)};
    const nvme::Csts csts{transport_.read32(nvme::reg::csts)};
    if (cc.en() && csts.rdy() && !csts.cfs()) {
      transport_.write32(nvme::reg::cc, cc.shn(1).raw);
      reached([](nvme::Csts status) { return status.shst() == 2 || status.cfs(); }, Timeout(limit));
    }
    stop();
  }

  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data,
                  std::chrono::milliseconds limit) override {
    return admin_.run(command, data, limit);
  }
  QueueIds ask_for_queues(uint32_t count) override {
    AdminResult result = run(nvme::set_number_of_queues(count, count), {}, options_.admin_deadline);
    // A controller with a fixed number may refuse to set it; one that has only one may not know the feature.
    if (!result.status.is_ok())
      result = run(nvme::get_features(nvme::FeatureId::number_of_queues), {}, options_.admin_deadline);
    return {1, result.status.is_ok() ? queue_pairs(result.dw0) : 1};
  }
  uint32_t page_shift() const override { return page_shift_; }
  void request_event() override { admin_.request_event(options_.admin_deadline); }
  std::optional<AsyncEvent> take_event(std::chrono::milliseconds limit) override { return admin_.take_event(limit); }
  void use_shadow(uint32_t* sq_shadow, uint32_t* cq_shadow) override { admin_.use_shadow(sq_shadow, cq_shadow); }

 private:
  static constexpr std::chrono::milliseconds fatal_limit{500};  ///< for clearing a fatal status when disabled

  uint32_t choose_page_shift() const {
    const uint32_t smallest = 12 + cap_.mpsmin();
    const auto host_page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto host_shift = static_cast<uint32_t>(__builtin_ctzll(host_page));
    return host_shift >= smallest && host_shift <= 12 + cap_.mpsmax() ? host_shift : smallest;
  }

  uint32_t command_sets() const {
    const bool has_all = (cap_.css() >> 6 & 1) != 0;
    const bool has_nvm = (cap_.css() & 1) != 0;
    if (options_.all_command_sets && !has_all)
      throw Error(transport_.description() + " supports no further command sets (CAP.CSS); leave all_command_sets out");
    if (!has_all && !has_nvm) throw Error(transport_.description() + " supports no I/O command set (CAP.CSS)");
    return options_.all_command_sets || !has_nvm ? 6 : 0;
  }

  std::chrono::milliseconds ready_limit() const {
    if (options_.ready_deadline.count() != 0) return options_.ready_deadline;
    uint32_t units = std::max(cap_.to(), 1u);
    if (cap_.crwms()) units = std::max(units, nvme::Crto{transport_.read32(nvme::reg::crto)}.crwmt());
    return std::chrono::milliseconds(500) * units;
  }

  /// Clears CC.EN. Returns whether the controller was ready before, or need not have been.
  bool disable_by_register() {
    nvme::Cc cc{transport_.read32(nvme::reg::cc)};
    // Between EN = 1 and RDY = 1 the controller must not be disabled, unless it has failed, was shut down, or is late.
    const auto settled = [](nvme::Csts status) { return status.rdy() || status.cfs() || status.shst() != 0; };
    const bool in_time = !cc.en() || (!late_ && reached(settled, Timeout(ready_limit())));
    late_ = false;
    transport_.write32(nvme::reg::cc, cc.en(false).shn(0).raw);
    wait_for([](nvme::Csts status) { return !status.rdy(); }, Timeout(ready_limit()), "become idle (CC.EN = 0)");
    return in_time;
  }

  /// Whether a disabled controller keeps CSTS.CFS, which disabling should clear.
  bool keeps_fatal_status() const {
    bool fatal = true;
    const Timeout deadline(std::min(fatal_limit, ready_limit()));
    wait_for(
        [&](nvme::Csts status) {
          fatal = status.cfs();
          return !fatal || deadline.passed();
        },
        deadline, "answer");
    return fatal;
  }

  /// Resets through the bus; returns whether the controller is then idle and without failure.
  bool reset_by_bus() noexcept {
    try {
      if (!transport_.reset_device()) return false;
      wait_for([](nvme::Csts status) { return !status.rdy() && !status.cfs(); }, Timeout(ready_limit()),
               "become idle after a reset");
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Waits for a state of CSTS. Returns the last value read, or nothing if the state was reached.
  template <class Done>
  std::optional<nvme::Csts> missed(Done&& done, const Timeout& deadline) const {
    Backoff backoff;
    for (;;) {
      const bool late = deadline.passed();
      const nvme::Csts status{transport_.read32(nvme::reg::csts)};
      if (status.gone()) throw ControllerFailure(transport_.description() + " is gone: its registers read as all ones");
      if (done(status)) return std::nullopt;
      if (late) return status;
      backoff.pause();
    }
  }
  template <class Done>
  bool reached(Done&& done, const Timeout& deadline) const {
    return !missed(done, deadline);
  }
  template <class Done>
  void wait_for(Done&& done, const Timeout& deadline, const char* what) const {
    if (const std::optional<nvme::Csts> status = missed(done, deadline))
      throw ControllerFailure(transport_.description() + " did not " + what + " within " + deadline.text() +
                              "; CSTS = " + to_hex(status->raw, 8));
  }

  NvmeTransport& transport_;
  const ControllerOptions options_;
  const nvme::Cap cap_;
  const uint32_t page_shift_;
  AdminQueue admin_;
  bool late_ = false;  // it was enabled, and has not become ready within its time
};

}  // namespace host::detail

XIO_NAMESPACE_END
