// SPDX-License-Identifier: MIT
// ERNIC: entries, ring state, doorbells and completions.

#include <xio/vendors/ernic/decode.hpp>
#include <xio/vendors/ernic/encode.hpp>

#include "rdma_compare.hpp"
#include "rdma_ernic.hpp"
#include "rdma_shapes.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

namespace ernic = xio::ernic;
using xio::Status;

/// Set-up's rule for the size of an entry: the next power of two.
uint32_t shift_of(uint64_t bytes) {
  uint32_t shift = 0;
  while (uint64_t{1} << shift < bytes) ++shift;
  return shift;
}

class ErnicPoster : public Poster {
 public:
  ErnicPoster(const Json& file, const std::string& name, const Json& before)
      : config_(member(member(file, "configs"), name.c_str())),
        info_(member(member(file, "config_info"), name.c_str())),
        sq_head_(number_or(before, "sq_cons_head", 0)),
        rq_head_(number_or(before, "rq_cons_head", 0)),
        next_(number_or(before, "sq_prod_tail", 0)),
        received_(number_or(before, "rq_prod_tail", 0)) {
    const Shapes shapes = ernic_shapes(file, name);
    shape_ = shapes.send;
    receives_ = shapes.receive;
    expect_number("size of an entry", number_at(info_, "sq_wqe_size"), uint64_t{1} << shape_.entry_shift);
    memory_.add("sq", size_t{shape_.entries} << shape_.entry_shift);
    memory_.add("rq", size_t{receives_.entries} << receives_.entry_shift);
    memory_.add("qp_ring_state", sizeof(ernic::RingState));
  }

  Posted post(const std::vector<Request>& requests) override {
    Posted posted = start("sq", next_, shape_.entries, shape_.entry_shift);
    uint64_t doorbell = 0;
    for (const Request& request : requests) {
      with_payload(request, [&](const auto& payload) {
        posted.status = ernic::SendEncoder::check(shape_, request.work, payload);
        if (posted.status.is_ok()) posted.status = room(next_, sq_head_, shape_.entries);
        if (!posted.status.is_ok()) return;
        RingSink sink(memory_, "sq", (next_ & (shape_.entries - 1)) << shape_.entry_shift);
        lib::Place place;
        place.index = next_;
        place.wr_id = request.wr_id;
        doorbell = ernic::SendEncoder::encode(shape_, request.work, payload, place, sink);
      });
      if (!posted.status.is_ok()) break;
      next_ = ernic::ring_next(static_cast<uint32_t>(next_), shape_.entries);
      posted.ring_bytes += uint64_t{1} << shape_.entry_shift;
      ++posted.accepted;
    }
    finish(posted, XIO_OFFSETOF(ernic::RingState, tx), ernic::ring_index(next_, shape_.entries),
           static_cast<uint32_t>(doorbell));
    return posted;
  }

  Posted receive(const std::vector<Request>& requests) override {
    Posted posted = start("rq", received_, receives_.entries, receives_.entry_shift);
    for (const Request& request : requests) {
      with_payload(request, [&](const auto& payload) {
        if constexpr (!std::decay_t<decltype(payload)>::is_inline) {
          posted.status = ernic::ReceiveEncoder::check(receives_, payload);
          if (posted.status.is_ok()) posted.status = room(received_, rq_head_, receives_.entries);
          if (!posted.status.is_ok()) return;
          RingSink sink(memory_, "rq", (received_ & (receives_.entries - 1)) << receives_.entry_shift);
          lib::Place place;
          place.index = received_;
          place.wr_id = request.wr_id;
          ernic::ReceiveEncoder::encode(receives_, payload, place, sink);
        }
      });
      if (!posted.status.is_ok()) break;
      received_ = ernic::ring_next(static_cast<uint32_t>(received_), receives_.entries);
      posted.ring_bytes += uint64_t{1} << receives_.entry_shift;
      ++posted.accepted;
    }
    finish(posted, XIO_OFFSETOF(ernic::RingState, rx), ernic::ring_index(received_, receives_.entries),
           ernic::doorbell(receives_.qpn, ernic::uar_qp_receive));
    return posted;
  }

  Json state() const override {
    return {
        {"sq_prod_tail", next_}, {"sq_cons_head", sq_head_}, {"rq_prod_tail", received_}, {"rq_cons_head", rq_head_}};
  }

