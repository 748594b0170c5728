// SPDX-License-Identifier: MIT
// Pensando: completions through the library's own queues.

#include <xio/vendors/ionic/traits.hpp>

#include "rdma_drain.hpp"
#include "rdma_ionic.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace ionic = xio::ionic;
using ionic::Version;

constexpr uint64_t first_receive = 0xb000;

template <Version V>
struct Variant : ionic::Options {
  static constexpr Version version = V;
};

bool names_another(const Json& recorded) {
  for (const Bytes& entry : recorded_entries(recorded)) {
    if (big_endian(entry, 28, 4) >> ionic::cqe_word::qid_shift != number_at(recorded, "qpn")) return true;
  }
  return false;
}

/// @throws EncodersAlone
void screen(const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    if (request.work.operation == lib::Operation::local_invalidate) throw EncodersAlone{"local_invalidate"};
  }
}

template <Version V>
void drain(const Json& file, const Json& recorded, const std::string& config) {
  using Vendor = ionic::Vendor<Variant<V>>;
  const Shapes shapes = ionic_shapes(file, config);
  const Json& before = member(recorded, "before");
  const Json& made = member(member(file, "configs"), config.c_str());
  const std::vector<Request> requests = posted_requests(recorded, number_or(made, "sqsig", 0) != 0);
  screen(requests);
  expect_receives_in_order(recorded, first_receive, shapes.receive.entries, 0);
  CompletionsAt at;
  const uint32_t entries = number32(recorded, "cq_mask") + 1;
  at.head = number_at(before, "cq_prod") + (number_at(before, "cq_color") != 0 ? 0 : entries);
  at.number = number32(made, "cqn");
  const CompletionRing ring = ionic_completions(recorded);
  CompletionMemory completions(ring, at);

  const uint64_t limit = number_at(recorded, "max_poll");
  Drained drained;
  if (reports_receives(recorded) || (requests.empty() && number_at(recorded, "recvs_posted") != 0)) {
    drained = ReceiveDrain<Vendor>(shapes.receive, 0, completions)
                  .drain(number_at(recorded, "recvs_posted"), first_receive, limit);
  } else {
    SendDrain<Vendor> sends(shapes.send, number_at(before, "sq_cons"), number_at(before, "sq_msn_cons"), completions);
    for (const Request& request : requests) sends.post(request);
    drained = sends.drain(limit);
  }
  const uint64_t moved =
      (number_at(member(recorded, "after"), "cq_prod") - number_at(before, "cq_prod")) & (entries - 1);
  if (drained.broken && names_another(recorded)) throw EncodersAlone{"entry_of_another_queue_pair"};
  const bool stops = stops_at<ionic::CompletionDecoder>(recorded, ring, at.head + moved);
  expect_drained(recorded, drained, at.head + moved, stops);
  // A driver may put its doorbell off.
  const auto doorbell = drained.broken ? std::nullopt : recorded_doorbell(recorded);
  if (doorbell) expect_number("doorbell", *doorbell, completions.doorbell());
}

}  // namespace

void drain_ionic(const Json& file, const Json& recorded) {
  const auto config = member(recorded, "config").get<std::string>();
  const bool second = number_at(member(member(file, "configs"), config.c_str()), "version") == 2;
  second ? drain<Version::v2>(file, recorded, config) : drain<Version::v1>(file, recorded, config);
}

}  // namespace golden::rdma
