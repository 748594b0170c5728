// SPDX-License-Identifier: MIT
// Pensando: entries in both versions, in host and in controller memory, and doorbells.

#include <algorithm>

#include <xio/vendors/ionic/encode.hpp>

#include "rdma_compare.hpp"
#include "rdma_ionic.hpp"
#include "rdma_shapes.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

namespace ionic = xio::ionic;
using ionic::SpecFormat;
using ionic::Version;
using xio::Status;

/// What is copied to controller memory at once.
constexpr uint64_t copy_bytes = 64;

/// One queue of a queue pair.
struct Ring {
  std::string region;
  uint64_t entries = 0;
  uint32_t shift = 0;
  uint64_t next = 0;
  uint64_t consumer = 0;
  uint64_t cmb = 0;
  uint64_t queue_type = 0;

  uint64_t offset() const { return (next & (entries - 1)) << shift; }
  uint64_t in_flight() const { return (next - consumer) & (entries - 1); }
};

class IonicPoster : public Poster {
 public:
  IonicPoster(const Json& file, const std::string& name, const Json& before)
      : config_(member(member(file, "configs"), name.c_str())),
        info_(member(member(file, "config_info"), name.c_str())),
        before_(before) {
    sq_ = ring_of("sq");
    rq_ = ring_of("rq");
    // The color of the next entry tells on which lap it is.
    if (number_or(before, "sq_color", 1) == 0) sq_.next += sq_.entries;
    message_ = number_or(before, "sq_msn_prod", 0);
    reserve_ = number_or(before, "cq_reserve", 0);
    const Shapes shapes = ionic_shapes(file, name);
    send_shape_ = shapes.send;
    receive_shape_ = shapes.receive;
  }

  Posted post(const std::vector<Request>& requests) override {
    const bool second = number_at(config_, "version") == 2;
    if (is_express()) {
      return second ? post_as<ionic::SendEncoder<Version::v2, SpecFormat::none, true>>(requests)
                    : post_as<ionic::SendEncoder<Version::v1, SpecFormat::none, true>>(requests);
    }
    switch (ionic_spec(config_, "max_sge")) {
      case SpecFormat::up_to_8:
        return second ? post_as<ionic::SendEncoder<Version::v2, SpecFormat::up_to_8>>(requests)
                      : post_as<ionic::SendEncoder<Version::v1, SpecFormat::up_to_8>>(requests);
      case SpecFormat::up_to_16:
        return second ? post_as<ionic::SendEncoder<Version::v2, SpecFormat::up_to_16>>(requests)
                      : post_as<ionic::SendEncoder<Version::v1, SpecFormat::up_to_16>>(requests);
      default:
        return second ? post_as<ionic::SendEncoder<Version::v2>>(requests)
                      : post_as<ionic::SendEncoder<Version::v1>>(requests);
    }
  }

  Posted receive(const std::vector<Request>& requests) override {
    switch (ionic_spec(config_, "rq_sge")) {
      case SpecFormat::up_to_8: return receive_as<ionic::ReceiveEncoder<SpecFormat::up_to_8>>(requests);
      case SpecFormat::up_to_16: return receive_as<ionic::ReceiveEncoder<SpecFormat::up_to_16>>(requests);
      default: return receive_as<ionic::ReceiveEncoder<>>(requests);
    }
  }

  Json state() const override {
    return {{"sq_prod", sq_.next & (sq_.entries - 1)},
            {"sq_cons", sq_.consumer},
            {"sq_color", (sq_.next & sq_.entries) == 0 ? 1 : 0},
            {"sq_msn_prod", message_ & (sq_.entries - 1)},
            {"sq_msn_cons", number_or(before_, "sq_msn_cons", 0)},
            {"rq_prod", rq_.next & (rq_.entries - 1)},
            {"rq_cons", rq_.consumer},
            {"cq_reserve", reserve_}};
  }

 private:
  Ring ring_of(const std::string& name) {
    Ring ring;
    ring.region = name;
    ring.entries = number_at(info_, (name + "_mask").c_str()) + 1;
    ring.shift = number32(info_, (name + "_stride_log2").c_str());
    ring.next = number_or(before_, (name + "_prod").c_str(), 0);
    ring.consumer = number_or(before_, (name + "_cons").c_str(), 0);
    ring.cmb = number_at(config_, (name + "_cmb").c_str());
    ring.queue_type = number_at(config_, (name + "_qtype").c_str());
    memory_.add(name, size_t{ring.entries} << ring.shift);
    return ring;
  }
  bool is_express() const { return (number_at(config_, "sq_cmb") & cmb_express) != 0; }

  template <class Encoder>
  Posted post_as(const std::vector<Request>& requests) {
    return post_all(sq_, requests, [&](const Request& request, const auto& payload) {
      if (is_express() && sq_.shift == 6 && lib::is_atomic(request.work.operation) &&
          number_at(config_, "version") == 1) {
        throw Skipped{"express_doorbell_over_data"};
      }
      Status status = Encoder::check(send_shape_, request.work, payload);
      if (status.is_ok() && sq_.in_flight() == sq_.entries - 1) status = Status::would_block;
      if (!status.is_ok()) return status;
      lib::Place place;
      place.index = sq_.next;
      RingSink sink(memory_, "sq", sq_.offset());
      doorbell_ = Encoder::encode(send_shape_, request.work, payload, place, sink);
      if (Encoder::has_message_number(request.work.operation)) ++message_;
      return status;
    });
  }

