// SPDX-License-Identifier: MIT
// ConnectX: the library's own queue pair, and completions through its queues.

#include <xio/vendors/mlx5/traits.hpp>

#include "rdma_drain.hpp"
#include "rdma_mlx5.hpp"
#include "rdma_queue_poster.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace mlx5 = xio::mlx5;

constexpr uint64_t record_bytes = 8;
constexpr uint64_t doorbell_bytes = 8;
/// What the provider calls the fence after a memory operation.
constexpr uint64_t small_fence = 0x20;

/// Half of a BlueFlame register, in all files.
constexpr uint32_t half_register = 256;

/// @tparam Toggles whether doorbells go to both halves of the BlueFlame register in turn, as the provider's do
template <bool Signature, bool Toggles>
struct Variant : mlx5::Options {
  static constexpr bool signature = Signature;
  static constexpr uint32_t doorbell_stride = Toggles ? half_register : 0;
  static constexpr bool memory_operations = true;
};

template <bool Signature, bool Toggles>
class Mlx5Queue : public LibraryPoster<mlx5::Vendor<Variant<Signature, Toggles>>> {
  using Base = LibraryPoster<mlx5::Vendor<Variant<Signature, Toggles>>>;

 public:
  Mlx5Queue(const Json& file, const std::string& config, const Json& before, Use use)
      : Base(use, mlx5_shapes(file, config)) {
    const Json& made = member(member(file, "configs"), config.c_str());
    const Json& info = member(file, "ring_info");
    half_ = number_at(made, "bf_reg_size") / 2;
    if (half_ != half_register) throw Mismatch("a BlueFlame register of another size");
    register_ = mlx5::uar_blue_flame + number_at(made, "bfreg") * 2 * half_;
    stage_.add("qp_dbrec", before.contains("db_record") ? from_hex(before["db_record"].template get<std::string>())
                                                        : Bytes(record_bytes));
    stage_.add("uar", register_ + 2 * half_);
    sends_.sq_record = stage_.template at<uint32_t>("qp_dbrec", mlx5::send_record * sizeof(uint32_t));
    receives_.record = stage_.template at<uint32_t>("qp_dbrec", mlx5::receive_record * sizeof(uint32_t));
    sends_.sq_doorbell = stage_.template at<void>("uar", register_);
    this->send().half = number_in<uint32_t>(number_or(before, "bf_offset", 0));

    // The provider counts operations, the library units: as many as the largest operation takes.
    most_ = number32(info, "sq_max_post");
    if (most_ == 0) throw Mismatch("a send queue for no operations");
    posts_ = number_or(before, "sq_head", 0) - number_or(before, "sq_tail", 0);
    const uint32_t units = sends_.shape.entries / most_;
    Standing sends;
    sends.next = number_or(before, "sq_cur_post", 0);
    sends.in_flight = posts_ * units;
    sends.depth = most_ * units;
    Standing receives;
    receives.next = number_or(before, "rq_head", 0);
    receives.in_flight = receives.next - number_or(before, "rq_tail", 0);
    receives.depth = receives_.shape.entries;
    this->stand(sends, receives);
    if (number_or(before, "fm_cache", 0) != 0) this->remember_memory_operation();
  }

  Posted post(const std::vector<Request>& requests) override {
    const bool is_full = posts_ == most_ && !has_posted_;
    if (!is_full && posts_ + requests.size() > most_) throw EncodersAlone{"room_in_operations"};
    const Posted posted = Base::post(requests);
    has_posted_ = has_posted_ || posted.accepted != 0;
    posts_ += posted.accepted;
    return posted;
  }

  std::optional<Store> doorbell(const Json& call, bool receive) const override {
    if (receive) return std::nullopt;
    // A copied entry begins with the doorbell.
    Store store = Base::store_of(Base::recorded_register(call, false));
    store.bytes.resize(doorbell_bytes);
    return store;
  }

  bool takes(const std::vector<Request>& requests) const override {
    if (this->use_ == Use::alone) return true;
    // Memory operations are for queue pairs with one owner.
    const bool has_any =
        this->is_after_memory_operation() || std::any_of(requests.begin(), requests.end(), [](const Request& request) {
          return request.work.operation == lib::Operation::local_invalidate;
        });
    return Base::takes(requests) && !has_any;
  }

  Json state() const override {
    return {{"sq_cur_post", this->sent() & 0xffffffffu},
            {"fm_cache", this->is_after_memory_operation() ? small_fence : 0},
            {"db_record", to_hex(stage_.content("qp_dbrec"))},
            {"bf_offset", Toggles ? uint64_t{this->send().half} : 0},
            {"rq_head", this->received()}};
  }

