// SPDX-License-Identifier: MIT
// NetXtreme-E: completions through the library's own queues.

#include <xio/vendors/bnxt/traits.hpp>

#include "rdma_bnxt.hpp"
#include "rdma_drain.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace bnxt = xio::bnxt;
using bnxt::WqeMode;

constexpr uint64_t first_receive = 0xb000;

template <WqeMode Mode>
struct Variant : bnxt::Options {
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
  using Vendor = bnxt::Vendor<Variant<Mode>>;
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
