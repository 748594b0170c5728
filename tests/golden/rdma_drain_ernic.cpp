// SPDX-License-Identifier: MIT
// ERNIC: completions through the library's own queues. An entry repeats the wr_id of its operation, and the library's
// queues give each a number of their own: the recorded one is replaced by it. They never ask the device to look for
// more, as the provider does when it finds the queue empty.

#include <xio/vendors/ernic/traits.hpp>

#include "rdma_drain.hpp"
#include "rdma_ernic.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace ernic = xio::ernic;

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
