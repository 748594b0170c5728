// SPDX-License-Identifier: MIT
// NetXtreme-E: the library's own queue pair, and completions through its queues.

#include <xio/vendors/bnxt/traits.hpp>

#include "rdma_bnxt.hpp"
#include "rdma_drain.hpp"
#include "rdma_queue_poster.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace bnxt = xio::bnxt;
using bnxt::SideTableKind;
using bnxt::WqeMode;

constexpr uint64_t doorbell_page_bytes = 4096;

template <WqeMode Mode, SideTableKind Table, bool PowerOfTwo>
struct Variant : bnxt::Options {
  static constexpr WqeMode mode = Mode;
  static constexpr SideTableKind side_table = Table;
  static constexpr bool power_of_two = PowerOfTwo;
};

template <WqeMode Mode, SideTableKind Table, bool PowerOfTwo>
class BnxtQueue : public LibraryPoster<bnxt::Vendor<Variant<Mode, Table, PowerOfTwo>>> {
  using Base = LibraryPoster<bnxt::Vendor<Variant<Mode, Table, PowerOfTwo>>>;
  static constexpr uint32_t unit_slots = Mode == WqeMode::variable ? 1 : bnxt::static_wqe_slots;
  static constexpr bool has_messages = Table == SideTableKind::msn;

 public:
  BnxtQueue(const Json& file, const std::string& config, const Json& before, Use use)
      : Base(use, bnxt_shapes(file, config)), info_(member(member(file, "config_info"), config.c_str())) {
    const uint32_t entries = sends_.shape.entries;
    sends_.side_entries = has_messages ? number32(info_, "msn_tbl_sz") : entries;
    const char* const table = has_messages ? "msn_table" : "psn_table";
    stage_.add(table, size_t{sends_.side_entries} * bnxt::SideTable<Table>::entry_words * sizeof(uint64_t));
    stage_.add("doorbell_page", doorbell_page_bytes);
    sends_.side_table = stage_.template at<void>(table);
    sends_.sq_doorbell = receives_.doorbell = stage_.template at<void>("doorbell_page", bnxt::doorbell_offset);

    const uint32_t slots = number32(info_, "sq_depth_slots");
    const uint64_t tail = number_or(before, "sq_tail", 0);
    Standing sends;
    sends.next = tail / unit_slots + (number_or(before, "sq_epoch", 0) != 0 ? entries : 0);
    sends.in_flight = (tail + slots - number_or(before, "sq_head", 0)) % slots / unit_slots;
    // The provider keeps some slots free, and one more.
    sends.depth = (slots - number32(info_, "sq_full_delta_slots") - 1) / unit_slots;
    const uint32_t receive_slots = number32(info_, "rq_max_slots");
    const uint32_t receive_entries = receives_.shape.entries;
    const uint64_t receive_tail = number_or(before, "rq_tail", 0) / receive_slots;
    const uint64_t receive_head = number_or(before, "rq_head", 0) / receive_slots;
    Standing receives;
    receives.next = receive_tail + (number_or(before, "rq_epoch", 0) != 0 ? receive_entries : 0);
    receives.in_flight = (receive_tail + receive_entries - receive_head) % receive_entries;
    receives.depth = receive_entries;
    this->send().psn = number_in<uint32_t>(number_or(before, "sq_psn", 0)) & bnxt::psn_mask;
    this->send().msn = number_in<uint32_t>(number_or(before, "msn", 0));
    this->stand(sends, receives);
  }

  std::optional<Store> doorbell(const Json& call, bool receive) const override {
    Store store = Base::store_of(Base::recorded_register(call, true));
    const uint64_t value = from_little_endian(store.bytes);
    // What ends a copy to a push buffer names the same index, and its own register; it has no epoch.
    if (!receive && number_at(info_, "push_enabled") != 0 && store.offset != bnxt::doorbell_offset) {
      store.offset = bnxt::doorbell_offset;
      store.bytes = bytes_of(bnxt::doorbell(bnxt::DoorbellType::sq, static_cast<uint32_t>(value >> 32) & 0xfffff,
                                            static_cast<uint32_t>(value) & 0xffffff,
                                            number32(member(call, "after"), "sq_epoch")));
    }
    return store;
  }

  Json state() const override {
    const bnxt::RingPosition tail = bnxt::ring_position(this->sent(), sends_.shape.entries);
    const bnxt::RingPosition receive_tail = bnxt::ring_position(this->received(), receives_.shape.entries);
    Json known = {{"sq_tail", uint64_t{tail.index} * unit_slots},
                  {"sq_epoch", tail.epoch},
                  {"rq_tail", uint64_t{receive_tail.index} * number_at(info_, "rq_max_slots")},
                  {"rq_epoch", receive_tail.epoch}};
    // Beside a message table the provider lets its PSN grow beyond 24 bits; nothing looks at those.
    if (!has_messages) known["sq_psn"] = this->psn();
    if (has_messages) known["msn"] = this->msn() & (sends_.side_entries - 1);
    return known;
  }

 private:
  static uint64_t from_little_endian(const Bytes& bytes) {
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
    return value;
  }

  using Base::receives_;
  using Base::sends_;
  using Base::stage_;
  const Json& info_;
};

