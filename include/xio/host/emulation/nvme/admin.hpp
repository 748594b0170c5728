// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Admin commands of the in-process NVMe controller (NVM Express Base Specification 2.0, section 5).

#include <array>
#include <initializer_list>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/events.hpp>
#include <xio/host/emulation/nvme/identify.hpp>
#include <xio/host/emulation/nvme/queue_admin.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Executes commands of the admin queue.
class AdminCommands {
 public:
  AdminCommands(ControllerCore& core, CommandControl& commands)
      : core_(core), commands_(commands), queues_(core, commands), events_(core.config.async_event_limit) {
    reset();
  }

  AsyncEvents& events() { return events_; }
  LogPages& logs() { return logs_; }

  /// Resets events and features as a controller reset does; log contents stay.
  void reset() {
    events_.reset();
    features_.fill(0);
    features_[feature_temperature] = 0x157;
    features_[feature_write_cache] = core_.config.volatile_write_cache;
    features_[feature_queues] = granted_queues();
  }

  /// Sets the SMART critical warning; raises events for the bits that Set Features enabled.
  void set_critical_warning(uint8_t bits) {
    logs_.set_critical_warning(bits);
    const uint32_t enabled = bits & features_[feature_async_events];
    if ((enabled & 0x01) != 0) events_.raise(spec::event_smart_spare);
    if ((enabled & 0x02) != 0) events_.raise(spec::event_smart_temperature);
    if ((enabled & 0x1c) != 0) events_.raise(spec::event_smart_reliability);
  }

  /// Executes a command and returns its status.
  /// @param result  set to dword 0 of the completion
  /// @param kept    set if the command must not be completed yet
  uint16_t execute(const nvme::Sqe& sqe, uint32_t& result, bool& kept) {
    if ((sqe.cdw0 >> 8 & 3) != 0 || (sqe.cdw0 >> 14 & 3) != 0) return spec::final_status(spec::invalid_field);
    const NvmeQuirks& quirks = core_.config.quirks;
    if (const auto* const refused = NvmeQuirks::find(quirks.refused, sqe.cdw0, sqe.cdw10))
      return static_cast<uint16_t>(refused->value);
    const uint16_t status = carry_out(sqe, result, kept);
    const auto* const other = NvmeQuirks::find(quirks.answers, sqe.cdw0, sqe.cdw10);
    if (other != nullptr && status == spec::success) result = other->value;
    return status;
  }

  /// Returns whether the data pointer of a command is used. No supported feature has a data structure.
  static bool moves_data(const nvme::Sqe& sqe) {
    const uint32_t opcode = sqe.cdw0 & 0xff;
    return opcode != spec::admin_set_features && opcode != spec::admin_get_features;
  }

 private:
  static constexpr uint32_t feature_temperature = 4, feature_write_cache = 6, feature_queues = 7,
                            feature_async_events = 11;

  uint16_t carry_out(const nvme::Sqe& sqe, uint32_t& result, bool& kept) {
    switch (static_cast<uint8_t>(sqe.cdw0)) {
      case spec::admin_delete_sq: return queues_.delete_sq(sqe);
      case spec::admin_create_sq: return queues_.create_sq(sqe);
      case spec::admin_delete_cq: return queues_.delete_cq(sqe);
      case spec::admin_create_cq: return queues_.create_cq(sqe);
      case spec::admin_get_log_page: return get_log_page(sqe);
      case spec::admin_identify: return identify(sqe);
      case spec::admin_abort: return abort(sqe, result);
      case spec::admin_set_features: return set_features(sqe, result);
      case spec::admin_get_features: return get_features(sqe, result);
      case spec::admin_async_event_request:
        kept = events_.request(static_cast<uint16_t>(sqe.cdw0 >> 16));
        return kept ? spec::success : spec::async_event_limit;
      case spec::admin_doorbell_buffer_config: return doorbell_buffer_config(sqe);
      default: return spec::final_status(spec::invalid_opcode);
    }
  }

  uint32_t granted_queues() const { return (core_.config.queues - 1) | (core_.config.queues - 1) << 16; }

