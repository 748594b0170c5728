// SPDX-License-Identifier: MIT
// ERNIC: the library's own queue pair.

#include <xio/vendors/ernic/traits.hpp>

#include "rdma_ernic.hpp"
#include "rdma_queue_poster.hpp"

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

}  // namespace golden::rdma
