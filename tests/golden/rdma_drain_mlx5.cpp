// SPDX-License-Identifier: MIT
// ConnectX: completions through the library's own queues.

#include <xio/vendors/mlx5/traits.hpp>

#include "rdma_drain.hpp"
#include "rdma_mlx5.hpp"
#include "rdma_shapes.hpp"

namespace golden::rdma {

namespace {

namespace mlx5 = xio::mlx5;

constexpr uint64_t first_send = 0xa000;
constexpr uint64_t first_receive = 0xb000;

template <uint32_t EntryBytes>
struct Variant : mlx5::Options {
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
  using Vendor = mlx5::Vendor<Variant<EntryBytes>>;
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
