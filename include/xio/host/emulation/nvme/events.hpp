// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Asynchronous events and log pages of the in-process NVMe controller (NVM Express Base Specification 2.0,
/// sections 5.2 and 5.16).

#include <array>
#include <cstddef>
#include <deque>
#include <initializer_list>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/page_writer.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/host/emulation/nvme/statistics.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Pairs outstanding Asynchronous Event Requests with pending events.
class AsyncEvents {
 public:
  /// @param limit  Identify Controller AERL
  explicit AsyncEvents(uint32_t limit) : limit_(limit) {}

  bool waiting() const { return !requests_.empty(); }

  /// Adds a request. Returns false if too many are outstanding.
  bool request(uint16_t cid) {
    if (requests_.size() > limit_) return false;
    requests_.push_back(cid);
    return true;
  }
  /// Adds an event.
  /// @param event  dword 0 of the completion
  void raise(uint32_t event) {
    if (events_.size() < most_events) events_.push_back(event);
  }
  /// Takes a request to complete and its event. A reported event type is masked until its log page is read.
  bool take(uint16_t& cid, uint32_t& event) {
    if (requests_.empty()) return false;
    for (auto it = events_.begin(); it != events_.end(); ++it) {
      const uint32_t type = *it & 7;
      if ((masked_ >> type & 1) != 0) continue;
      masked_ |= 1u << type;
      event = *it;
      cid = requests_.front();
      requests_.pop_front();
      events_.erase(it);
      return true;
    }
    return false;
  }
  /// Unmasks an event type after its log page was read.
  void acknowledge(uint32_t type) { masked_ &= ~(1u << type); }
  void reset() {
    requests_.clear();
    events_.clear();
    masked_ = 0;
  }

 private:
  static constexpr size_t most_events = 64;

  uint32_t limit_;
  uint32_t masked_ = 0;  // one bit per event type
  std::deque<uint16_t> requests_;
  std::deque<uint32_t> events_;
};

/// Log pages: error information, SMART, firmware slots, command effects.
class LogPages {
 public:
  static constexpr uint32_t error_information = 1, smart = 2, firmware_slots = 3, command_effects = 5;
  static constexpr uint32_t error_entries = 64;  ///< Identify Controller ELPE + 1

  /// Records a command that ended with an error.
  void record(uint16_t sqid, const nvme::Sqe& sqe, uint16_t status, uint64_t lba) {
    ++errors_;
    entries_[errors_ % error_entries] = {errors_, sqid, static_cast<uint16_t>(sqe.cdw0 >> 16), status, lba, sqe.nsid};
  }
  uint64_t errors() const { return errors_; }
  void set_critical_warning(uint8_t bits) { critical_warning_ = bits; }

  /// Writes a log page. Returns its size in bytes, 0 if it does not exist.
  uint32_t write(uint32_t id, const detail::NvmeCounters& counters, PageWriter& page) const {
    switch (id) {
      case error_information: return write_errors(page);
      case smart: return write_smart(counters, page);
      case firmware_slots:
        page.put(0, 1, 1);
        page.put_text(8, "1.0", 8);
        return 512;
      case command_effects:
        for (const uint32_t opcode : {0x00u, 0x01u, 0x02u, 0x04u, 0x05u, 0x06u, 0x08u, 0x09u, 0x0au, 0x0cu, 0x7cu})
          page.put(4 * opcode, 1, 4);
        for (const uint32_t opcode : {0x00u, 0x01u, 0x02u, 0x04u, 0x05u, 0x08u, 0x09u, 0x0cu})
          page.put(1024 + 4 * opcode, 1, 4);
        return 4096;
      default: return 0;
    }
  }

 private:
  struct Entry {
    uint64_t count;
    uint16_t sqid;
    uint16_t cid;
    uint16_t status;
    uint64_t lba;
    uint32_t nsid;
  };

  uint32_t write_errors(PageWriter& page) const {
    for (uint32_t i = 0; i < error_entries && i < errors_; ++i) {
      const Entry& entry = entries_[(errors_ - i) % error_entries];
      page.put(64 * i, entry.count, 8);
      page.put(64 * i + 8, entry.sqid, 2);
      page.put(64 * i + 10, entry.cid, 2);
      page.put(64 * i + 12, uint64_t{entry.status} << 1, 2);
      page.put(64 * i + 14, 0xffff, 2);  // no parameter error location
      page.put(64 * i + 16, entry.lba, 8);
      page.put(64 * i + 24, entry.nsid, 4);
    }
    return 64 * error_entries;
  }

  /// Commands of all I/O queues.
  static uint64_t fetched(const detail::NvmeCounters& counters, uint8_t opcode) {
    uint64_t sum = 0;
    for (size_t qid = 1; qid < counters.queue_count(); ++qid) sum += counters.queue(qid).by_opcode[opcode].get();
    return sum;
  }

  uint32_t write_smart(const detail::NvmeCounters& counters, PageWriter& page) const {
    const auto data_units = [](uint64_t bytes) { return (bytes + 511999) / 512000; };
    page.put(0, critical_warning_, 1);
    page.put(1, 313, 2);  // kelvin
    page.put(3, 100, 1);  // available spare, percent
    page.put(4, 10, 1);   // available spare threshold, percent
    page.put(32, data_units(counters.bytes_read.get()), 8);
    page.put(48, data_units(counters.bytes_written.get()), 8);
    page.put(64, fetched(counters, spec::io_read), 8);
    page.put(80, fetched(counters, spec::io_write), 8);
    page.put(112, 1, 8);  // power cycles
    page.put(176, errors_, 8);
    return 512;
  }

  std::array<Entry, error_entries> entries_{};
  uint64_t errors_ = 0;
  uint8_t critical_warning_ = 0;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
