// SPDX-License-Identifier: MIT

/// @file
/// @brief Stores and fences of RDMA queues in program order: what is announced lies in memory, and is announced once.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"

#if XIO_COUNT_OPERATIONS < 2
#error "this test needs XIO_COUNT_OPERATIONS=2"
#endif

using namespace rdma_tests;
using xio::arch::FenceKind;
using xio::arch::StoreKind;

namespace {

/// What the calling thread does to a ring and its doorbell: 'e' an entry, 't' a table entry, 'r' the record, 'd' the
/// doorbell; 'R' a release, 'w' a wait for stores, both of the lane that rings. Repeated entries show once.
class Trace : public xio::arch::StoreObserver {
 public:
  struct Range {
    char letter;
    const void* begin;
    size_t bytes;
  };
  explicit Trace(std::vector<Range> ranges) : ranges_(std::move(ranges)) { xio::arch::store_observer = this; }
  ~Trace() override { xio::arch::store_observer = nullptr; }

  void on_store(StoreKind kind, const void* to, const void*, uint32_t bytes) override {
    for (const Range& range : ranges_) {
      const auto* const begin = static_cast<const char*>(range.begin);
      if (static_cast<const char*>(to) < begin || static_cast<const char*>(to) >= begin + range.bytes) continue;
      const bool is_entry = range.letter == 'e' || range.letter == 't';
      if (is_entry) widest = std::max(widest, bytes);
      if (kind != (is_entry ? StoreKind::entry : range.letter == 'r' ? StoreKind::word : StoreKind::mmio))
        events += '?';
      if (!is_entry || events.empty() || events.back() != range.letter) events += range.letter;
    }
  }
  void on_fence(FenceKind kind) override {
    if (xio::arch::lane() != 0) return;
    // Where waves share the queue, they wait for each other's state words, too: before the entries, or after the end.
    const bool begun = !events.empty();
    const bool ended = begun && events.back() == 'd';
    if (kind == FenceKind::release) events += 'R';
    if (kind == FenceKind::store_wait && begun && !ended) events += 'w';
  }

  std::string events;
  uint32_t widest = 0;  ///< bytes of the widest store to a ring or table

 private:
  std::vector<Range> ranges_;
};

template <class Kit>
std::vector<Trace::Range> ranges_of(const QueuePairHandle& q) {
  using Vendor = typename Kit::Vendor;
  std::vector<Trace::Range> ranges{{'e', q.sq, size_t{q.shape.entries} << Vendor::unit_shift(q.shape)},
                                   {'d', q.sq_doorbell, sizeof(uint64_t)}};
  if (Vendor::has_send_record) ranges.push_back({'r', q.sq_record, sizeof(uint32_t)});
  if constexpr (Vendor::has_side_table) {
    ranges.push_back({'t', q.side_table, q.side_entries * Vendor::Table::entry_words * sizeof(uint64_t)});
  }
  return ranges;
}

/// What one announcement looks like.
template <class Vendor>
std::string send_events() {
  return std::string("e") + (Vendor::has_side_table ? "t" : "") + "R" + (Vendor::has_send_record ? "rw" : "") + "d";
}

template <class Kit, class Queue>
std::string trace_put(RdmaRig<Kit>& rig) {
  const QueuePairHandle handle = rig.near.handle();
  Queue qp(handle);
  Trace trace(ranges_of<Kit>(handle));
  CHECK(qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{}).status.is_ok());
  return trace.events;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H9 one release before the record, one fence between record and doorbell", "", Vendors) {
  using Vendor = typename TestType::Vendor;
  const std::string expected = send_events<Vendor>();
  RdmaRig<TestType> alone;
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::thread, xio::Policy<>>>(alone) == expected);
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::wave, xio::Policy<>>>(alone) == expected);
  RdmaRig<TestType> shared;
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::grid, xio::Policy<>>>(shared) == expected);
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::block, xio::Policy<>>>(shared) == expected);
}

TEMPLATE_LIST_TEST_CASE("H9 a wave's operations have one release and one doorbell", "", Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  const QueuePairHandle handle = rig.near.handle();
  Trace trace(ranges_of<TestType>(handle));
  xio::simt::launch({1, 32, 32}, [&] {
    QueuePair<Vendor, Sharing::wave, xio::Policy<>> qp(handle);
    const uint64_t at = 64 * xio::arch::lane();
    (void)qp.put(rig.remote.at(at, 64), rig.local.at(at, 64), xio::Now{});
  });
  // Lanes store theirs one after the other here; a GPU, in one step.
  std::string events = trace.events;
  while (events.rfind("etet", 0) == 0) events.erase(0, 2);
  CHECK(events == send_events<Vendor>());
}

