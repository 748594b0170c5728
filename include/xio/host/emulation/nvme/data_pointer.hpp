// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Translation of a command's data pointer: PRPs, PRP lists and SGLs, checked as strictly as the specification
/// allows (NVM Express Base Specification 2.0, sections 4.1.1 and 4.1.2).

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/address_space.hpp>
#include <xio/host/emulation/dma.hpp>
#include <xio/host/emulation/nvme/config.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/host/emulation/nvme/statistics.hpp>
#include <xio/host/emulation/nvme/violations.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// The memory segments that a command transfers to or from, in order. Reused for each command.
class DataPointer {
 public:
  DataPointer(const NvmeConfig& config, BusReader& bus, detail::NvmeCounters& counters, NvmeViolations& violations)
      : config_(config), bus_(bus), counters_(counters), violations_(violations) {}

  /// Sets the queue identifier that violations of the following commands are recorded with.
  void set_queue(uint32_t qid) { qid_ = qid; }
  uint32_t queue() const { return qid_; }

  /// Sets the memory page size: log2 of its bytes, from CC.MPS.
  void set_page_shift(uint32_t shift) { page_ = uint64_t{1} << shift; }

  /// Translates the data pointer for `bytes` bytes. Returns the status for the completion, 0 if the data can be moved.
  /// @param to_host      whether the controller writes the memory
  /// @param sgl_allowed  true for I/O commands; false for admin commands over PCIe
  uint16_t map(const nvme::Sqe& sqe, uint64_t bytes, bool to_host, bool sgl_allowed) {
    pieces_.clear();
    const uint32_t psdt = sqe.cdw0 >> 14 & 3;
    opcode_ = sqe.cdw0 & 0xff;
    uint16_t status = spec::final_status(spec::invalid_field);
    if (psdt == 0) {
      status = map_prp(sqe.prp1, sqe.prp2, bytes);
    } else if (psdt != 3 && sgl_allowed && config_.sgl) {
      status = map_sgl(sqe.prp1, sqe.prp2, bytes, to_host);
    }
    if (status == spec::data_transfer_error) {
      note(NvmeViolation::memory, "an address of the data pointer is not mapped");
    } else if (status != spec::success) {
      note(NvmeViolation::pointer, "the data pointer is malformed");
    }
    return status;
  }

  /// Copies to host memory.
  /// @param limit  maximum number of bytes
  void copy_to_host(const unsigned char* from, uint64_t limit = ~uint64_t{0}) {
    for (const Piece& piece : pieces_) {
      const uint64_t bytes = std::min(piece.bytes, limit);
      if (piece.data) detail::dma_write(piece.data, from, bytes);
      from += bytes;
      limit -= bytes;
    }
  }
  /// Copies from host memory.
  /// @param limit  maximum number of bytes
  void copy_from_host(unsigned char* to, uint64_t limit) const {
    for (const Piece& piece : pieces_) {
      const uint64_t bytes = std::min(piece.bytes, limit);
      if (bytes != 0) detail::dma_read(to, piece.data, bytes);
      to += bytes;
      limit -= bytes;
    }
  }
  bool equals(const unsigned char* other) const {
    for (const Piece& piece : pieces_) {
      if (std::memcmp(piece.data, other, piece.bytes) != 0) return false;
      other += piece.bytes;
    }
    return true;
  }

 private:
  struct Piece {
    unsigned char* data;  // a null pointer is a bit bucket
    uint64_t bytes;
  };

  static constexpr uint32_t most_descriptors = 1u << 20;  // terminates a cyclic chain of segments

  bool add(uint64_t bus, uint64_t bytes) {
    while (bytes != 0) {
      uint64_t available = 0;
      unsigned char* const data = bus_.find(bus, available);
      if (!data) return false;
      const uint64_t here = std::min(bytes, available);
      if (!pieces_.empty() && pieces_.back().data && pieces_.back().data + pieces_.back().bytes == data) {
        pieces_.back().bytes += here;
      } else {
        pieces_.push_back({data, here});
      }
      bus += here;
      bytes -= here;
    }
    return true;
  }

  uint16_t map_prp(uint64_t prp1, uint64_t prp2, uint64_t bytes) {
    if (prp1 % 4 != 0) return spec::final_status(spec::invalid_prp_offset);
    const uint64_t first = std::min(bytes, page_ - prp1 % page_);
    if (!add(prp1, first)) return spec::data_transfer_error;
    counters_.prp_entries.add();
    const uint64_t left = bytes - first;
    if (left == 0) {
      if (prp2 != 0) note(NvmeViolation::reserved, "PRP2 is set although all data is in one page");
      return spec::success;
    }
    if (left > page_) return map_list(prp2, left);
    if (prp2 % page_ != 0) return spec::final_status(spec::invalid_prp_offset);
    if (!add(prp2, left)) return spec::data_transfer_error;
    counters_.prp_entries.add();
    return spec::success;
  }

