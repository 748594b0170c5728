// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A controller that does what a test tells it to, writes down what it is told, and checks every address.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <xio/host/nvme/transport.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/layout.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>
#include <xio/vendors/nvme/registers.hpp>

namespace host_tests {

/// What the fake is like and what it did; outlives the transport, so that a test can look after its end.
struct FakeWorld {
  // Capabilities.
  uint32_t mqes = 2047;
  bool cqr = true;
  uint32_t to = 1;
  uint32_t dstrd = 0;
  uint32_t mpsmin = 0;
  uint32_t mpsmax = 4;
  uint32_t css = 1;
  uint8_t mdts = 5;
  uint16_t oacs = 0x100;
  uint32_t granted = 8;
  uint64_t blocks = 1000;
  uint32_t block_shift = 12;
  uint32_t format_metadata = 0;
  uint64_t eui64 = 0;
  std::string serial = "SERIAL";
  std::set<uint32_t> detached{2};  ///< namespaces that are not active
  uint32_t version = 0x00010400;
  std::vector<uint8_t> limits;  ///< CNS 06h begins with them; empty: it is not known
  bool extended = false;
  uint32_t highest_nsid = 4;         ///< NN
  uint32_t last_listed_nsid = 4999;  ///< of the list of active namespaces
  std::vector<uint8_t> descriptors;  ///< that identify a namespace (CNS 03h)

  // Misbehaviour.
  std::optional<uint32_t> reported_head;  ///< SQHD of every completion; empty: the right one
  bool stays_unready = false;
  bool stays_ready = false;
  bool fails_on_enable = false;
  bool bus_reset = false;    ///< the bus can reset it, which ends stays_ready
  bool keeps_fatal = false;  ///< disabling it leaves a fatal status, as QEMU's does; enabling takes it back
  bool stays_fatal = false;  ///< enabling does not either
  bool broken = false;       ///< nor does a reset by the bus
  bool gone = false;
  bool alive = true;
  std::set<uint32_t> closed_words;                   ///< doorbells that cannot be opened
  std::set<uint8_t> silent;                          ///< opcodes that are never answered
  std::set<uint8_t> fatal;                           ///< opcodes that end in CSTS.CFS
  std::map<uint8_t, std::deque<uint16_t>> statuses;  ///< status fields for the next commands of an opcode

  // What happened.
  std::vector<std::string> log;
  std::map<uint64_t, size_t> memory;  ///< what is allocated: bus address to bytes
  size_t allocations = 0;
  std::map<uint32_t, uint64_t> live_sqs;  ///< queue to ring address, or list address
  std::map<uint32_t, uint64_t> live_cqs;
  std::set<uint32_t> open_words;        ///< doorbells between open_doorbell() and close_doorbell()
  std::vector<std::string> violations;  ///< of what NvmeTransport says about its callers
};

/// The transport. Single-threaded: commands are served inside of ring().
class FakeNvme final : public xio::host::NvmeTransport {
 public:
  static constexpr uint64_t bus_offset = uint64_t{1} << 44;

  explicit FakeNvme(std::shared_ptr<FakeWorld> world) : world_(std::move(world)), words_(4096) {}
  ~FakeNvme() override {
    world_->log.emplace_back("end");
    for (const uint32_t index : world_->open_words) violate("open at the end", index);
  }

  uint32_t read32(uint64_t offset) override {
    check_alive();
    if (world_->gone) return 0xffffffff;
    if (offset == xio::nvme::reg::csts) return csts_;
    if (offset == xio::nvme::reg::cc) return cc_.raw;
    if (offset == xio::nvme::reg::vs) return world_->version;
    return 0;
  }
  uint64_t read64(uint64_t offset) override {
    check_alive();
    if (world_->gone) return ~uint64_t{0};
    if (offset != xio::nvme::reg::cap) return 0;
    const FakeWorld& w = *world_;
    return w.mqes | uint64_t{w.cqr} << 16 | uint64_t{w.to} << 24 | uint64_t{w.dstrd} << 32 | uint64_t{w.css} << 37 |
           uint64_t{w.mpsmin} << 48 | uint64_t{w.mpsmax} << 52;
  }
  void write32(uint64_t offset, uint32_t value) override {
    check_alive();
    note(offset, value);
    if (offset == xio::nvme::reg::cc) configure(xio::nvme::Cc{value});
    if (offset == xio::nvme::reg::aqa) aqa_.raw = value;
  }
  void write64(uint64_t offset, uint64_t value) override {
    check_alive();
    note(offset, value);
    if (offset == xio::nvme::reg::asq) asq_ = value;
    if (offset == xio::nvme::reg::acq) acq_ = value;
  }
  void ring(uint64_t offset, uint32_t value) override {
    check_alive();
    if (offset == xio::nvme::sq_tail_doorbell(0, world_->dstrd)) {
      serve(value);
    } else if (offset != xio::nvme::cq_head_doorbell(0, world_->dstrd)) {
      throw xio::host::Error("doorbell at an unexpected offset " + xio::host::to_hex(offset));
    }
  }
  xio::host::DmaBuffer allocate(size_t bytes, size_t alignment) override {
    void* data = nullptr;
    if (::posix_memalign(&data, alignment < 64 ? 64 : alignment, bytes) != 0) throw xio::host::Error("no memory");
    std::memset(data, 0, bytes);
    const uint64_t bus = reinterpret_cast<uintptr_t>(data) + bus_offset;
    world_->memory[bus] = bytes;
    ++world_->allocations;
    return {data, bus, bytes, std::shared_ptr<void>(data, [world = world_, bus](void* memory) {
              world->memory.erase(bus);
              std::free(memory);
            })};
  }
  uint32_t* doorbell_words() override { return words_.data(); }
  bool doorbells_are_registers() const override { return false; }
  void open_doorbell(uint32_t index) override {
    if (world_->closed_words.count(index) != 0) throw xio::host::Error("no doorbell " + std::to_string(index));
    world_->log.push_back("open " + std::to_string(index));
    if (!world_->open_words.insert(index).second) violate("opened twice", index);
  }
  void close_doorbell(uint32_t index) override {
    world_->log.push_back("close " + std::to_string(index));
    if (world_->open_words.erase(index) == 0) violate("closed without being open", index);
  }
  bool reset_device() override {
    if (!world_->bus_reset) return false;
    world_->log.emplace_back("bus reset");
    world_->stays_ready = false;
    cc_.raw = 0;
    csts_ = world_->broken ? csts_ & 2 : 0;
    return true;
  }
  std::string description() const override { return "the fake"; }
  bool alive() const override { return world_->alive; }