  uint16_t send(const nvme::Sqe& sqe, const PageWriter& page, uint64_t offset, uint64_t bytes) {
    if (const uint16_t status = core_.data.map(sqe, bytes, true, false)) return status;
    core_.data.copy_to_host(page.data() + offset);
    return spec::success;
  }

  uint16_t identify(const nvme::Sqe& sqe) {
    PageWriter page;
    const uint32_t cns = sqe.cdw10 & core_.config.quirks.cns_bits;
    Medium* const medium = core_.medium(sqe.nsid);
    switch (cns) {
      case 0:
        if (!core_.valid_nsid(sqe.nsid) || sqe.nsid == spec::broadcast_namespace)
          return spec::final_status(spec::invalid_namespace);
        if (core_.keys(sqe.nsid)) return spec::final_status(spec::invalid_command_set);
        if (medium) write_identify_namespace(*medium, page);
        break;
      case 1: write_identify_controller(core_.config, page); break;
      case 2:
        if (sqe.nsid >= 0xfffffffeu) return spec::final_status(spec::invalid_namespace);
        write_namespace_list(core_.media, sqe.nsid, page);
        break;
      case 3:
        if (!core_.valid_nsid(sqe.nsid) || sqe.nsid == spec::broadcast_namespace)
          return spec::final_status(spec::invalid_namespace);
        if (!medium) return spec::final_status(spec::invalid_field);
        write_namespace_descriptors(*medium, core_.keys(sqe.nsid) ? spec::csi_key_value : spec::csi_nvm, page);
        break;
      case 5:
        if (!core_.valid_nsid(sqe.nsid) || sqe.nsid == spec::broadcast_namespace)
          return spec::final_status(spec::invalid_namespace);
        if (!core_.all_command_sets || (sqe.cdw11 >> 24) != spec::csi_key_value)
          return spec::final_status(spec::invalid_field);
        if (const KeyValues* const keys = core_.keys(sqe.nsid)) write_identify_values(*keys, page);
        break;
      case 6:
        if ((sqe.cdw11 >> 24) == spec::csi_key_value && core_.all_command_sets) break;  // nothing of it is defined
        if ((sqe.cdw11 >> 24) != 0) return spec::final_status(spec::invalid_field);
        write_identify_limits(core_.config, page);
        break;
      default: return spec::final_status(spec::invalid_field);
    }
    return send(sqe, page, 0, PageWriter::size());
  }

  uint16_t get_log_page(const nvme::Sqe& sqe) {
    const uint32_t id = sqe.cdw10 & 0xff;
    const uint64_t wanted = ((uint64_t{sqe.cdw10 >> 16} | uint64_t{sqe.cdw11 & 0xffff} << 16) + 1) * 4;
    const uint64_t offset = sqe.cdw12 | uint64_t{sqe.cdw13} << 32;
    PageWriter page;
    const uint32_t size = logs_.write(id, core_.counters, page);
    if (size == 0) return spec::final_status(spec::invalid_log_page);
    if (offset % 4 != 0 || offset > size) return spec::final_status(spec::invalid_field);
    const uint64_t bytes = wanted < size - offset ? wanted : size - offset;
    const bool retain = (sqe.cdw10 >> 15 & 1) != 0;
    if (bytes != 0) {
      if (const uint16_t status = send(sqe, page, offset, bytes)) return status;
    }
    if (!retain && id == LogPages::error_information) events_.acknowledge(0);
    if (!retain && id == LogPages::smart) events_.acknowledge(1);
    return spec::success;
  }

  uint16_t abort(const nvme::Sqe& sqe, uint32_t& result) {
    const uint32_t sqid = sqe.cdw10 & 0xffff;
    result = 1;  // not aborted
    if (sqid > core_.config.queues || !core_.sqs[sqid].exists) return spec::final_status(spec::invalid_field);
    if (core_.config.aborts && commands_.abort_command(sqid, static_cast<uint16_t>(sqe.cdw10 >> 16))) result = 0;
    return spec::success;
  }

  static bool known_feature(uint32_t id) { return id == 1 || id == 2 || id == 4 || id == 5 || (id >= 6 && id <= 11); }

