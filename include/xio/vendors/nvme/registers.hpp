// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Controller registers in BAR0 and the offsets of the doorbells (NVM Express Base Specification 2.0, section
/// 3.1.3; NVMe over PCIe Transport Specification 1.0, section 3.1).
///
/// Each register is a struct around its raw value; the accessors have the specification's field names. Registers that
/// software writes have setters, which return the changed value.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Bits `low` to `low + width - 1` of a register or data word; width 1 to 63.
XIO_DEVICE constexpr uint64_t bits(uint64_t raw, uint32_t low, uint32_t width) {
  return raw >> low & ((uint64_t{1} << width) - 1);
}

/// `raw` with bits `low` to `low + width - 1` replaced by `value`, truncated to `width` bits.
XIO_DEVICE constexpr uint64_t with_bits(uint64_t raw, uint32_t low, uint32_t width, uint64_t value) {
  const uint64_t mask = ((uint64_t{1} << width) - 1) << low;
  return (raw & ~mask) | (value << low & mask);
}

/// Offsets in BAR0.
namespace reg {
/// @addtogroup vendors_nvme
/// @{
constexpr uint64_t cap = 0x00;          ///< controller capabilities, 8 bytes
constexpr uint64_t vs = 0x08;           ///< version
constexpr uint64_t intms = 0x0c;        ///< interrupt mask set
constexpr uint64_t intmc = 0x10;        ///< interrupt mask clear
constexpr uint64_t cc = 0x14;           ///< controller configuration
constexpr uint64_t csts = 0x1c;         ///< controller status
constexpr uint64_t nssr = 0x20;         ///< NVM subsystem reset
constexpr uint64_t aqa = 0x24;          ///< admin queue attributes
constexpr uint64_t asq = 0x28;          ///< admin submission queue base, 8 bytes
constexpr uint64_t acq = 0x30;          ///< admin completion queue base, 8 bytes
constexpr uint64_t cmbloc = 0x38;       ///< controller memory buffer location
constexpr uint64_t cmbsz = 0x3c;        ///< controller memory buffer size
constexpr uint64_t bpinfo = 0x40;       ///< boot partition information
constexpr uint64_t bprsel = 0x44;       ///< boot partition read select
constexpr uint64_t bpmbl = 0x48;        ///< boot partition memory buffer location, 8 bytes
constexpr uint64_t cmbmsc = 0x50;       ///< controller memory buffer memory space control, 8 bytes
constexpr uint64_t cmbsts = 0x58;       ///< controller memory buffer status
constexpr uint64_t cmbebs = 0x5c;       ///< controller memory buffer elasticity buffer size
constexpr uint64_t cmbswtp = 0x60;      ///< controller memory buffer sustained write throughput
constexpr uint64_t nssd = 0x64;         ///< NVM subsystem shutdown
constexpr uint64_t crto = 0x68;         ///< controller ready timeouts
constexpr uint64_t pmrcap = 0xe00;      ///< persistent memory region capabilities
constexpr uint64_t pmrctl = 0xe04;      ///< persistent memory region control
constexpr uint64_t pmrsts = 0xe08;      ///< persistent memory region status
constexpr uint64_t pmrebs = 0xe0c;      ///< persistent memory region elasticity buffer size
constexpr uint64_t pmrswtp = 0xe10;     ///< persistent memory region sustained write throughput
constexpr uint64_t pmrmscl = 0xe14;     ///< persistent memory region memory space control, lower half
constexpr uint64_t pmrmscu = 0xe18;     ///< persistent memory region memory space control, upper half
constexpr uint64_t doorbells = 0x1000;  ///< first doorbell
/// @}
}  // namespace reg

/// Written to NSSR to reset the NVM subsystem: "NVMe".
constexpr uint32_t nssr_magic = 0x4e564d65;

/// Bytes between consecutive doorbells; `dstrd` is CAP.DSTRD, 0 to 15.
XIO_DEVICE constexpr uint64_t doorbell_stride(uint32_t dstrd) { return uint64_t{4} << dstrd; }

/// Offset of the SQ tail doorbell from the first doorbell; DBBUF's shadow and EventIdx pages have the same layout.
XIO_DEVICE constexpr uint64_t sq_tail_slot(uint32_t qid, uint32_t dstrd) {
  return uint64_t{2} * qid * doorbell_stride(dstrd);
}
/// Offset of the CQ head doorbell from the first doorbell.
XIO_DEVICE constexpr uint64_t cq_head_slot(uint32_t qid, uint32_t dstrd) {
  return (uint64_t{2} * qid + 1) * doorbell_stride(dstrd);
}
/// BAR0 offset of the tail doorbell of submission queue `qid`.
XIO_DEVICE constexpr uint64_t sq_tail_doorbell(uint32_t qid, uint32_t dstrd) {
  return reg::doorbells + sq_tail_slot(qid, dstrd);
}
/// BAR0 offset of the head doorbell of completion queue `qid`.
XIO_DEVICE constexpr uint64_t cq_head_doorbell(uint32_t qid, uint32_t dstrd) {
  return reg::doorbells + cq_head_slot(qid, dstrd);
}

