// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Creation and deletion of I/O queues of the in-process NVMe controller (NVM Express Base Specification 2.0,
/// sections 5.4, 5.5 and 5.6, PCIe Transport Specification 1.0).

#include <cstring>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Operations of the engine that admin commands need.
class CommandControl {
 public:
  /// Polls every doorbell register of the I/O queues.
  virtual void look_at_doorbells() = 0;
  /// Ends every command of a submission queue with "aborted: SQ deletion".
  virtual void abort_queue(uint32_t sqid) = 0;
  /// Ends a held or delayed command. Returns false if there is none.
  virtual bool abort_command(uint32_t sqid, uint16_t cid) = 0;

 protected:
  ~CommandControl() = default;
};

/// Executes the four commands that create and delete I/O queues.
class QueueAdmin {
 public:
  QueueAdmin(ControllerCore& core, CommandControl& commands) : core_(core), commands_(commands) {}

  uint16_t create_cq(const nvme::Sqe& sqe) {
    const uint32_t qid = sqe.cdw10 & 0xffff;
    if (!core_.io_queue(qid) || core_.cqs[qid].exists) return spec::final_status(spec::invalid_queue_id);
    uint32_t size = 0;
    std::vector<uint64_t> pages;
    if (const uint16_t status = geometry(sqe, spec::cqe_bytes, size, pages)) return status;
    if ((sqe.cdw11 >> 1 & 1) != 0 && (sqe.cdw11 >> 16) >= interrupt_vectors)
      return spec::final_status(spec::invalid_interrupt_vector);
    core_.open_cq(qid, size, std::move(pages));
    core_.attach_shadow(qid, true);
    return spec::success;
  }

  uint16_t create_sq(const nvme::Sqe& sqe) {
    const uint32_t qid = sqe.cdw10 & 0xffff;
    const uint32_t cqid = sqe.cdw11 >> 16;
    if (!core_.io_queue(cqid) || !core_.cqs[cqid].exists) return spec::final_status(spec::invalid_cq);
    if (!core_.io_queue(qid) || core_.sqs[qid].exists) return spec::final_status(spec::invalid_queue_id);
    uint32_t size = 0;
    std::vector<uint64_t> pages;
    if (const uint16_t status = geometry(sqe, spec::sqe_bytes, size, pages)) return status;
    core_.open_sq(qid, cqid, size, std::move(pages));
    core_.attach_shadow(qid, false);
    return spec::success;
  }

  uint16_t delete_sq(const nvme::Sqe& sqe) {
    const uint32_t qid = sqe.cdw10 & 0xffff;
    if (!core_.io_queue(qid) || !core_.sqs[qid].exists) return spec::final_status(spec::invalid_queue_id);
    commands_.abort_queue(qid);
    core_.close_sq(qid);
    return spec::success;
  }

  uint16_t delete_cq(const nvme::Sqe& sqe) {
    const uint32_t qid = sqe.cdw10 & 0xffff;
    if (!core_.io_queue(qid) || !core_.cqs[qid].exists) return spec::final_status(spec::invalid_queue_id);
    if (core_.cqs[qid].users != 0) return spec::invalid_queue_deletion;
    core_.close_cq(qid);
    return spec::success;
  }

 private:
  static constexpr uint32_t interrupt_vectors = 2048;

  /// Determines size and pages of a queue to be created. Returns the status.
  uint16_t geometry(const nvme::Sqe& sqe, uint32_t entry_bytes, uint32_t& size, std::vector<uint64_t>& pages) {
    const uint32_t entries_minus_one = sqe.cdw10 >> 16;
    if (entries_minus_one == 0 || entries_minus_one > core_.config.mqes)
      return spec::final_status(spec::invalid_queue_size);
    if (sqe.prp1 % core_.page_bytes() != 0) {
      core_.violations.add(NvmeViolation::pointer, 0, "a queue is not page-aligned");
      return spec::final_status(spec::invalid_prp_offset);
    }
    if (sqe.prp2 != 0) core_.violations.add(NvmeViolation::reserved, 0, "PRP2 of a queue creation is set");
    size = entries_minus_one + 1;
    const uint64_t page = core_.page_bytes();
    const uint64_t count = (uint64_t{size} * entry_bytes + page - 1) / page;
    if ((sqe.cdw11 & 1) != 0) {
      for (uint64_t i = 0; i < count; ++i) pages.push_back(sqe.prp1 + i * page);
      look_for(pages, uint64_t{size} * entry_bytes);
      return spec::success;
    }
    if (core_.config.contiguous_queues_required) return spec::final_status(spec::invalid_field);
    const uint16_t status = read_page_list(sqe.prp1, count, pages);
    if (status == spec::data_transfer_error)
      core_.violations.add(NvmeViolation::memory, 0, "the page list of a queue is not mapped");
    else if (status != spec::success)
      core_.violations.add(NvmeViolation::pointer, 0, "the page list of a queue is malformed");
    else
      look_for(pages, uint64_t{size} * entry_bytes);
    return status;
  }

  /// Records a violation if a page of the queue is not mapped.
  void look_for(const std::vector<uint64_t>& pages, uint64_t bytes) {
    for (const uint64_t bus : pages) {
      const uint64_t here = bytes < core_.page_bytes() ? bytes : core_.page_bytes();
      if (!core_.bus.find_all(bus, here)) {
        core_.violations.add(NvmeViolation::memory, 0, "a page of a new queue is not mapped");
        return;
      }
      bytes -= here;
    }
  }

  /// Reads the page list of a queue with PC = 0: PRP1 points to a list of all its pages, including the first.
  uint16_t read_page_list(uint64_t list, uint64_t count, std::vector<uint64_t>& pages) {
    const uint64_t page = core_.page_bytes();
    const uint64_t room = page / 8;
    for (;;) {
      const uint64_t needed = count - pages.size();
      const bool chained = needed > room;
      const uint64_t here = chained ? room : needed;
      const unsigned char* const entries = core_.bus.find_all(list, 8 * here);
      if (!entries) return spec::data_transfer_error;
      for (uint64_t i = 0; i < (chained ? here - 1 : here); ++i) {
        const uint64_t entry = load(entries + 8 * i);
        if (entry % page != 0) return spec::final_status(spec::invalid_prp_offset);
        pages.push_back(entry);
      }
      if (!chained) return spec::success;
      list = load(entries + 8 * (here - 1));
      if (list % page != 0) return spec::final_status(spec::invalid_prp_offset);
    }
  }

  static uint64_t load(const unsigned char* from) {
    uint64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  ControllerCore& core_;
  CommandControl& commands_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