  /// Completes an outstanding event request with `dw0`.
  void raise_event(uint32_t dw0, uint16_t field = 0) {
    const uint16_t cid = events_.front();
    events_.pop_front();
    complete(cid, dw0, field);
  }
  void set_fatal() { csts_ |= 2; }

  /// Memory behind a bus address; an Error where it is not allocated.
  void* at(uint64_t bus, size_t bytes) const {
    const auto after = world_->memory.upper_bound(bus);
    if (after != world_->memory.begin()) {
      const auto& [begin, size] = *std::prev(after);
      if (bus - begin < size && size - (bus - begin) >= bytes) return reinterpret_cast<void*>(bus - bus_offset);
    }
    throw xio::host::Error("address " + xio::host::to_hex(bus) + " is not mapped");
  }

 private:
  void violate(const std::string& what, uint32_t index) const {
    world_->violations.push_back("word " + std::to_string(index) + " is " + what);
  }
  /// The controller is about to forget this queue.
  void check_closed(uint32_t qid) const {
    for (const uint32_t index : {(2 * qid) << world_->dstrd, (2 * qid + 1) << world_->dstrd})
      if (world_->open_words.count(index) != 0) violate("open while its queue goes", index);
  }

  void check_alive() const {
    if (!world_->alive) throw xio::host::Error("the fake has ended");
  }

  void note(uint64_t offset, uint64_t value) {
    const char* name = offset == xio::nvme::reg::cc    ? "cc"
                       : offset == xio::nvme::reg::aqa ? "aqa"
                       : offset == xio::nvme::reg::asq ? "asq"
                       : offset == xio::nvme::reg::acq ? "acq"
                                                       : "?";
    const bool address = offset == xio::nvme::reg::asq || offset == xio::nvme::reg::acq;
    world_->log.push_back(std::string(name) + " " +
                          (address ? "page+" + std::to_string(value % 4096) : xio::host::to_hex(value)));
  }

  void configure(xio::nvme::Cc cc) {
    const bool was_enabled = cc_.en();
    cc_ = cc;
    if (!cc.en() && !world_->stays_ready) csts_ = world_->keeps_fatal || world_->stays_fatal ? csts_ & 2 : 0;
    if (cc.shn() != 0) csts_ = (csts_ & ~0xcu) | 2u << 2;
    if (was_enabled && !cc.en()) {
      for (const auto& [qid, ring] : world_->live_sqs) check_closed(qid);
      world_->live_sqs.clear();
      world_->live_cqs.clear();
      events_.clear();
    } else if (!was_enabled && cc.en()) {
      head_ = cq_tail_ = 0;
      lap_ = 0;
      if (!world_->stays_fatal) csts_ = 0;
      if (world_->fails_on_enable) csts_ |= 2;
      if (!world_->stays_unready && !world_->fails_on_enable) csts_ |= 1;
    }
  }

  void serve(uint32_t tail) {
    const uint32_t entries = aqa_.asqs() + 1;
    while (head_ != tail) {
      xio::nvme::Sqe entry;
      std::memcpy(&entry, at(asq_ + head_ * sizeof entry, sizeof entry), sizeof entry);
      head_ = (head_ + 1) % entries;
      execute(entry);
    }
  }

