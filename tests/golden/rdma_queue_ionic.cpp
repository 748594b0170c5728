// SPDX-License-Identifier: MIT
// Pensando: the library's own queue pair, and completions through its queues.

#include <xio/vendors/ionic/traits.hpp>

#include "rdma_drain.hpp"
#include "rdma_ionic.hpp"
#include "rdma_queue_poster.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace ionic = xio::ionic;
using ionic::SpecFormat;
using ionic::Version;

constexpr uint64_t doorbell_page_bytes = 4096;

template <Version V, SpecFormat Spec>
struct Variant : ionic::Options {
  static constexpr Version version = V;
  static constexpr SpecFormat spec = Spec;
};

template <Version V, SpecFormat Spec>
class IonicQueue : public LibraryPoster<ionic::Vendor<Variant<V, Spec>>> {
  using Base = LibraryPoster<ionic::Vendor<Variant<V, Spec>>>;

 public:
  IonicQueue(const Json& file, const std::string& config, const Json& before, Use use)
      : Base(use, ionic_shapes(file, config)) {
    const Json& made = member(member(file, "configs"), config.c_str());
    stage_.add("doorbell_page", doorbell_page_bytes);
    sends_.sq_doorbell =
        stage_.template at<void>("doorbell_page", number_at(made, "sq_qtype") * ionic::doorbell_stride);
    receives_.doorbell =
        stage_.template at<void>("doorbell_page", number_at(made, "rq_qtype") * ionic::doorbell_stride);
    Standing sends = standing(before, "sq", sends_.shape.entries);
    // The color of the next entry tells on which lap it is.
    if (number_or(before, "sq_color", 1) == 0) sends.next += sends_.shape.entries;
    this->stand(sends, standing(before, "rq", receives_.shape.entries));
  }

  Posted post(const std::vector<Request>& requests) override {
    for (const Request& request : requests) {
      if (request.work.operation == lib::Operation::local_invalidate) throw EncodersAlone{"local_invalidate"};
    }
    return Base::post(requests);
  }

  std::optional<Store> doorbell(const Json& call, bool) const override {
    return Base::store_of(Base::recorded_register(call, true));
  }

  Json state() const override {
    const uint64_t sent = this->sent();
    return {{"sq_prod", sent & (sends_.shape.entries - 1)},
            {"sq_color", (sent & sends_.shape.entries) == 0 ? 1 : 0},
            {"rq_prod", this->received() & (receives_.shape.entries - 1)}};
  }

 private:
  static Standing standing(const Json& before, const std::string& name, uint32_t entries) {
    Standing at;
    at.next = number_or(before, (name + "_prod").c_str(), 0);
    at.in_flight = (at.next - number_or(before, (name + "_cons").c_str(), 0)) & (entries - 1);
    at.depth = entries - 1;
    return at;
  }

  using Base::receives_;
  using Base::sends_;
  using Base::stage_;
};

template <Version V>
std::unique_ptr<QueuePoster> make(SpecFormat spec, const Json& file, const std::string& config, const Json& before,
                                  Use use) {
  switch (spec) {
    case SpecFormat::up_to_8: return std::make_unique<IonicQueue<V, SpecFormat::up_to_8>>(file, config, before, use);
    case SpecFormat::up_to_16: return std::make_unique<IonicQueue<V, SpecFormat::up_to_16>>(file, config, before, use);
    default: return std::make_unique<IonicQueue<V, SpecFormat::none>>(file, config, before, use);
  }
}

}  // namespace

std::unique_ptr<QueuePoster> ionic_queue(const Json& file, const std::string& config, const Json& before, Use use) {
  const Json& made = member(member(file, "configs"), config.c_str());
  const bool receive = before.contains("rq_prod");
  if ((number_at(made, receive ? "rq_cmb" : "sq_cmb") & cmb_express) != 0) throw EncodersAlone{"express_doorbell"};
  // The library's vendor type says it for both queues.
  const SpecFormat spec = ionic_spec(made, receive ? "rq_sge" : "max_sge");
  return number_at(made, "version") == 2 ? make<Version::v2>(spec, file, config, before, use)
                                         : make<Version::v1>(spec, file, config, before, use);
}

namespace {

constexpr uint64_t first_receive = 0xb000;

template <Version V>
struct DrainVariant : ionic::Options {
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
  using Vendor = ionic::Vendor<DrainVariant<V>>;
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
