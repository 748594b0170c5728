// SPDX-License-Identifier: MIT
// ConnectX: entries, records, doorbells and completions.

#include <xio/vendors/mlx5/decode.hpp>
#include <xio/vendors/mlx5/encode.hpp>

#include "rdma_compare.hpp"
#include "rdma_mlx5.hpp"
#include "rdma_shapes.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

namespace mlx5 = xio::mlx5;
using xio::Be32;
using xio::Status;

constexpr uint64_t record_bytes = 8;
/// What the provider calls the fence after a memory operation.
constexpr uint64_t small_fence = 0x20;

class Mlx5Poster : public Poster {
 public:
  Mlx5Poster(const Json& file, const std::string& name, const Json& before)
      : config_(member(member(file, "configs"), name.c_str())), info_(member(file, "ring_info")), before_(before) {
    const Shapes shapes = mlx5_shapes(file, name);
    shape_ = shapes.send;
    receives_ = shapes.receive;
    memory_.add("sq", size_t{shape_.entries} << shape_.entry_shift);
    memory_.add("rq", size_t{receives_.entries} << receives_.entry_shift);
    memory_.add("qp_dbrec",
                before.contains("db_record") ? from_hex(before["db_record"].get<std::string>()) : Bytes(record_bytes));
    next_ = number_or(before, "sq_cur_post", 0);
    posts_ = number_or(before, "sq_head", 0);
    half_ = number_or(before, "bf_offset", 0);
    after_memory_operation_ = number_or(before, "fm_cache", 0) != 0;
    received_ = number_or(before, "rq_head", 0);
  }

  Posted post(const std::vector<Request>& requests) override {
    const bool is_signed = number_or(config_, "wq_sig", 0) != 0;
    return is_signed ? post_as<mlx5::SendEncoder<true>>(requests) : post_as<mlx5::SendEncoder<false>>(requests);
  }

  Posted receive(const std::vector<Request>& requests) override {
    Posted posted;
    posted.ring_size = memory_.region("rq").size();
    posted.ring_start = (received_ & (receives_.entries - 1)) << receives_.entry_shift;
    for (const Request& request : requests) {
      if (request.sges.size() > receives_.max_sges) posted.status = Status::out_of_range;
      if (!posted.status.is_ok()) break;
      lib::Place place;
      place.index = received_;
      RingSink sink(memory_, "rq", (received_ & (receives_.entries - 1)) << receives_.entry_shift);
      with_payload(request, [&](const auto& payload) {
        if constexpr (!std::decay_t<decltype(payload)>::is_inline) {
          mlx5::ReceiveEncoder::encode(receives_, payload, place, sink);
        }
      });
      ++received_;
      ++posted.accepted;
      posted.ring_bytes += uint64_t{1} << receives_.entry_shift;
    }
    if (posted.accepted != 0) store_record(mlx5::receive_record, received_);
    posted.stores = memory_.take();
    return posted;
  }

  Json state() const override {
    return {{"sq_cur_post", next_},
            {"sq_head", posts_},
            {"sq_tail", number_or(before_, "sq_tail", 0)},
            {"bf_offset", half_},
            {"fm_cache", after_memory_operation_ ? small_fence : 0},
            {"db_record", to_hex(memory_.region("qp_dbrec"))},
            {"rq_head", received_},
            {"rq_tail", number_or(before_, "rq_tail", 0)}};
  }

