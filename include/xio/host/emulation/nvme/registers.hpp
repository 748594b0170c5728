// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Controller registers of the in-process NVMe controller (NVM Express Base Specification 2.0, section 3.1.3).
///
/// Host threads read and write them at any time; the controller polls CC when it runs, and only it sets CSTS.

#include <atomic>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/config.hpp>
#include <xio/host/emulation/nvme/specification.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// The register file. Offsets are in bytes from the start of BAR0, below the doorbells.
class Registers {
 public:
  static constexpr uint32_t csts_ready = 1u << 0;
  static constexpr uint32_t csts_fatal = 1u << 1;
  static constexpr uint32_t csts_shutdown_occurring = 1u << 2;
  static constexpr uint32_t csts_shutdown_complete = 2u << 2;

  explicit Registers(const NvmeConfig& config)
      : version_(config.quirks.version),
        cap_(uint64_t{config.quirks.mqes.value_or(config.mqes)} | uint64_t{config.contiguous_queues_required} << 16 |
             uint64_t{config.ready_timeout} << 24 | uint64_t{config.dstrd} << 32 | uint64_t{1} << 37 |
             uint64_t{has_key_values(config)} << 43 | uint64_t{config.mpsmin} << 48 | uint64_t{config.mpsmax} << 52),
        cc_(config.quirks.found_cc) {}

  /// Reads a register. Doorbells and registers that do not exist read as 0.
  uint32_t read32(uint64_t offset) const {
    switch (offset) {
      case spec::reg_cap: return static_cast<uint32_t>(cap_);
      case spec::reg_cap + 4: return static_cast<uint32_t>(cap_ >> 32);
      case spec::reg_vs: return version_;
      case spec::reg_intms:
      case spec::reg_intmc: return interrupt_mask_.load();
      case spec::reg_cc: return cc_.load();
      case spec::reg_csts: return csts_.load();
      case spec::reg_aqa: return aqa_.load();
      case spec::reg_asq: return static_cast<uint32_t>(asq_.load());
      case spec::reg_asq + 4: return static_cast<uint32_t>(asq_.load() >> 32);
      case spec::reg_acq: return static_cast<uint32_t>(acq_.load());
      case spec::reg_acq + 4: return static_cast<uint32_t>(acq_.load() >> 32);
      default: return 0;
    }
  }

  /// Writes a register. Writes to read-only registers have no effect. Returns a description of the violation, or null.
  const char* write32(uint64_t offset, uint32_t value) {
    const char* const wrong = judge(offset, value);
    store(offset, value);
    return wrong;
  }

  // Controller side.

  uint32_t cc() const { return cc_.load(); }
  uint32_t csts() const { return csts_.load(); }
  void set_csts(uint32_t value) { csts_.store(value); }
  uint64_t cap() const { return cap_; }
  uint64_t admin_sq() const { return asq_.load(); }
  uint64_t admin_cq() const { return acq_.load(); }
  uint32_t admin_sq_size() const { return (aqa_.load() & 0xfff) + 1; }
  uint32_t admin_cq_size() const { return (aqa_.load() >> 16) + 1; }
  /// Returns whether CC.EN changed from 1 to 0 since the last call.
  bool take_disable() { return disabled_.load() && disabled_.exchange(false); }

 private:
  static constexpr uint32_t cc_writable = 0x00fffff1u;

  const char* judge(uint64_t offset, uint32_t value) const {
    const uint32_t cc = cc_.load();
    const bool enabled = (cc & 1) != 0;
    switch (offset) {
      case spec::reg_intms:
      case spec::reg_intmc: return nullptr;
      case spec::reg_cc: {
        constexpr uint32_t fixed_while_enabled = 0x00003ff0;  // CSS, MPS, AMS
        const uint32_t csts = csts_.load();
        if ((value & ~cc_writable) != 0) return "reserved bits of CC";
        if (enabled && (value & 1) != 0 && ((value ^ cc) & fixed_while_enabled) != 0)
          return "CC.CSS, MPS or AMS changed while the controller is enabled";
        if (!enabled && (value & 1) != 0 && (csts & csts_ready) != 0) return "CC.EN set while CSTS.RDY is 1";
        // One that was found so, or was shut down, need not become ready.
        if (enabled && (value & 1) == 0 && admin_cq() != 0 &&
            (csts & (csts_ready | csts_fatal | csts_shutdown_complete)) == 0)
          return "CC.EN cleared before CSTS.RDY was 1";
        return nullptr;
      }
      case spec::reg_aqa:
        if ((value & ~0x0fff0fffu) != 0) return "reserved bits of AQA";
        return enabled ? "AQA written while the controller is enabled" : nullptr;
      case spec::reg_asq:
      case spec::reg_acq:
        if ((value & 0xfff) != 0) return "reserved bits of ASQ or ACQ";
        return enabled ? "ASQ or ACQ written while the controller is enabled" : nullptr;
      case spec::reg_asq + 4:
      case spec::reg_acq + 4: return enabled ? "ASQ or ACQ written while the controller is enabled" : nullptr;
      default: return "a register that is read-only or does not exist";
    }
  }

  void store(uint64_t offset, uint32_t value) {
    switch (offset) {
      case spec::reg_intms: interrupt_mask_.fetch_or(value); return;
      case spec::reg_intmc: interrupt_mask_.fetch_and(~value); return;
      case spec::reg_cc:
        // A disable that is immediately followed by an enable must not be missed.
        if ((cc_.exchange(value & cc_writable) & 1) != 0 && (value & 1) == 0) disabled_.store(true);
        return;
      case spec::reg_aqa: aqa_.store(value & 0x0fff0fffu); return;
      case spec::reg_asq: set_half(asq_, value & ~0xfffu, 0); return;
      case spec::reg_asq + 4: set_half(asq_, value, 32); return;
      case spec::reg_acq: set_half(acq_, value & ~0xfffu, 0); return;
      case spec::reg_acq + 4: set_half(acq_, value, 32); return;
      default: return;
    }
  }

  static void set_half(std::atomic<uint64_t>& to, uint32_t value, uint32_t shift) {
    uint64_t old = to.load();
    while (!to.compare_exchange_weak(old, (old & ~(uint64_t{0xffffffffu} << shift)) | uint64_t{value} << shift)) {
    }
  }

  const uint32_t version_;
  const uint64_t cap_;
  std::atomic<uint32_t> interrupt_mask_{0};
  std::atomic<uint32_t> cc_;
  std::atomic<uint32_t> csts_{0};
  std::atomic<uint32_t> aqa_{0};
  std::atomic<uint64_t> asq_{0};
  std::atomic<uint64_t> acq_{0};
  std::atomic<bool> disabled_{false};
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
