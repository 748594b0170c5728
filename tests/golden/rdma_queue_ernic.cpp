// SPDX-License-Identifier: MIT
// ERNIC: the library's own queue pair, and completions through its queues.

#include <xio/vendors/ernic/traits.hpp>

#include "rdma_drain.hpp"
#include "rdma_ernic.hpp"
#include "rdma_queue_poster.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace ernic = xio::ernic;

constexpr uint64_t uar_page_bytes = 4096;

class ErnicQueue : public LibraryPoster<ernic::Vendor> {
 public:
  ErnicQueue(const Json& file, const std::string& config, const Json& before, Use use)
      : LibraryPoster(use, ernic_shapes(file, config)) {
    const Standing sends = standing(before, "sq", sends_.shape.entries);
    const Standing receives = standing(before, "rq", receives_.shape.entries);
    Bytes rings;
    for (const Standing& at : {sends, receives}) {
      for (const uint64_t index : {at.next, at.next - at.in_flight}) {
        const Bytes word = bytes_of(static_cast<uint32_t>(index));
        rings.insert(rings.end(), word.begin(), word.end());
      }
    }
    stage_.add("qp_ring_state", rings);
    stage_.add("uar", uar_page_bytes);
    constexpr uint64_t tail = XIO_OFFSETOF(ernic::Ring, producer_tail);
    sends_.sq_record = stage_.at<uint32_t>("qp_ring_state", XIO_OFFSETOF(ernic::RingState, tx) + tail);
    receives_.record = stage_.at<uint32_t>("qp_ring_state", XIO_OFFSETOF(ernic::RingState, rx) + tail);
    sends_.sq_doorbell = receives_.doorbell = stage_.at<void>("uar", ernic::uar_qp_offset);
    stand(sends, receives);
  }

  Posted post(const std::vector<Request>& requests) override {
    const uint64_t first = sent();
    const Posted posted = LibraryPoster::post(requests);
    // Sends come back with the counter after them.
    for (uint64_t next = first; next != sent(); ++next) {
      own_fields_.push_back(own_field("sq", next, sends_.shape.entries, sends_.shape.entry_shift, next + 1));
    }
    return posted;
  }

  Posted receive(const std::vector<Request>& requests) override {
    const uint64_t first = received();
    const Posted posted = LibraryPoster::receive(requests);
    for (uint64_t next = first; next != received(); ++next) {
      own_fields_.push_back(own_field("rq", next, receives_.shape.entries, receives_.shape.entry_shift, next));
    }
    return posted;
  }

  std::vector<Store> own_fields() const override { return own_fields_; }

  std::optional<Store> doorbell(const Json& call, bool) const override {
    return store_of(recorded_register(call, true));
  }

  Json state() const override {
    return {{"sq_prod_tail", sent() & (2 * sends_.shape.entries - 1)},
            {"rq_prod_tail", received() & (2 * receives_.shape.entries - 1)}};
  }

 private:
  static Standing standing(const Json& before, const std::string& name, uint32_t entries) {
    Standing at;
    at.next = number_or(before, (name + "_prod_tail").c_str(), 0);
    const uint64_t head = number_or(before, (name + "_cons_head").c_str(), 0);
    if (at.next >= 2 * uint64_t{entries} || head >= 2 * uint64_t{entries}) throw EncodersAlone{"impossible_counter"};
    at.in_flight = (at.next - head) & (2 * entries - 1);
    at.depth = entries;
    return at;
  }

  Store own_field(const char* region, uint64_t index, uint32_t entries, uint32_t shift, uint64_t wr_id) const {
    static_assert(XIO_OFFSETOF(ernic::SqHeader, wr_id) == 0 && XIO_OFFSETOF(ernic::RqHeader, wr_id) == 0);
    return {false, region, (index & (entries - 1)) << shift, bytes_of(wr_id + laps(entries)), {}, 0};
  }

  std::vector<Store> own_fields_;
};

}  // namespace

std::unique_ptr<QueuePoster> ernic_queue(const Json& file, const std::string& config, const Json& before, Use use) {
  return std::make_unique<ErnicQueue>(file, config, before, use);
}

namespace {

/// Whether the entries are of the receive queue.
bool is_of_receives(const Json& recorded) {
  size_t receives = 0;
  for (const Bytes& entry : recorded_entries(recorded)) {
    const auto opcode = static_cast<ernic::CqeOpcode>(little_endian(entry, XIO_OFFSETOF(ernic::Cqe, opcode), 4));
    receives += opcode == ernic::CqeOpcode::receive || opcode == ernic::CqeOpcode::receive_rdma_immediate ? 1 : 0;
  }
  if (receives != 0 && receives != recorded["cqes"].size()) throw EncodersAlone{"both_queues"};
  return receives != 0;
}

}  // namespace

// An entry repeats the wr_id of its operation, and the library's queues give each a number of their own: the recorded
// one is replaced by it. They never ask the device to look for more, as the provider does when it finds the queue
// empty.
void drain_ernic(const Json& file, const Json& recorded) {
  const Shapes shapes = ernic_shapes(file, "sge4_256B");
  const Json& before = member(recorded, "before");
  const uint32_t entries = number32(recorded, "cq_cqe_cnt");
  CompletionsAt at;
  at.head = number_at(before, "rx.cons_head");
  at.producer = number32(before, "rx.prod_tail");
  const CompletionRing ring = ernic_completions(recorded);
  CompletionMemory completions(ring, at);

  const Json& reported = member(recorded, "wc");
  const uint64_t limit = number_at(recorded, "max_poll");
  const size_t posted = recorded["cqes"].size();
  Drained drained;
  if (is_of_receives(recorded)) {
    drained = ReceiveDrain<ernic::Vendor>(shapes.receive, 0, completions).drain(posted, 0, limit);
    // The library names a receive by its token.
    for (size_t i = 0; i < drained.reports.size(); ++i) drained.reports[i].wr_id = number_at(reported.at(i), "wr_id");
  } else {
    SendDrain<ernic::Vendor> sends(shapes.send, 0, 0, completions);
    for (size_t i = 0; i < posted; ++i) {
      Request request;
      request.work.flags = lib::work_flag::signaled;
      if (i < reported.size()) request.wr_id = number_at(reported[i], "wr_id");
      completions.put(at.head + i, ernic::CompletionDecoder::entry_bytes, XIO_OFFSETOF(ernic::Cqe, wr_id),
                      sends.post(request));
    }
    drained = sends.drain(limit);
  }
  const uint64_t after = number_at(member(recorded, "after"), "rx.cons_head");
  const uint64_t head_after = at.head + ((after - at.head) & (2 * entries - 1));
  const bool stops = stops_at<ernic::CompletionDecoder>(recorded, ring, head_after, at.producer);
  expect_drained(recorded, drained, head_after, stops);
  if (!drained.broken && drained.head != at.head) expect_number("record", after, completions.record());
}

}  // namespace golden::rdma