 private:
  template <class Encoder>
  Posted post_as(const std::vector<Request>& requests) {
    Posted posted;
    posted.ring_size = memory_.region("sq").size();
    posted.ring_start = offset_of(next_);
    uint64_t doorbell = 0;
    uint32_t segments = 0;
    uint64_t last = next_;
    for (const Request& request : requests) {
      with_payload(request, [&](const auto& payload) {
        posted.status = Encoder::check(shape_, request.work, payload);
        const bool full = posts_ - number_or(before_, "sq_tail", 0) >= number_at(info_, "sq_max_post");
        if (posted.status.is_ok() && full) posted.status = Status::would_block;
        if (!posted.status.is_ok()) return;
        lib::Place place;
        place.index = last = next_;
        place.wr_id = request.wr_id;
        place.after_memory_operation = after_memory_operation_;
        RingSink sink(memory_, "sq", offset_of(next_));
        doorbell = Encoder::encode(shape_, request.work, payload, place, sink);
        segments = Encoder::segments(shape_, request.work, payload);
        const uint32_t units = Encoder::units(shape_, request.work, payload);
        next_ += units;
        posted.ring_bytes += uint64_t{units} * mlx5::wqebb_bytes;
      });
      if (!posted.status.is_ok()) break;
      after_memory_operation_ = request.work.operation == lib::Operation::local_invalidate;
      ++posts_;
      ++posted.accepted;
    }
    if (posted.accepted != 0) {
      store_record(mlx5::send_record, next_);
      const bool wants_copy = requests[0].is_inline || number_at(config_, "prefer_bf") != 0;
      ring(doorbell, offset_of(last), segments, posted.accepted == 1 && wants_copy);
    }
    posted.stores = memory_.take();
    return posted;
  }

  /// Rings with 8 bytes, or copies the whole entry; either way the next doorbell goes to the register's other half.
  void ring(uint64_t doorbell, uint64_t offset, uint32_t segments, bool wants_copy) {
    const uint64_t half = number_at(config_, "bfreg") != 0 ? number_at(config_, "bf_reg_size") / 2 : 0;
    const uint64_t at = mlx5::uar_blue_flame + number_at(config_, "bfreg") * number_at(config_, "bf_reg_size") + half_;
    const uint64_t bytes =
        (uint64_t{segments} * mlx5::segment_bytes + mlx5::wqebb_bytes - 1) / mlx5::wqebb_bytes * mlx5::wqebb_bytes;
    if (wants_copy && number_at(config_, "shut_up_bf") == 0 && segments > 1 && bytes <= half) {
      memory_.copy("sq", offset, bytes, "uar", at, mlx5::wqebb_bytes);
    } else {
      memory_.store_register("uar", at, bytes_of(doorbell));
    }
    half_ ^= half;
  }

  void store_record(uint32_t word, uint64_t counter) {
    const Be32 value(static_cast<uint32_t>(counter & mlx5::record_counter_mask));
    memory_.store("qp_dbrec", uint64_t{word} * sizeof value, bytes_of(value.raw));
  }
  uint64_t offset_of(uint64_t counter) const { return (counter & (shape_.entries - 1)) << shape_.entry_shift; }

  const Json& config_;
  const Json& info_;
  const Json before_;
  lib::SendShape shape_;
  lib::ReceiveShape receives_;
  Memory memory_;
  uint64_t next_;
  uint64_t posts_;
  uint64_t half_;
  uint64_t received_;
  bool after_memory_operation_;
};

/// Of entries of version 1 the provider looks at the user index, which nobody tells the library.
void screen_user_index(const Json& recorded) {
  const Json& cq = member(recorded, "cq");
  if (number_or(cq, "cqe_version", 0) == 0) return;
  constexpr size_t from_the_end = 32;  // of a Cqe: srqn_uidx, the number in its lower 24 bits
  for (const Bytes& entry : recorded_entries(recorded)) {
    if (big_endian(entry, entry.size() - from_the_end + 1, 3) != number_or(cq, "uidx", 0)) {
      throw Skipped{"another_user_index"};
    }
  }
}