 private:
  static Status room(uint64_t tail, uint64_t head, uint32_t entries) {
    if (tail >= 2 * uint64_t{entries} || head >= 2 * uint64_t{entries}) return Status::broken;
    return ernic::ring_full(static_cast<uint32_t>(tail), static_cast<uint32_t>(head), entries) ? Status::would_block
                                                                                               : Status::ok;
  }
  Posted start(const char* region, uint64_t tail, uint32_t entries, uint32_t shift) const {
    Posted posted;
    posted.ring_size = memory_.region(region).size();
    posted.ring_start = (tail & (entries - 1)) << shift;
    return posted;
  }
  /// Announces what was stored.
  void finish(Posted& posted, uint64_t ring, uint32_t tail, uint32_t doorbell) {
    if (posted.accepted != 0) {
      memory_.store("qp_ring_state", ring + XIO_OFFSETOF(ernic::Ring, producer_tail), bytes_of(tail));
      memory_.store_register("uar", ernic::uar_qp_offset, bytes_of(doorbell));
    }
    posted.stores = memory_.take();
  }

  const Json& config_;
  const Json& info_;
  lib::SendShape shape_;
  lib::ReceiveShape receives_;
  Memory memory_;
  uint64_t sq_head_, rq_head_, next_, received_;
};

/// Names of the verbs.
std::string name_of(ernic::CqeOpcode opcode) {
  switch (opcode) {
    case ernic::CqeOpcode::send: return "SEND";
    case ernic::CqeOpcode::rdma_write: return "RDMA_WRITE";
    case ernic::CqeOpcode::rdma_read: return "RDMA_READ";
    case ernic::CqeOpcode::compare_swap: return "COMP_SWAP";
    case ernic::CqeOpcode::fetch_add: return "FETCH_ADD";
    case ernic::CqeOpcode::receive: return "RECV";
    case ernic::CqeOpcode::receive_rdma_immediate: return "RECV_RDMA_WITH_IMM";
    default: return name(opcode);
  }
}

void expect_poll_doorbell(const Json& recorded, bool found_empty) {
  Memory memory;
  // The provider asks the device for more where it finds the ring empty.
  if (found_empty) {
    memory.store_register("uar", ernic::uar_cq_offset,
                          bytes_of(ernic::doorbell(number32(recorded, "cqn"), ernic::uar_cq_poll)));
  }
  expect_registers(member(recorded, "events"), memory.take(), recorded);
}

void replay_completion(const Json& file, const Json& recorded) {
  using Decoder = ernic::CompletionDecoder;
  const CompletionRing ring = ernic_completions(recorded);
  const Json& before = member(recorded, "before");
  const uint64_t producer = number_at(before, "rx.prod_tail");
  const bool valid = producer < 2 * uint64_t{ring.entries()};
  uint64_t index = number_at(before, "rx.cons_head");
  // All configurations have one queue pair, but for the one with the largest handle.
  const uint32_t handle = number32(member(member(file, "configs"), "sge4_256B"), "qp_handle") & 0xffff;
  std::vector<Reported> reports;
  bool found_empty = false;
  while (reports.size() < number_at(recorded, "max_poll")) {
    const auto completion = ring.look<Decoder>(index, producer);
    if (!completion) {
      found_empty = valid;
      break;
    }
    // The provider stops there, and stops there again.
    if (completion->qpn != handle) break;
    if (reports.size() < recorded["wc"].size() && completion->status.is_ok()) {
      const auto opcode = static_cast<ernic::CqeOpcode>(static_cast<uint32_t>(ring.load(index, Decoder::word_offset)));
      const auto expected = member(recorded["wc"][reports.size()], "opcode").get<std::string>();
      if (expected != name_of(opcode)) throw Mismatch("opcode " + expected + ", actual " + name_of(opcode));
    }
    reports.push_back(
        {completion->wr_id, completion->kind == lib::CompletionKind::receive, completion->status, *completion});
    index = ernic::ring_next(static_cast<uint32_t>(index), ring.entries());
  }
  expect_reports(recorded, reports);
  expect_number("consumer index after", number_at(member(recorded, "after"), "rx.cons_head"), index);
  expect_poll_doorbell(recorded, found_empty);
}

