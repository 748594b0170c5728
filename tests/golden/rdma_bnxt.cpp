// SPDX-License-Identifier: MIT
// NetXtreme-E: entries, tables, doorbells and push buffers.

#include <xio/vendors/bnxt/encode.hpp>

#include "rdma_bnxt.hpp"
#include "rdma_compare.hpp"
#include "rdma_shapes.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

namespace bnxt = xio::bnxt;
using xio::Status;

// The provider gives a queue pair the first of its push buffers that is free: the second, whose doorbell is the third.
constexpr uint64_t push_slot = 1;
constexpr uint64_t push_doorbell_offset = 8 * (push_slot + 1);
constexpr uint64_t push_buffer_offset = push_slot * bnxt::push_buffer_bytes;

class BnxtPoster : public Poster {
 public:
  BnxtPoster(const Json& file, const std::string& name, const Json& before)
      : config_(member(member(file, "configs"), name.c_str())),
        info_(member(member(file, "config_info"), name.c_str())),
        before_(before) {
    const Shapes shapes = bnxt_shapes(file, name);
    shape_ = shapes.send;
    receives_ = shapes.receive;
    is_variable_ = number_at(config_, "mode") != 0;
    slots_ = static_cast<uint32_t>(number_within("slots", number_at(info_, "sq_depth_slots"), 1, 1u << 20));
    receive_slots_ = count32(info_, "rq_max_slots");
    memory_.add("sq", size_t{slots_} * bnxt::slot_bytes);
    memory_.add("rq", size_t{receives_.entries} * receive_slots_ * bnxt::slot_bytes);
    memory_.add("msn_table", number_at(info_, "msn_tbl_sz") * 8);
    memory_.add("psn_table", size_t{slots_} * 16);
    next_ = number_or(before, is_variable_ ? "sq_tail" : "sq_start_idx", 0);
    if (number_or(before, "sq_epoch", 0) != 0) next_ += shape_.entries;
    posts_ = number_or(before, "sq_start_idx", 0);
    psn_ = number_in<uint32_t>(number_or(before, "sq_psn", 0));
    messages_ = number_or(before, "msn", 0);
    received_ = number_or(before, "rq_start_idx", 0);
    if (number_or(before, "rq_epoch", 0) != 0) received_ += receives_.entries;
  }

  Posted post(const std::vector<Request>& requests) override {
    return is_variable_ ? post_as<bnxt::WqeMode::variable>(requests) : post_as<bnxt::WqeMode::fixed>(requests);
  }

  Posted receive(const std::vector<Request>& requests) override {
    Posted posted;
    posted.ring_size = memory_.region("rq").size();
    const uint64_t entry_bytes = uint64_t{receive_slots_} * bnxt::slot_bytes;
    posted.ring_start = bnxt::ring_position(received_, receives_.entries).index * entry_bytes;
    for (const Request& request : requests) {
      with_payload(request, [&](const auto& payload) {
        posted.status = bnxt::ReceiveEncoder::check(receives_, payload);
        if (!posted.status.is_ok()) return;
        RingSink sink(memory_, "rq", bnxt::ring_position(received_, receives_.entries).index * entry_bytes);
        lib::Place place;
        place.index = received_;
        if constexpr (!std::decay_t<decltype(payload)>::is_inline) {
          bnxt::ReceiveEncoder::encode(receives_, payload, place, sink);
        }
      });
      if (!posted.status.is_ok()) break;
      ++received_;
      ++posted.accepted;
      posted.ring_bytes += entry_bytes;
    }
    if (posted.accepted != 0) {
      memory_.store_register(
          "doorbell_page", bnxt::doorbell_offset,
          bytes_of(bnxt::doorbell_at(bnxt::DoorbellType::rq, receives_.qpn, received_, receives_.entries)));
    }
    posted.stores = memory_.take();
    return posted;
  }