  uint16_t map_list(uint64_t list, uint64_t left) {
    if (list % 8 != 0) return spec::final_status(spec::invalid_prp_offset);
    for (;;) {
      const uint64_t room = (page_ - list % page_) / 8;
      const uint64_t needed = (left + page_ - 1) / page_;
      const bool chained = needed > room;
      const unsigned char* const entries = bus_.find_all(list, 8 * std::min(room, needed));
      if (!entries) return spec::data_transfer_error;
      counters_.list_pages.add();
      const uint64_t count = chained ? room - 1 : needed;
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t entry = load(entries + 8 * i);
        if (entry % page_ != 0) return spec::final_status(spec::invalid_prp_offset);
        const uint64_t here = std::min(left, page_);
        if (!add(entry, here)) return spec::data_transfer_error;
        left -= here;
      }
      counters_.prp_entries.add(count);
      if (!chained) return spec::success;
      list = load(entries + 8 * count);
      if (list % page_ != 0) return spec::final_status(spec::invalid_prp_offset);
    }
  }

  uint16_t map_sgl(uint64_t address, uint64_t rest, uint64_t bytes, bool to_host) {
    uint64_t found = 0;
    uint32_t seen = 1;
    counters_.sgl_descriptors.add();
    uint32_t type = static_cast<uint32_t>(rest >> 60);
    if (type == 0 || type == 1) {
      const uint16_t status = add_block(address, rest, to_host, found);
      return status != 0 ? status : length_status(found, bytes);
    }
    for (;;) {
      // `address` and `rest` hold a segment descriptor.
      if (type != 2 && type != 3) return spec::final_status(spec::sgl_type_invalid);
      if ((rest >> 56 & 0xf) != 0) return spec::final_status(spec::sgl_type_invalid);
      if ((rest >> 32 & 0xffffff) != 0) note(NvmeViolation::reserved, "reserved bytes of an SGL descriptor are set");
      const bool last = type == 3;
      const uint64_t length = rest & 0xffffffffu;
      if (length == 0 || length % 16 != 0 || address % 8 != 0) return spec::final_status(spec::invalid_sgl_segment);
      const unsigned char* const segment = bus_.find_all(address, length);
      if (!segment) return spec::data_transfer_error;
      const uint64_t count = length / 16;
      seen += static_cast<uint32_t>(count);
      counters_.sgl_descriptors.add(count);
      if (seen > most_descriptors) return spec::final_status(spec::invalid_sgl_segment);
      bool next = false;
      for (uint64_t i = 0; i < count; ++i) {
        address = load(segment + 16 * i);
        rest = load(segment + 16 * i + 8);
        type = static_cast<uint32_t>(rest >> 60);
        if (type == 2 || type == 3) {
          // Only the last descriptor of a segment may link to another segment, and not in a Last Segment.
          if (last || i + 1 != count) return spec::final_status(spec::invalid_sgl_segment);
          next = true;
          break;
        }
        const uint16_t status = add_block(address, rest, to_host, found);
        if (status != 0) return status;
      }
      if (!next) return last ? length_status(found, bytes) : spec::final_status(spec::invalid_sgl_segment);
    }
  }

  /// Adds a data block or bit bucket descriptor.
  uint16_t add_block(uint64_t address, uint64_t rest, bool to_host, uint64_t& found) {
    const uint32_t type = static_cast<uint32_t>(rest >> 60);
    const uint64_t length = rest & 0xffffffffu;
    if (type > 1 || (rest >> 56 & 0xf) != 0) return spec::final_status(spec::sgl_type_invalid);
    if ((rest >> 32 & 0xffffff) != 0) note(NvmeViolation::reserved, "reserved bytes of an SGL descriptor are set");
    if (type == 1) {
      // A bit bucket discards data of a read; for host-to-controller transfers its length is ignored.
      if (!to_host || length == 0) return spec::success;
      pieces_.push_back({nullptr, length});
    } else {
      if (config_.sgl_dword_aligned && (address % 4 != 0 || length % 4 != 0))
        return spec::final_status(spec::sgl_granularity_invalid);
      if (!add(address, length)) return spec::data_transfer_error;
    }
    found += length;
    return spec::success;
  }

  /// SGLs longer than the transfer are not supported (SGLS bit 18 is 0).
  static uint16_t length_status(uint64_t found, uint64_t bytes) {
    return found == bytes ? uint16_t{spec::success} : spec::final_status(spec::sgl_data_length_invalid);
  }

  void note(NvmeViolation::Kind kind, const char* what) {
    violations_.add(kind, qid_, "opcode " + std::to_string(opcode_) + ": " + what);
  }

  static uint64_t load(const unsigned char* from) {
    uint64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  const NvmeConfig& config_;
  BusReader& bus_;
  detail::NvmeCounters& counters_;
  NvmeViolations& violations_;
  uint32_t qid_ = 0;
  uint32_t opcode_ = 0;
  uint64_t page_ = 4096;
  std::vector<Piece> pieces_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