void replay_arm(const Json&, const Json& recorded) {
  // The case's name alone says what it asks for.
  const bool solicited = member(recorded, "id").get<std::string>().find("sol") != std::string::npos;
  Memory memory;
  memory.store_register("uar", ernic::uar_cq_offset,
                        bytes_of(ernic::doorbell(number32(recorded, "cqn"),
                                                 solicited ? ernic::uar_cq_arm_solicited : ernic::uar_cq_arm)));
  expect_registers(member(recorded, "events"), memory.take(), recorded);
}

void screen(const Json&, const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    if (request.inline_flag && !request.is_inline) throw Skipped{"inline_flag_without_inline_data"};
    if (request.work.operation == lib::Operation::send_invalidate) throw Skipped{"driver_send_invalidate"};
  }
}

/// Requests whose inline data are empty name pieces all the same, and do not say where those lie: whether the entry
/// lists them is the driver's choice.
void forget_empty_pieces(const Json& file, Json& recorded) {
  const Shapes shapes = ernic_shapes(file, member(recorded, "config").get<std::string>());
  uint64_t index = number_or(member(recorded, "before"), "sq_prod_tail", 0);
  for (const Json& wr : member(recorded, "wrs")) {
    const uint64_t entry = (index++ & (shapes.send.entries - 1)) << shapes.send.entry_shift;
    size_t bytes = 0;
    for (const Json& segment : list_or_empty(wr, "inline_segments")) bytes += segment.get<std::string>().size();
    if (!wr.contains("inline_segments") || bytes != 0) continue;
    for (Json& chunk : recorded["sq"]) {
      const uint64_t from = number_at(chunk, "off");
      const Bytes content = from_hex(member(chunk, "hex").get<std::string>());
      Bytes mask = chunk.contains("mask") ? from_hex(chunk["mask"].get<std::string>()) : Bytes(content.size(), 0xff);
      for (size_t i = 0; i < content.size() && i < mask.size(); ++i) {
        if (from + i < entry) continue;
        const uint64_t at = from + i - entry;
        const bool is_count = at - XIO_OFFSETOF(ernic::SqHeader, sges) < sizeof(uint32_t);
        const bool is_piece = at >= ernic::sq_sge_offset && at < uint64_t{1} << shapes.send.entry_shift;
        const uint64_t field = (at - ernic::sq_sge_offset) % sizeof(ernic::Sge);
        const bool is_length = is_piece && field - XIO_OFFSETOF(ernic::Sge, length) < sizeof(uint32_t);
        if (is_length && content[i] != 0) throw Mismatch("a piece with data, where the request has none");
        if (is_count || is_piece) mask[i] = 0;
      }
      chunk["mask"] = to_hex(mask);
    }
  }
}

}  // namespace

CompletionRing ernic_completions(const Json& recorded) {
  using Decoder = ernic::CompletionDecoder;
  CompletionRing ring(number32(recorded, "cq_cqe_cnt"), Decoder::entry_bytes, Decoder::initial_byte);
  ring.put_all(member(recorded, "cqes"));
  return ring;
}

Shapes ernic_shapes(const Json& file, const std::string& config) {
  const Json& made = member(member(file, "configs"), config.c_str());
  const Json& info = member(member(file, "config_info"), config.c_str());
  Shapes shapes;
  shapes.send.qpn = shapes.receive.qpn = number32(made, "qp_handle");
  shapes.send.entries = number32(info, "sq_wqe_cnt");
  shapes.send.max_sges = number32(made, "max_sge");
  shapes.send.entry_shift = shift_of(ernic::sq_sge_offset + shapes.send.max_sges * sizeof(ernic::Sge));
  shapes.receive.entries = number32(info, "rq_wqe_cnt");
  shapes.receive.max_sges = number32(made, "rq_sge");
  shapes.receive.entry_shift = shift_of(number32(info, "rq_wqe_size"));
  return possible(shapes);
}

static void replay_ernic(const Json& file, Report& report) {
  const Vendor vendor{[](const Json& all, const std::string& config, const Json& before) -> std::unique_ptr<Poster> {
                        return std::make_unique<ErnicPoster>(all, config, before);
                      },
                      replay_completion,
                      replay_arm,
                      screen,
                      ernic_queue,
                      drain_ernic};
  Json adapted = file;
  for (Json& recorded : adapted["post_send"]) {
    try {
      forget_empty_pieces(file, recorded);
    } catch (const std::exception&) {
      // The replay says what is wrong with the case.
    }
  }
  replay_file(adapted, report, vendor);
}

static const Registered registered_ernic("ernic (PVRDMA wire ABI)", replay_ernic);

}  // namespace golden::rdma