  Json state() const override {
    const bnxt::RingPosition tail = bnxt::ring_position(next_, shape_.entries);
    const bnxt::RingPosition receive_tail = bnxt::ring_position(received_, receives_.entries);
    return {{"sq_tail", uint64_t{tail.index} * unit_slots()},
            {"sq_epoch", tail.epoch},
            {"sq_head", number_or(before_, "sq_head", 0)},
            {"sq_start_idx", posts_ % count32(info_, "sq_wqe_count")},
            {"sq_last_idx", number_or(before_, "sq_last_idx", 0)},
            {"sq_psn", has_messages() ? psn_ : psn_ & bnxt::psn_mask},
            {"msn", has_messages() ? messages_ & (number_at(info_, "msn_tbl_sz") - 1) : messages_},
            {"rq_tail", uint64_t{receive_tail.index} * receive_slots_},
            {"rq_head", number_or(before_, "rq_head", 0)},
            {"rq_epoch", receive_tail.epoch},
            {"rq_start_idx", receive_tail.index}};
  }

 private:
  template <bnxt::WqeMode Mode>
  Posted post_as(const std::vector<Request>& requests) {
    using Encoder = bnxt::SendEncoder<Mode>;
    Posted posted;
    posted.ring_size = memory_.region("sq").size();
    posted.ring_start = offset_of(next_);
    uint64_t doorbell = 0;
    for (const Request& request : requests) {
      with_payload(request, [&](const auto& payload) {
        posted.status = Encoder::check(shape_, request.work, payload);
        const uint32_t units = Encoder::units(shape_, request.work, payload);
        if (posted.status.is_ok() && !has_room(units * unit_slots())) posted.status = Status::would_block;
        if (!posted.status.is_ok()) return;
        lib::Place place;
        place.index = next_;
        place.wr_id = request.wr_id;
        RingSink sink(memory_, "sq", offset_of(next_));
        doorbell = Encoder::encode(shape_, request.work, payload, place, sink);
        store_table_entry(request);
        // The copy announces itself, and what was posted before it.
        if (request.is_inline && number_at(info_, "push_enabled") != 0) {
          push(Encoder::slots(payload), next_ + units);
          doorbell = 0;
        }
        next_ += units;
        posted.ring_bytes += uint64_t{units} * unit_slots() * bnxt::slot_bytes;
      });
      if (!posted.status.is_ok()) break;
      ++posts_;
      ++messages_;
      ++posted.accepted;
    }
    if (!has_messages()) messages_ = number_or(before_, "msn", 0);
    if (doorbell != 0) memory_.store_register("doorbell_page", bnxt::doorbell_offset, bytes_of(doorbell));
    posted.stores = memory_.take();
    return posted;
  }

  void store_table_entry(const Request& request) {
    if (has_messages()) return store_entry<bnxt::SideTableKind::msn>("msn_table", request);
    return number_at(info_, "pad_entry_size") == 16 ? store_entry<bnxt::SideTableKind::psn16>("psn_table", request)
                                                    : store_entry<bnxt::SideTableKind::psn8>("psn_table", request);
  }
  template <bnxt::SideTableKind Kind>
  void store_entry(const char* region, const Request& request) {
    using Table = bnxt::SideTable<Kind>;
    const uint32_t start = bnxt::ring_position(next_, shape_.entries).index;
    const uint32_t packets = Table::packets(request.bytes(), shape_.mtu_shift);
    const uint32_t end_psn = Table::next_psn(psn_, packets);
    const uint64_t index = Table::index(start, messages_, number32(info_, "msn_tbl_sz"));
    for (uint32_t i = 0; i < Table::entry_words; ++i) {
      memory_.store(region, (index * Table::entry_words + i) * 8,
                    bytes_of(Table::word(i, request.work.operation, psn_, end_psn, start)));
    }
    psn_ += packets;
  }

  void push(uint32_t slots, uint64_t end) {
    const uint32_t id = number32(config_, "wcdpi");
    const auto ring = [&](bnxt::DoorbellType type, uint64_t counter) {
      const uint32_t index = bnxt::ring_position(counter, shape_.entries).index;
      memory_.store_register("doorbell_page", push_doorbell_offset,
                             bytes_of(bnxt::push_doorbell(type, shape_.qpn, index, id)));
    };
    ring(bnxt::DoorbellType::push_start, next_);
    memory_.copy("sq", offset_of(next_), uint64_t{slots} * bnxt::slot_bytes, "push_page", push_buffer_offset, 8);
    ring(bnxt::DoorbellType::push_end, end);
  }