template <WqeMode Mode, SideTableKind Table>
std::unique_ptr<QueuePoster> make(bool power_of_two, const Json& file, const std::string& config, const Json& before,
                                  Use use) {
  if (power_of_two) return std::make_unique<BnxtQueue<Mode, Table, true>>(file, config, before, use);
  return std::make_unique<BnxtQueue<Mode, Table, false>>(file, config, before, use);
}

}  // namespace

std::unique_ptr<QueuePoster> bnxt_queue(const Json& file, const std::string& config, const Json& before, Use use) {
  const Json& info = member(member(file, "config_info"), config.c_str());
  const bool is_variable = number_at(member(member(file, "configs"), config.c_str()), "mode") != 0;
  const uint32_t entries = bnxt_shapes(file, config).send.entries;
  const bool power_of_two = (entries & (entries - 1)) == 0;
  const uint64_t receive_slots = number_at(info, "rq_max_slots");
  if (before.contains("rq_tail") && (receive_slots & (receive_slots - 1)) != 0) {
    throw EncodersAlone{"receive_entry_not_power_of_two"};
  }
  const auto with = [&](auto mode) {
    constexpr WqeMode m = decltype(mode)::value;
    if (number_at(info, "msn_tbl_sz") != 0) return make<m, SideTableKind::msn>(power_of_two, file, config, before, use);
    if (number_at(info, "pad_entry_size") == 16) {
      return make<m, SideTableKind::psn16>(power_of_two, file, config, before, use);
    }
    return make<m, SideTableKind::psn8>(power_of_two, file, config, before, use);
  };
  return is_variable ? with(std::integral_constant<WqeMode, WqeMode::variable>{})
                     : with(std::integral_constant<WqeMode, WqeMode::fixed>{});
}

namespace {

constexpr uint64_t first_receive = 0xb000;

template <WqeMode Mode>
struct DrainVariant : bnxt::Options {
  static constexpr WqeMode mode = Mode;
  static constexpr bool power_of_two = false;  // rings of any size
};

bool tells_the_end_alone(const Json& recorded) {
  for (const Bytes& entry : recorded_entries(recorded)) {
    const uint64_t type = little_endian(entry, 24, 4) >> bnxt::cqe_word::type_shift & bnxt::cqe_word::type_mask;
    if (static_cast<bnxt::CqeType>(type) != bnxt::CqeType::terminal) return false;
  }
  return true;
}

template <WqeMode Mode>
void drain(const Json& file, const Json& recorded, const std::string& config) {
  using Vendor = bnxt::Vendor<DrainVariant<Mode>>;
  constexpr uint32_t unit_slots = Mode == WqeMode::variable ? 1 : bnxt::static_wqe_slots;
  const Shapes shapes = bnxt_shapes(file, config);
  const Json& before = member(recorded, "before");
  const Json& after = member(recorded, "after");
  CompletionsAt at;
  const uint32_t entries = number32(recorded, "cq_depth");
  at.head = number_at(before, "cq_head") + (number_at(before, "cq_phase") != 0 ? 0 : entries);
  at.number = number32(recorded, "cqn");
  CompletionMemory completions(bnxt_completions(recorded), at);

  const bool signal_all = number_or(member(member(file, "configs"), config.c_str()), "sqsig", 0) != 0;
  const std::vector<Request> requests = posted_requests(recorded, signal_all);
  const uint64_t limit = number_at(recorded, "max_poll");
  const uint64_t receives = number_at(recorded, "recvs_posted");
  Drained drained;
  drained.head = at.head;
  if (!requests.empty()) {
    SendDrain<Vendor> sends(shapes.send, number_at(before, "sq_head") / unit_slots, number_at(before, "sq_last_idx"),
                            completions);
    for (const Request& request : requests) sends.post(request);
    drained = sends.drain(limit);
  }
  if (receives != 0) {
    // The end of a queue pair is told to both of its queues; here each has completions of its own.
    if (!requests.empty() && !tells_the_end_alone(recorded)) throw EncodersAlone{"both_queues"};
    expect_receives_in_order(recorded, first_receive, shapes.receive.entries, 0);
    CompletionMemory own(bnxt_completions(recorded), at);
    ReceiveDrain<Vendor> queue(shapes.receive, 0, own);
    const Drained more = queue.drain(receives, first_receive, limit - drained.reports.size());
    if (!requests.empty()) expect_number("entries read by both queues", drained.head, more.head);
    if (requests.empty()) completions = own;
    drained.head = more.head;
    drained.reports.insert(drained.reports.end(), more.reports.begin(), more.reports.end());
  }
  const uint64_t moved = (number_at(after, "cq_head") + entries - number_at(before, "cq_head")) % entries;
  expect_drained(recorded, drained, at.head + moved);
  // A driver may put its doorbell off.
  if (const auto doorbell = recorded_doorbell(recorded)) expect_number("doorbell", *doorbell, completions.doorbell());
}

}  // namespace

void drain_bnxt(const Json& file, const Json& recorded) {
  const auto config = member(recorded, "config").get<std::string>();
  const bool is_variable = number_at(member(member(file, "configs"), config.c_str()), "mode") != 0;
  is_variable ? drain<WqeMode::variable>(file, recorded, config) : drain<WqeMode::fixed>(file, recorded, config);
}

}  // namespace golden::rdma