  template <class Encoder>
  Posted receive_as(const std::vector<Request>& requests) {
    return post_all(rq_, requests, [&](const Request&, const auto& payload) {
      if constexpr (std::decay_t<decltype(payload)>::is_inline) {
        return Status(Status::invalid_argument);
      } else {
        Status status = Encoder::check(receive_shape_, payload);
        if (status.is_ok() && rq_.in_flight() == rq_.entries - 1) status = Status::would_block;
        if (!status.is_ok()) return status;
        lib::Place place;
        place.index = rq_.next;
        RingSink sink(memory_, "rq", rq_.offset());
        Encoder::encode(receive_shape_, payload, place, sink);
        doorbell_ = ionic::doorbell_at(receive_shape_.qpn, rq_.next + 1, receive_shape_.entries);
        return status;
      }
    });
  }

  template <class One>
  Posted post_all(Ring& ring, const std::vector<Request>& requests, const One& one) {
    Posted posted;
    posted.ring_size = ring.entries << ring.shift;
    posted.ring_start = ring.offset();
    for (const Request& request : requests) {
      posted.status = with_payload(request, [&](const auto& payload) { return one(request, payload); });
      if (!posted.status.is_ok()) break;
      const uint64_t bytes = uint64_t{1} << ring.shift;
      if ((ring.cmb & cmb_enabled) != 0) {
        memory_.copy(ring.region, ring.offset(), bytes, ring.region + "_cmb", ring.offset(), copy_bytes);
      }
      ++ring.next;
      ++posted.accepted;
      posted.ring_bytes += bytes;
      --reserve_;
    }
    if (posted.accepted != 0 && (ring.cmb & cmb_express) == 0) {
      memory_.store_register("doorbell_page", ring.queue_type * ionic::doorbell_stride, bytes_of(doorbell_));
    }
    posted.stores = memory_.take();
    return posted;
  }

  const Json& config_;
  const Json& info_;
  const Json before_;
  lib::SendShape send_shape_;
  lib::ReceiveShape receive_shape_;
  Memory memory_;
  Ring sq_, rq_;
  uint64_t message_;
  uint64_t reserve_;
  uint64_t doorbell_ = 0;
};

/// The provider rings for the completion queue when it has posted as much as that has room for: it goes by where it is
/// in that queue, which the case does not say.
void screen(const Json& recorded, const std::vector<Request>& requests) {
  const Json before = recorded.contains("before") ? recorded["before"] : Json::object();
  if (before.contains("cq_reserve") && number_at(before, "cq_reserve") <= requests.size()) {
    throw Skipped{"driver_puts_off_cq_doorbell"};
  }
}

void replay_arm(const Json& file, const Json& recorded) {
  const Json& config = member(member(file, "configs"), "v1_sge4_128B");
  const uint32_t mask = number32(member(member(file, "config_info"), "v1_sge4_128B"), "cq_mask");
  const Json& before = member(recorded, "before");
  const uint32_t cqn = number32(recorded, "cqn");
  const uint64_t at = number_at(config, "cq_qtype") * ionic::doorbell_stride;
  const bool solicited = number_at(recorded, "solicited_only") != 0;
  Memory memory;
  expect_registers(member(recorded, "events_at_req_notify"), memory.take(), recorded);
  // What was read and not yet said comes before the arm.
  const uint64_t read = number_at(before, "cq_prod");
  if (read != number_at(before, "cq_cons")) {
    memory.store_register("doorbell_page", at, bytes_of(ionic::doorbell_at(cqn, read, mask + 1)));
  }
  const uint32_t arm = (number32(before, solicited ? "arm_sol_prod" : "arm_any_prod") + 1) & mask;
  memory.store_register(
      "doorbell_page", at,
      bytes_of(ionic::doorbell(cqn, arm, solicited ? ionic::ring_arm_solicited_only : ionic::ring_arm_any)));
  expect_registers(member(recorded, "events_at_next_poll"), memory.take(), recorded);
}

}  // namespace

Shapes ionic_shapes(const Json& file, const std::string& config) {
  const Json& made = member(member(file, "configs"), config.c_str());
  const Json& info = member(member(file, "config_info"), config.c_str());
  Shapes shapes;
  shapes.send.qpn = shapes.receive.qpn = number32(made, "qpn");
  shapes.send.entries = number32(info, "sq_mask") + 1;
  shapes.send.entry_shift = number32(info, "sq_stride_log2");
  const uint32_t room = (1u << shapes.send.entry_shift) - ionic::payload_offset;
  const bool express = (number_at(made, "sq_cmb") & cmb_express) != 0;
  shapes.send.max_inline = room - (express ? 8 : 0);
  shapes.send.max_sges = room / static_cast<uint32_t>(sizeof(ionic::Sge));
  shapes.send.queue_type = number32(made, "sq_qtype");
  shapes.receive.entries = number32(info, "rq_mask") + 1;
  shapes.receive.entry_shift = number32(info, "rq_stride_log2");
  shapes.receive.max_sges =
      ((1u << shapes.receive.entry_shift) - ionic::payload_offset) / static_cast<uint32_t>(sizeof(ionic::Sge));
  return possible(shapes);
}

SpecFormat ionic_spec(const Json& made, const char* sges) {
  const uint64_t offered = number_at(made, "spec");
  const uint64_t wanted = number_at(made, sges);
  if (offered == 0 || wanted > offered || wanted <= ionic::spec_first_sges) return SpecFormat::none;
  return offered > ionic::spec32_sges ? SpecFormat::up_to_16 : SpecFormat::up_to_8;
}

static void replay_ionic(const Json& file, Report& report) {
  const Vendor vendor{[](const Json& all, const std::string& config, const Json& before) -> std::unique_ptr<Poster> {
                        return std::make_unique<IonicPoster>(all, config, before);
                      },
                      replay_ionic_completion,
                      replay_arm,
                      screen,
                      ionic_queue,
                      drain_ionic};
  replay_file(file, report, vendor);
}

static const Registered registered_ionic("ionic", replay_ionic);

}  // namespace golden::rdma