 private:
  using Base::receives_;
  using Base::sends_;
  using Base::stage_;
  uint32_t most_;   ///< operations in flight, as the provider counts
  uint64_t posts_;  ///< operations in flight
  bool has_posted_ = false;
  uint64_t half_;
  uint64_t register_;
};

}  // namespace

std::unique_ptr<QueuePoster> mlx5_queue(const Json& file, const std::string& config, const Json& before, Use use) {
  const Json& made = member(member(file, "configs"), config.c_str());
  // The first register of a page has no halves.
  const bool toggles = number_at(made, "bfreg") != 0;
  if (number_or(made, "wq_sig", 0) != 0) return std::make_unique<Mlx5Queue<true, true>>(file, config, before, use);
  if (toggles) return std::make_unique<Mlx5Queue<false, true>>(file, config, before, use);
  return std::make_unique<Mlx5Queue<false, false>>(file, config, before, use);
}

namespace {

constexpr uint64_t first_send = 0xa000;
constexpr uint64_t first_receive = 0xb000;

template <uint32_t EntryBytes>
struct DrainVariant : mlx5::Options {
  static constexpr uint32_t cqe_bytes = EntryBytes;
};

/// Producer counter that an entry names.
uint16_t counter_of(const Bytes& entry) { return static_cast<uint16_t>(big_endian(entry, entry.size() - 4, 2)); }

/// The operations that the entries are about: one unit each, from the first that they name to the last.
std::vector<Request> operations(const Json& recorded, uint16_t first, uint32_t sq_units) {
  std::vector<Request> requests(1);
  std::optional<size_t> last;
  for (const Bytes& entry : recorded_entries(recorded)) {
    const size_t place = static_cast<uint16_t>(counter_of(entry) - first);
    const bool in_flight = place < number_at(member(recorded, "cq"), "cqe_cnt");
    if (!in_flight || (last && place <= *last)) throw EncodersAlone{"completions_out_of_order"};
    last = place;
    if (place >= requests.size()) requests.resize(place + 1);
    requests[place].work.flags = lib::work_flag::signaled;
  }
  for (size_t i = 0; i < requests.size(); ++i) requests[i].wr_id = first_send + ((first + i) & (sq_units - 1));
  return requests;
}

template <uint32_t EntryBytes>
void drain(const Json& file, const Json& recorded) {
  using Vendor = mlx5::Vendor<DrainVariant<EntryBytes>>;
  const Shapes shapes = mlx5_shapes(file, "base");
  CompletionsAt at;
  at.head = number_at(recorded, "cons_index_before");
  CompletionMemory completions(mlx5_completions(recorded), at);
  const std::vector<Bytes> entries = recorded_entries(recorded);
  const uint16_t first = entries.empty() ? uint16_t{0} : counter_of(entries[0]);
  const uint64_t limit = number_at(recorded, "max_poll");
  Drained drained;
  if (reports_receives(recorded)) {
    const uint64_t next = first & (shapes.receive.entries - 1);
    expect_receives_in_order(recorded, first_receive, shapes.receive.entries, next);
    drained = ReceiveDrain<Vendor>(shapes.receive, next, completions).drain(entries.size(), first_receive, limit);
  } else {
    const uint32_t sq_units = number32(recorded, "sq_wqe_cnt");
    SendDrain<Vendor> sends(shapes.send, first, 0, completions);
    for (const Request& request : operations(recorded, first, sq_units)) sends.post(request);
    drained = sends.drain(limit);
  }
  expect_drained(recorded, drained, number_at(recorded, "cons_index_after"), poll_fails(recorded));
  if (drained.broken) return;
  for (size_t i = 0; i < drained.reports.size(); ++i) {
    const xio::Status status = drained.reports[i].status;
    // What came after a failure was flushed, and the library asks for no more.
    if (i != 0 && status == xio::Status::flushed) continue;
    expect_number("detail of the error", number_at(recorded["wc"][i], "vendor_err"),
                  status.is_ok() ? 0u : status.vendor >> 8);
  }
  if (drained.head != at.head) {
    const Bytes record = from_hex(member(recorded, "cq_db_record_after").get<std::string>());
    expect_bytes("record after", Bytes(record.begin(), record.begin() + 4), bytes_of(completions.record()));
  }
}

}  // namespace

void drain_mlx5(const Json& file, const Json& recorded) {
  number_at(member(recorded, "cq"), "cqe_size") == 128 ? drain<128>(file, recorded) : drain<64>(file, recorded);
}

}  // namespace golden::rdma