  /// The provider keeps some slots free.
  bool has_room(uint64_t slots) const {
    const uint64_t tail = uint64_t{bnxt::ring_position(next_, shape_.entries).index} * unit_slots();
    const uint64_t free = (number_or(before_, "sq_head", 0) + slots_ - tail - 1) % slots_ + 1;
    return free > slots + number_at(info_, "sq_full_delta_slots");
  }
  bool has_messages() const { return number_at(info_, "msn_tbl_sz") != 0; }
  uint32_t unit_slots() const { return is_variable_ ? 1 : bnxt::static_wqe_slots; }
  uint64_t offset_of(uint64_t counter) const {
    return uint64_t{bnxt::ring_position(counter, shape_.entries).index} * unit_slots() * bnxt::slot_bytes;
  }

  const Json& config_;
  const Json& info_;
  const Json before_;
  lib::SendShape shape_;
  lib::ReceiveShape receives_;
  Memory memory_;
  bool is_variable_;
  uint32_t slots_;
  uint32_t receive_slots_;
  uint64_t next_;
  uint64_t posts_;
  uint64_t messages_;
  uint64_t received_;
  uint32_t psn_;  ///< with more than its 24 bits, as the provider keeps it beside a message table
};

void replay_arm(const Json& file, const Json& recorded) {
  const uint32_t entries = number32(member(member(file, "config_info"), "p7_static_msn"), "cq_depth");
  const uint64_t head = number_at(recorded, "cq_head") + number_at(recorded, "cq_epoch") * entries;
  const bool solicited = number_at(recorded, "solicited_only") != 0;
  Memory memory;
  memory.store_register(
      "doorbell_page", bnxt::doorbell_offset,
      bytes_of(bnxt::doorbell_at(solicited ? bnxt::DoorbellType::cq_arm_solicited : bnxt::DoorbellType::cq_arm_all,
                                 number32(recorded, "cqn"), head, entries, number32(recorded, "toggle"))));
  expect_registers(member(recorded, "events"), memory.take(), recorded);
}

void screen(const Json&, const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    if (request.work.operation == lib::Operation::send_invalidate) throw Skipped{"driver_send_invalidate"};
  }
}

}  // namespace

Shapes bnxt_shapes(const Json& file, const std::string& config) {
  const Json& made = member(member(file, "configs"), config.c_str());
  const Json& info = member(member(file, "config_info"), config.c_str());
  Shapes shapes;
  shapes.send.qpn = shapes.receive.qpn = number32(made, "qpn");
  const uint32_t slots = number32(info, "sq_depth_slots");
  shapes.send.entries = number_at(made, "mode") != 0 ? slots : slots / bnxt::static_wqe_slots;
  shapes.send.max_sges = number32(made, "max_sge");
  shapes.send.max_inline = number32(info, "max_inline");
  while (uint64_t{1} << shapes.send.mtu_shift < number32(info, "mtu")) ++shapes.send.mtu_shift;
  const uint32_t entry_bytes = count32(info, "rq_max_slots") * bnxt::slot_bytes;
  shapes.receive.entries = number32(info, "rq_depth_slots") / count32(info, "rq_max_slots");
  while (uint32_t{1} << shapes.receive.entry_shift < entry_bytes) ++shapes.receive.entry_shift;
  shapes.receive.max_sges = number32(made, "rq_sge");
  return possible(shapes);
}

static void replay_bnxt(const Json& file, Report& report) {
  const Vendor vendor{[](const Json& all, const std::string& config, const Json& before) -> std::unique_ptr<Poster> {
                        return std::make_unique<BnxtPoster>(all, config, before);
                      },
                      replay_bnxt_completion,
                      replay_arm,
                      screen,
                      bnxt_queue,
                      drain_bnxt};
  replay_file(file, report, vendor);
}

static const Registered registered_bnxt("bnxt_re", replay_bnxt);

}  // namespace golden::rdma