/// Controller capabilities.
struct Cap {
  uint64_t raw = 0;

  XIO_HOST_DEVICE constexpr uint32_t get(uint32_t low, uint32_t width) const {
    return static_cast<uint32_t>(bits(raw, low, width));
  }
  XIO_HOST_DEVICE constexpr uint32_t mqes() const { return get(0, 16); }    ///< most entries of a queue - 1
  XIO_HOST_DEVICE constexpr bool cqr() const { return get(16, 1); }         ///< queues must be physically contiguous
  XIO_HOST_DEVICE constexpr uint32_t ams() const { return get(17, 2); }     ///< arbitration mechanisms
  XIO_HOST_DEVICE constexpr uint32_t to() const { return get(24, 8); }      ///< time to become ready, units of 500 ms
  XIO_HOST_DEVICE constexpr uint32_t dstrd() const { return get(32, 4); }   ///< doorbell stride: 4 << dstrd bytes
  XIO_HOST_DEVICE constexpr bool nssrs() const { return get(36, 1); }       ///< subsystem reset supported
  XIO_HOST_DEVICE constexpr uint32_t css() const { return get(37, 8); }     ///< command sets: bit 0 NVM, 6 all, 7 none
  XIO_HOST_DEVICE constexpr bool bps() const { return get(45, 1); }         ///< boot partitions
  XIO_HOST_DEVICE constexpr uint32_t cps() const { return get(46, 2); }     ///< scope of controller power
  XIO_HOST_DEVICE constexpr uint32_t mpsmin() const { return get(48, 4); }  ///< smallest page: 2^(12 + mpsmin) bytes
  XIO_HOST_DEVICE constexpr uint32_t mpsmax() const { return get(52, 4); }  ///< largest page: 2^(12 + mpsmax) bytes
  XIO_HOST_DEVICE constexpr bool pmrs() const { return get(56, 1); }        ///< persistent memory region
  XIO_HOST_DEVICE constexpr bool cmbs() const { return get(57, 1); }        ///< controller memory buffer
  XIO_HOST_DEVICE constexpr bool nsss() const { return get(58, 1); }        ///< subsystem shutdown
  XIO_HOST_DEVICE constexpr bool crwms() const { return get(59, 1); }       ///< "ready with media" mode
  XIO_HOST_DEVICE constexpr bool crims() const { return get(60, 1); }       ///< "ready independent of media" mode
};

/// Version of the specification that the controller follows.
struct Vs {
  uint32_t raw = 0;

  XIO_HOST_DEVICE constexpr uint32_t mjr() const { return raw >> 16; }
  XIO_HOST_DEVICE constexpr uint32_t mnr() const { return raw >> 8 & 0xff; }
  XIO_HOST_DEVICE constexpr uint32_t ter() const { return raw & 0xff; }
};

/// Controller configuration.
struct Cc {
  uint32_t raw = 0;