TEMPLATE_LIST_TEST_CASE("H9 deferred operations are announced together", "", Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  const QueuePairHandle handle = rig.near.handle();
  QueuePair<Vendor, Sharing::thread, xio::Policy<xio::Deferred<16>>> qp(handle);
  Trace trace(ranges_of<TestType>(handle));
  for (uint32_t i = 0; i < 3; ++i) (void)qp.put(rig.remote.at(64 * i, 64), rig.local.at(64 * i, 64), xio::Now{});
  const std::string entries = Vendor::has_side_table ? "etetet" : "e";
  CHECK(trace.events == entries);
  qp.ring();
  CHECK(trace.events == entries + send_events<Vendor>().substr(Vendor::has_side_table ? 2 : 1));
  qp.ring();
  CHECK(trace.events == entries + send_events<Vendor>().substr(Vendor::has_side_table ? 2 : 1));
}

TEMPLATE_LIST_TEST_CASE("H9 receives are released, recorded and announced in this order", "", Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  const xio::rdma::ReceiveQueueHandle handle = rig.near.receive_handle();
  std::vector<Trace::Range> ranges{{'e', handle.rq, size_t{handle.shape.entries} << handle.shape.entry_shift}};
  if (Vendor::has_receive_record) ranges.push_back({'r', handle.record, sizeof(uint32_t)});
  if (Vendor::has_receive_doorbell) ranges.push_back({'d', handle.doorbell, sizeof(uint64_t)});
  xio::rdma::ReceiveQueue<Vendor, Sharing::thread> queue(handle);
  Trace trace(ranges);
  CHECK(queue.post(rig.local.at(0, 64), xio::Now{}).status.is_ok());
  const bool both = Vendor::has_receive_record && Vendor::has_receive_doorbell;
  const std::string announced = both ? "rwd" : Vendor::has_receive_record ? "r" : "d";
  CHECK(trace.events == "eR" + announced);
}

TEMPLATE_LIST_TEST_CASE("H18 rings that take 8 bytes an access get no wider store", "", Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  rig.running();
  const QueuePairHandle handle = rig.near.handle();
  QueuePair<Vendor, Sharing::thread, xio::Policy<xio::NarrowSlots>> qp(handle);
  {
    Trace trace(ranges_of<TestType>(handle));
    CHECK(qp.wait(qp.put(rig.remote.at(64, 100), rig.local.at(64, 100), xio::Now{}), soon()).is_ok());
    CHECK(qp.wait(qp.get(rig.local.at(512, 100), rig.remote.at(512, 100), xio::Now{}), soon()).is_ok());
    CHECK(qp.wait(qp.fetch_add(rig.remote.at(1024, 8), 1, rig.local.at(1024, 8), xio::Now{}), soon()).is_ok());
    CHECK(trace.widest == 8);
  }
  CHECK(std::equal(rig.far_bytes.begin() + 64, rig.far_bytes.begin() + 164, rig.near_bytes.begin() + 64));
  CHECK(rig.near_bytes[512] == 0x22);

  const xio::rdma::ReceiveQueueHandle receives = rig.near.receive_handle();
  xio::rdma::ReceiveQueue<Vendor, Sharing::thread, xio::Policy<xio::NarrowSlots>> queue(receives);
  Trace trace({{'e', receives.rq, size_t{receives.shape.entries} << receives.shape.entry_shift}});
  CHECK(queue.post(rig.local.at(0, 64), xio::Now{}).status.is_ok());
  CHECK(trace.widest == 8);
  CHECK(rig.violations() == "");
}

namespace {

/// How the words about a failure are stored: 's' how, 'f' which operation, 'x' that the queue has ended; 'w' waits.
struct FailureTrace : xio::arch::StoreObserver {
  explicit FailureTrace(const xio::rdma::SendState& words) : send(words) { xio::arch::store_observer = this; }
  ~FailureTrace() override { xio::arch::store_observer = nullptr; }
  void on_store(StoreKind, const void* to, const void*, uint32_t) override {
    if (to == &send.failed_status) events += 's';
    if (to == &send.failed_end) events += 'f';
    if (to == &send.ended) events += 'x';
  }
  void on_fence(FenceKind kind) override {
    if (kind == FenceKind::store_wait) events += 'w';
  }
  /// Whether `first` is stored, then waited for, then `second`.
  bool in_order(char first, char second) const {
    const size_t at = events.find(first);
    const size_t wait = events.find('w', at);
    return at != std::string::npos && wait != std::string::npos && events.find(second) > wait &&
           events.find(second) != std::string::npos;
  }

  const xio::rdma::SendState& send;
  std::string events;
};

template <class Kit, Sharing S>
void fail_in_order() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  rig.near.model().faults().fail(0, RdmaOutcome::remote_access);
  QueuePair<typename Kit::Vendor, S, xio::Policy<>> qp(rig.near.handle());
  const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  for (uint32_t i = 0; i < 30; ++i) rig.nic.pass();
  FailureTrace trace(rig.near.send());
  CHECK(qp.wait(token, xio::deadline(2_s)) == Status::access_denied);
  CAPTURE(trace.events);
  CHECK(trace.in_order('s', 'f'));
  // Who sees the end asks at once which operation it was.
  if (!Kit::Vendor::has_flush_completions) CHECK(trace.in_order('f', 'x'));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H16 how and where a queue failed is known before it is seen that it did", "", Vendors) {
  fail_in_order<TestType, Sharing::grid>();
  fail_in_order<TestType, Sharing::block>();
}