  uint16_t set_features(const nvme::Sqe& sqe, uint32_t& result) {
    const uint32_t id = sqe.cdw10 & 0xff;
    if (!known_feature(id)) return spec::final_status(spec::invalid_field);
    if ((sqe.cdw10 >> 31) != 0) return spec::final_status(spec::feature_not_saveable);
    if (id == feature_queues) {
      for (uint32_t qid = 1; qid <= core_.config.queues; ++qid) {
        if (core_.cqs[qid].exists) return spec::final_status(spec::command_sequence_error);
      }
      if ((sqe.cdw11 & 0xffff) == 0xffff || (sqe.cdw11 >> 16) == 0xffff) return spec::final_status(spec::invalid_field);
      // A controller may grant more or fewer queues than requested.
      result = granted_queues();
      return spec::success;
    }
    if (id == feature_write_cache) {
      if (!core_.config.volatile_write_cache) return spec::final_status(spec::invalid_field);
      features_[id] = sqe.cdw11 & 1;
      return spec::success;
    }
    features_[id] = sqe.cdw11;
    return spec::success;
  }

  uint16_t get_features(const nvme::Sqe& sqe, uint32_t& result) {
    const uint32_t id = sqe.cdw10 & 0xff;
    const uint32_t select = sqe.cdw10 >> 8 & 7;
    if (!known_feature(id) || select > 3) return spec::final_status(spec::invalid_field);
    if (id == feature_write_cache && !core_.config.volatile_write_cache) return spec::final_status(spec::invalid_field);
    constexpr uint32_t changeable = 4;
    if (select == 3) {
      result = id == feature_queues ? 0 : changeable;
    } else if (select == 0) {
      result = features_[id];
    } else {
      result = id == feature_queues        ? granted_queues()
               : id == feature_write_cache ? 1u
               : id == feature_temperature ? 0x157u
                                           : 0u;
    }
    return spec::success;
  }

  /// Doorbell Buffer Config: existing I/O queues switch to shadow doorbells immediately, with their current values. The
  /// admin queue keeps its registers.
  uint16_t doorbell_buffer_config(const nvme::Sqe& sqe) {
    if (!core_.config.shadow_doorbells) return spec::final_status(spec::invalid_opcode);
    if (sqe.prp1 == 0 || sqe.prp2 == 0 || sqe.prp1 % core_.page_bytes() != 0 || sqe.prp2 % core_.page_bytes() != 0) {
      core_.violations.add(NvmeViolation::pointer, 0, "a shadow doorbell page is not page-aligned");
      return spec::final_status(spec::invalid_field);
    }
    commands_.look_at_doorbells();  // earlier register writes still count
    core_.shadow_page = sqe.prp1;
    core_.event_page = sqe.prp2;
    for (uint32_t qid = 1; qid <= core_.config.queues; ++qid) {
      if (core_.sqs[qid].exists) {
        core_.attach_shadow(qid, false);
        if (!store_shadow(core_.sqs[qid].doorbell, core_.sqs[qid].tail)) return spec::data_transfer_error;
      }
      if (core_.cqs[qid].exists) {
        core_.attach_shadow(qid, true);
        if (!store_shadow(core_.cqs[qid].doorbell, core_.cqs[qid].head)) return spec::data_transfer_error;
      }
    }
    return spec::success;
  }

  bool store_shadow(const Doorbell& doorbell, uint32_t value) {
    if (doorbell.shadow == 0) return true;
    for (const uint64_t bus : {doorbell.shadow, doorbell.event_index}) {
      unsigned char* const word = core_.bus.find_all(bus, 4);
      if (!word) {
        core_.violations.add(NvmeViolation::memory, 0, "a shadow doorbell is not mapped");
        return false;
      }
      __atomic_store_n(reinterpret_cast<uint32_t*>(word), value, __ATOMIC_RELEASE);
    }
    return true;
  }

  ControllerCore& core_;
  CommandControl& commands_;
  QueueAdmin queues_;
  AsyncEvents events_;
  LogPages logs_;
  std::array<uint32_t, 16> features_{};
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