  XIO_HOST_DEVICE constexpr uint32_t get(uint32_t low, uint32_t width) const {
    return static_cast<uint32_t>(bits(raw, low, width));
  }
  XIO_HOST_DEVICE constexpr bool en() const { return get(0, 1); }
  XIO_HOST_DEVICE constexpr uint32_t css() const { return get(4, 3); }  ///< 0 NVM, 6 all supported sets, 7 admin only
  XIO_HOST_DEVICE constexpr uint32_t mps() const { return get(7, 4); }  ///< memory page: 2^(12 + mps) bytes
  XIO_HOST_DEVICE constexpr uint32_t ams() const { return get(11, 3); }
  XIO_HOST_DEVICE constexpr uint32_t shn() const { return get(14, 2); }     ///< shutdown: 1 normal, 2 abrupt
  XIO_HOST_DEVICE constexpr uint32_t iosqes() const { return get(16, 4); }  ///< log2 of the SQE size: 6
  XIO_HOST_DEVICE constexpr uint32_t iocqes() const { return get(20, 4); }  ///< log2 of the CQE size: 4
  XIO_HOST_DEVICE constexpr bool crime() const { return get(24, 1); }

  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc set(uint32_t low, uint32_t width, uint32_t value) const {
    return Cc{static_cast<uint32_t>(with_bits(raw, low, width, value))};
  }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc en(bool value) const { return set(0, 1, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc css(uint32_t value) const { return set(4, 3, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc mps(uint32_t value) const { return set(7, 4, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc ams(uint32_t value) const { return set(11, 3, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc shn(uint32_t value) const { return set(14, 2, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc iosqes(uint32_t value) const { return set(16, 4, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc iocqes(uint32_t value) const { return set(20, 4, value); }
  [[nodiscard]] XIO_HOST_DEVICE constexpr Cc crime(bool value) const { return set(24, 1, value); }
};

/// Controller status. All ones means that the device does not respond.
struct Csts {
  uint32_t raw = 0;

  XIO_HOST_DEVICE constexpr bool rdy() const { return raw & 1; }
  XIO_HOST_DEVICE constexpr bool cfs() const { return raw >> 1 & 1; }         ///< controller fatal status
  XIO_HOST_DEVICE constexpr uint32_t shst() const { return raw >> 2 & 3; }    ///< shutdown: 1 occurring, 2 complete
  XIO_HOST_DEVICE constexpr bool nssro() const { return raw >> 4 & 1; }       ///< a subsystem reset occurred
  XIO_HOST_DEVICE constexpr bool pp() const { return raw >> 5 & 1; }          ///< processing paused
  XIO_HOST_DEVICE constexpr bool st() const { return raw >> 6 & 1; }          ///< shutdown type
  XIO_HOST_DEVICE constexpr bool gone() const { return raw == 0xffffffffu; }  ///< the device does not respond
};

/// Admin queue attributes: sizes of the admin queues, each 2 to 4096 entries, stored less one.
struct Aqa {
  uint32_t raw = 0;

  /// From numbers of entries.
  [[nodiscard]] XIO_HOST_DEVICE static constexpr Aqa of(uint32_t sq_entries, uint32_t cq_entries) {
    return Aqa{((sq_entries - 1) & 0xfff) | ((cq_entries - 1) & 0xfff) << 16};
  }
  XIO_HOST_DEVICE constexpr uint32_t asqs() const { return raw & 0xfff; }        ///< submission entries - 1
  XIO_HOST_DEVICE constexpr uint32_t acqs() const { return raw >> 16 & 0xfff; }  ///< completion entries - 1
};

/// Location of the controller memory buffer.
struct Cmbloc {
  uint32_t raw = 0;

  XIO_HOST_DEVICE constexpr uint32_t bir() const { return raw & 7; }       ///< BAR number
  XIO_HOST_DEVICE constexpr bool cqmms() const { return raw >> 3 & 1; }    ///< queues may mix memories
  XIO_HOST_DEVICE constexpr bool cqpds() const { return raw >> 4 & 1; }    ///< queues need not be contiguous
  XIO_HOST_DEVICE constexpr bool cdplms() const { return raw >> 5 & 1; }   ///< lists may mix memories
  XIO_HOST_DEVICE constexpr bool cdpcils() const { return raw >> 6 & 1; }  ///< data pointers may be independent
  XIO_HOST_DEVICE constexpr bool cdmmms() const { return raw >> 7 & 1; }   ///< data and metadata may mix memories
  XIO_HOST_DEVICE constexpr bool cqda() const { return raw >> 8 & 1; }     ///< dword alignment suffices for queues
  XIO_HOST_DEVICE constexpr uint32_t ofst() const { return raw >> 12; }    ///< offset in units of Cmbsz::unit
};

/// Size of the controller memory buffer and its permitted uses.
struct Cmbsz {
  uint32_t raw = 0;

  XIO_HOST_DEVICE constexpr bool sqs() const { return raw & 1; }         ///< submission queues
  XIO_HOST_DEVICE constexpr bool cqs() const { return raw >> 1 & 1; }    ///< completion queues
  XIO_HOST_DEVICE constexpr bool lists() const { return raw >> 2 & 1; }  ///< PRP and SGL lists
  XIO_HOST_DEVICE constexpr bool rds() const { return raw >> 3 & 1; }    ///< data of reads
  XIO_HOST_DEVICE constexpr bool wds() const { return raw >> 4 & 1; }    ///< data of writes
  XIO_HOST_DEVICE constexpr uint32_t szu() const { return raw >> 8 & 0xf; }
  XIO_HOST_DEVICE constexpr uint32_t sz() const { return raw >> 12; }
  XIO_HOST_DEVICE constexpr uint64_t unit() const { return uint64_t{4096} << (4 * szu()); }  ///< bytes
  XIO_HOST_DEVICE constexpr uint64_t bytes() const { return sz() * unit(); }
};

/// Controller memory buffer memory space control.
struct Cmbmsc {
  uint64_t raw = 0;

  /// `base`: address at which the controller decodes its buffer, a multiple of 4096.
  [[nodiscard]] XIO_HOST_DEVICE static constexpr Cmbmsc at(uint64_t base) {
    return Cmbmsc{(base & ~uint64_t{0xfff}) | 3};
  }
  XIO_HOST_DEVICE constexpr bool cre() const { return raw & 1; }        ///< CMBLOC and CMBSZ are enabled
  XIO_HOST_DEVICE constexpr bool cmse() const { return raw >> 1 & 1; }  ///< the controller decodes the range
  XIO_HOST_DEVICE constexpr uint64_t cba() const { return raw >> 12; }  ///< base address / 4096
};

/// Controller ready timeouts, units of 500 ms.
struct Crto {
  uint32_t raw = 0;

  XIO_HOST_DEVICE constexpr uint32_t crwmt() const { return raw & 0xffff; }  ///< with media
  XIO_HOST_DEVICE constexpr uint32_t crimt() const { return raw >> 16; }     ///< independent of media
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