template <class Decoder>
void replay_completions(const Json& file, const Json& recorded) {
  const CompletionRing ring = mlx5_completions(recorded);
  expect_number("initial byte", number_at(recorded, "initial_op_own_all_slots"), Decoder::initial_byte);

  const uint32_t sq_units = number32(recorded, "sq_wqe_cnt");
  const uint32_t rq_entries = number32(member(file, "ring_info"), "rq_wqe_cnt");
  const uint64_t qpn = mlx5_shapes(file, "base").send.qpn;
  screen_user_index(recorded);
  bool failed = false;
  uint64_t index = number_at(recorded, "cons_index_before");
  std::vector<Reported> reports;
  for (; reports.size() < number_at(recorded, "max_poll"); ++index) {
    const auto completion = ring.look<Decoder>(index);
    if (!completion) break;
    if (completion->kind == lib::CompletionKind::nothing) continue;
    // The provider takes such an entry too.
    failed = completion->qpn != qpn;
    if (failed) {
      ++index;
      break;
    }
    const bool is_receive = completion->kind == lib::CompletionKind::receive;
    // The recording names requests by the place of their entries.
    const uint64_t wr_id = is_receive ? 0xb000 + (completion->counter & (rq_entries - 1))
                                      : 0xa000 + (completion->counter & (sq_units - 1));
    if (reports.size() < recorded["wc"].size()) {
      const Json& expected = recorded["wc"][reports.size()];
      const uint32_t detail = completion->status.is_ok() ? 0u : completion->status.vendor >> 8;
      expect_number("detail of the error", number_at(expected, "vendor_err"), detail);
    }
    reports.push_back({wr_id, is_receive, completion->status, *completion});
  }
  expect_reports(recorded, reports, failed);
  expect_number("consumer index after", number_at(recorded, "cons_index_after"), index);
  Bytes record = bytes_of(Be32(static_cast<uint32_t>(index & mlx5::consumer_index_mask)).raw);
  record.resize(record_bytes);
  expect_bytes("record after", from_hex(member(recorded, "cq_db_record_after").get<std::string>()), record);
}

void replay_completion(const Json& file, const Json& recorded) {
  const bool wide = number_at(member(recorded, "cq"), "cqe_size") == 128;
  wide ? replay_completions<mlx5::CompletionDecoder<128>>(file, recorded)
       : replay_completions<mlx5::CompletionDecoder<64>>(file, recorded);
}

void replay_arm(const Json&, const Json& recorded) {
  const Be32 word(mlx5::cq_arm_word(number32(recorded, "arm_sn"), number_at(recorded, "cons_index"),
                                    number_at(recorded, "solicited_only") != 0));
  Memory memory;
  memory.add("cq_dbrec", Bytes(record_bytes));
  memory.store("cq_dbrec", mlx5::arm_record * sizeof word, bytes_of(word.raw));
  const Be32 cqn(number32(recorded, "cqn"));
  memory.store_register("uar", mlx5::uar_cq_doorbell, bytes_of(uint64_t{cqn.raw} << 32 | word.raw));
  expect_bytes("record after", from_hex(member(recorded, "cq_db_record_after").get<std::string>()),
               memory.region("cq_dbrec"));
  expect_registers(member(recorded, "events"), memory.take(), recorded);
}

}  // namespace

CompletionRing mlx5_completions(const Json& recorded) {
  const Json& cq = member(recorded, "cq");
  const uint32_t entry_bytes = number32(cq, "cqe_size");
  CompletionRing ring(number32(cq, "cqe_cnt"), entry_bytes, 0);
  for (uint32_t slot = 0; slot < ring.entries(); ++slot) {
    ring.put(slot, entry_bytes - 1, Bytes{mlx5::initial_opcode_owner});
  }
  ring.put_all(member(recorded, "cqes"));
  return ring;
}

Shapes mlx5_shapes(const Json& file, const std::string& config) {
  const Json& made = member(member(file, "configs"), config.c_str());
  const Json& info = member(file, "ring_info");
  Shapes shapes;
  shapes.send.qpn = shapes.receive.qpn = number32(made, "qpn");
  shapes.send.entries = number32(info, "sq_wqe_cnt");
  shapes.send.entry_shift = mlx5::SendEncoder<>::unit_shift;
  shapes.send.max_sges = number32(made, "max_sge");
  shapes.send.max_inline = number32(info, "max_inline");
  shapes.receive.entries = number32(info, "rq_wqe_cnt");
  shapes.receive.entry_shift = number32(info, "rq_wqe_shift");
  shapes.receive.max_sges = number32(made, "rq_sge");
  return possible(shapes);
}

static void replay_mlx5(const Json& file, Report& report) {
  const Vendor vendor{[](const Json& all, const std::string& config, const Json& before) -> std::unique_ptr<Poster> {
                        return std::make_unique<Mlx5Poster>(all, config, before);
                      },
                      replay_completion,
                      replay_arm,
                      [](const Json&, const std::vector<Request>&) {},
                      mlx5_queue,
                      drain_mlx5};
  replay_file(file, report, vendor);
}

static const Registered registered_mlx5("mlx5", replay_mlx5);

}  // namespace golden::rdma