  void execute(const xio::nvme::Sqe& entry) {
    const auto opcode = static_cast<uint8_t>(entry.cdw0);
    const auto cid = static_cast<uint16_t>(entry.cdw0 >> 16);
    world_->log.push_back("admin " + xio::host::to_hex(opcode, 2) + " " + xio::host::to_hex(entry.cdw10) + " " +
                          xio::host::to_hex(entry.cdw11));
    if (world_->fatal.count(opcode) != 0) csts_ |= 2;
    if (world_->silent.count(opcode) != 0 || world_->fatal.count(opcode) != 0) return;
    uint16_t field = 0;
    auto planned = world_->statuses.find(opcode);
    if (planned != world_->statuses.end() && !planned->second.empty()) {
      field = planned->second.front();
      planned->second.pop_front();
    }
    uint32_t dw0 = 0;
    if (field == 0) {
      switch (static_cast<xio::nvme::AdminOpcode>(opcode)) {
        case xio::nvme::AdminOpcode::identify:
          if ((entry.cdw10 & 0xff) == 6 && world_->limits.empty()) {
            field = 0x4002;
          } else {
            identify(entry);
          }
          break;
        case xio::nvme::AdminOpcode::set_features: dw0 = (world_->granted - 1) * 0x10001u; break;
        case xio::nvme::AdminOpcode::create_io_cq:
          world_->live_cqs[entry.cdw10 & 0xffff] = entry.prp1;
          at(entry.prp1, 16);
          break;
        case xio::nvme::AdminOpcode::create_io_sq:
          world_->live_sqs[entry.cdw10 & 0xffff] = entry.prp1;
          at(entry.prp1, 64);
          break;
        case xio::nvme::AdminOpcode::delete_io_cq: world_->live_cqs.erase(entry.cdw10); break;
        case xio::nvme::AdminOpcode::delete_io_sq:
          check_closed(entry.cdw10);
          world_->live_sqs.erase(entry.cdw10);
          break;
        case xio::nvme::AdminOpcode::doorbell_buffer_config:
          at(entry.prp1, 4096);
          at(entry.prp2, 4096);
          break;
        case xio::nvme::AdminOpcode::async_event_request: events_.push_back(cid); return;
        default: break;
      }
    }
    complete(cid, dw0, field);
  }

  void identify(const xio::nvme::Sqe& entry) {
    auto* page = static_cast<uint8_t*>(at(entry.prp1, 4096));
    const FakeWorld& w = *world_;
    if ((entry.cdw10 & 0xff) == 1) {
      std::memset(page + 4, ' ', 20);
      std::copy_n(w.serial.begin(), std::min<size_t>(w.serial.size(), 20), page + 4);
      std::memcpy(page + 24, "a fake model                            ", 40);
      std::memcpy(page + 64, "fw 1.0  ", 8);
      page[77] = w.mdts;
      page[256] = static_cast<uint8_t>(w.oacs);
      page[257] = static_cast<uint8_t>(w.oacs >> 8);
      page[259] = 3;
      std::memcpy(page + 516, &w.highest_nsid, sizeof w.highest_nsid);
    } else if ((entry.cdw10 & 0xff) == 6) {
      std::memcpy(page, w.limits.data(), w.limits.size());
    } else if ((entry.cdw10 & 0xff) == 0) {
      if (w.detached.count(entry.nsid) != 0) return;
      std::memcpy(page, &w.blocks, 8);
      page[26] = w.extended ? 0x10 : 0;
      std::memcpy(page + 120, &w.eui64, sizeof w.eui64);
      std::memcpy(page + 128, &w.format_metadata, 2);
      page[130] = static_cast<uint8_t>(w.block_shift);
    } else if ((entry.cdw10 & 0xff) == 3) {
      std::copy(w.descriptors.begin(), w.descriptors.end(), page);
    } else if ((entry.cdw10 & 0xff) == 2) {
      // Every other one: 1, 3, 5, ...
      uint32_t* const list = reinterpret_cast<uint32_t*>(page);
      uint32_t next = entry.nsid + 1 + (entry.nsid & 1);
      for (size_t i = 0; i < 1024 && next <= w.last_listed_nsid; ++i, next += 2) list[i] = next;
    }
  }

  void complete(uint16_t cid, uint32_t dw0, uint16_t field) {
    const uint32_t entries = aqa_.acqs() + 1;
    auto* entry = static_cast<xio::nvme::Cqe*>(at(acq_ + cq_tail_ * sizeof(xio::nvme::Cqe), sizeof(xio::nvme::Cqe)));
    entry->dw0 = dw0;
    entry->sqhd = static_cast<uint16_t>(world_->reported_head.value_or(head_));
    entry->sqid = 0;
    entry->cid = cid;
    entry->status = static_cast<uint16_t>(field << 1 | (lap_ % 2 == 0));
    if (++cq_tail_ == entries) {
      cq_tail_ = 0;
      ++lap_;
    }
  }

  std::shared_ptr<FakeWorld> world_;
  std::vector<uint32_t> words_;
  xio::nvme::Cc cc_{0x00460001};  // left enabled by somebody else
  uint32_t csts_ = 1;
  xio::nvme::Aqa aqa_;
  uint64_t asq_ = 0;
  uint64_t acq_ = 0;
  uint32_t head_ = 0;
  uint32_t cq_tail_ = 0;
  uint64_t lap_ = 0;
  std::deque<uint16_t> events_;
};

}  // namespace host_tests
