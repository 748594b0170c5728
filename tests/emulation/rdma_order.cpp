// SPDX-License-Identifier: MIT

/// @file
/// @brief Stores and fences of RDMA queues in program order: what is announced lies in memory, and is announced once.
/// Doorbells of several waves and queues in the order in which they are stored.

#include <atomic>
#include <mutex>

#include <xio/device/rdma/row.hpp>

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
  CHECK(rig.put(qp).status.is_ok());
  return trace.events;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("put: one thread posts -> one release before the record and one fence before the doorbell",
                        "[H9]", Vendors) {
  using Vendor = typename TestType::Vendor;
  const std::string expected = send_events<Vendor>();
  RdmaRig<TestType> alone;
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::thread, xio::Policy<>>>(alone) == expected);
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::wave, xio::Policy<>>>(alone) == expected);
  RdmaRig<TestType> shared;
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::grid, xio::Policy<>>>(shared) == expected);
  CHECK(trace_put<TestType, QueuePair<Vendor, Sharing::block, xio::Policy<>>>(shared) == expected);
}

TEMPLATE_LIST_TEST_CASE("put: the lanes of a wave post -> one release and one doorbell", "[H9]", Vendors) {
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

TEMPLATE_LIST_TEST_CASE("ring: deferred operations -> they are announced together", "[H9]", Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  const QueuePairHandle handle = rig.near.handle();
  QueuePair<Vendor, Sharing::thread, xio::Policy<xio::Deferred<16>>> qp(handle);
  Trace trace(ranges_of<TestType>(handle));
  for (uint32_t i = 0; i < 3; ++i) (void)rig.put(qp, i);
  const std::string entries = Vendor::has_side_table ? "etetet" : "e";
  CHECK(trace.events == entries);
  qp.ring();
  CHECK(trace.events == entries + send_events<Vendor>().substr(Vendor::has_side_table ? 2 : 1));
  qp.ring();
  CHECK(trace.events == entries + send_events<Vendor>().substr(Vendor::has_side_table ? 2 : 1));
}

TEMPLATE_LIST_TEST_CASE("post: a receive -> it is released and recorded and announced in this order", "[H9]", Vendors) {
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

  // Two in a row are announced together.
  using Row = xio::rdma::ReceiveRow<Vendor, Sharing::thread, xio::Policy<>, 64>;
  trace.events.clear();
  Row(handle).post(xio::Group<Sharing::thread>(1), {rig.local.base, rig.local.key, 7}, 1, 3);
  CHECK(trace.events == "eR" + announced);
}

TEMPLATE_LIST_TEST_CASE("put: a ring takes 8 bytes an access -> it gets no wider store", "[H18]", Vendors) {
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
  Sends<Kit, S> qp(rig.near.handle());
  const Token token = rig.put(qp);
  for (uint32_t i = 0; i < 30; ++i) rig.nic.pass();
  FailureTrace trace(rig.near.send());
  CHECK(qp.wait(token, xio::deadline(2_s)) == Status::access_denied);
  CAPTURE(trace.events);
  CHECK(trace.in_order('s', 'f'));
  // Who sees the end asks at once which operation it was.
  if (!Kit::Vendor::has_flush_completions) CHECK(trace.in_order('f', 'x'));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("wait: a queue fails -> how and where is stored before that it did", "[H16]", Vendors) {
  fail_in_order<TestType, Sharing::grid>();
  fail_in_order<TestType, Sharing::block>();
}

// Doorbells.

namespace {

/// ConnectX: producer counter, modulo 65536, after the entry that begins with `head`.
uint32_t end_of(uint64_t head) {
  const uint32_t index = xio::byte_swap(static_cast<uint32_t>(head)) >> 8 & 0xffff;
  const uint32_t segments = xio::byte_swap(static_cast<uint32_t>(head >> 32)) & 0x3f;
  return (index + (segments + 3) / 4) & 0xffff;
}

/// A register that several queue pairs ring: as a device does, it tells them apart by what is stored.
template <class Kit>
class RegisterPage : public xio::arch::StoreObserver {
 public:
  using Wire = typename Kit::Wire;

  /// Handle of a queue pair that rings here. Devices whose doorbell does not name the queue have a word for each.
  QueuePairHandle add(RdmaQueuePair<Kit>& queue) {
    QueuePairHandle handle = queue.handle();
    handle.sq_doorbell = &words_[names_queue ? 0 : 8 * queues_.size()];
    queues_.push_back({&queue, handle.sq_doorbell, 0});
    return handle;
  }

  void on_store(StoreKind kind, const void* to, const void* value, uint32_t bytes) override {
    if (kind != StoreKind::mmio) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    uint64_t word = 0;
    std::memcpy(&word, value, bytes);
    uint32_t owners = 0;
    for (Entry& entry : queues_) {
      if (to != entry.doorbell) continue;
      std::string violation;
      const auto memory = entry.queue->memory();
      const uint64_t end = Wire::producer(entry.queue->config(), memory, word, entry.known, violation);
      if (!violation.empty()) continue;
      ++owners;
      // What an older counter stands for seems to lie a lap ahead.
      const bool repeats = repeats_allowed && end == entry.known;
      if ((end <= entry.known && !repeats) || end > entry.queue->posted()) ++backward;
      if constexpr (Kit::Vendor::doorbell_repeats_entry) {
        // Nobody else rings meanwhile: both name the same entry.
        if (end_of(word) != xio::byte_swap(*memory.sq_record)) ++unclear;
      }
      entry.known = end;
      ++rings;
      forward(memory.sq_doorbell, word, bytes);
    }
    if (owners != 1 && to >= &words_[0] && to < &words_[32]) ++unclear;
  }
  void on_fence(FenceKind) override {}

  uint32_t backward = 0;
  uint32_t unclear = 0;
  uint32_t rings = 0;
  bool repeats_allowed = false;

 private:
  static constexpr bool names_queue = !std::is_same<Kit, Rxe>::value;
  struct Entry {
    RdmaQueuePair<Kit>* queue;
    const void* doorbell;
    uint64_t known;
  };
  static void forward(uint64_t* to, uint64_t word, uint32_t bytes) {
    if (bytes == 8) {
      __atomic_store_n(to, word, __ATOMIC_RELEASE);
    } else {
      __atomic_store_n(reinterpret_cast<uint32_t*>(to), static_cast<uint32_t>(word), __ATOMIC_RELEASE);
    }
  }

  std::mutex mutex_;
  std::vector<Entry> queues_;
  alignas(64) uint64_t words_[32] = {};
};

/// Each wave writes through its queue pair; all of them ring at one page.
template <class Kit, Sharing S, class Policy>
void ring_from_waves(uint32_t queues, uint32_t waves, uint32_t wave_size) {
  CAPTURE(queues, waves, wave_size);
  RdmaRig<Kit> rig;
  std::vector<std::unique_ptr<RdmaQueuePair<Kit>>> others;
  RegisterPage<Kit> page;
  page.repeats_allowed = Policy::ringing == xio::Ringing::deferred;
  std::vector<QueuePairHandle> handles{page.add(rig.near)};
  for (uint32_t i = 1; i < queues; ++i) {
    RdmaQueueConfig config = rig.near.config();
    config.qpn += 0x10 * i;
    if (config.handle != 0) config.handle += 0x10 * i;
    others.push_back(std::make_unique<RdmaQueuePair<Kit>>(rig.fabric, config));
    others.back()->model().connect(rig.far.config().qpn);
    rig.nic.add(others.back()->model());
    handles.push_back(page.add(*others.back()));
  }
  rig.running();
  // Counted and not thrown: the exception that cancels the other waves would end the program.
  std::atomic<uint32_t> failed{0};
  const auto kernel = [&] {
    xio::arch::store_observer = &page;
    const auto check = [&](Status status) { failed += status.is_ok() ? 0 : 1; };
    Sends<Kit, S, Policy> qp(handles[xio::arch::block_index() % queues]);
    const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
    // More than the ring holds, so that counters pass its end.
    for (uint32_t round = 0; round < 300 / wave_size + 5 && failed == 0; ++round) {
      const Token token = rig.put(qp, me, soon());
      check(token.status);
      if (round % 3 == 2) check(qp.wait(token, soon()));
    }
    check(qp.quiet(soon()));
    xio::arch::store_observer = nullptr;
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_size), kernel));
  xio::arch::store_observer = nullptr;
  rig.nic.stop();
  CHECK(failed == 0);
  CHECK(page.backward == 0);
  CHECK(page.unclear == 0);
  CHECK(page.rings > 5);
  CHECK(rig.violations() == "");
  for (const auto& other : others) CHECK(other->model().statistics().violations.empty());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("put: several waves ring one queue pair -> doorbells never go back", "[H10]", Vendors) {
  ring_from_waves<TestType, Sharing::grid, xio::Policy<>>(1, 4, 8);
  ring_from_waves<TestType, Sharing::grid, xio::Policy<>>(1, 4, 1);
  ring_from_waves<TestType, Sharing::wave, xio::Policy<>>(1, 1, 64);
  ring_from_waves<TestType, Sharing::grid, Policy<Deferred<3>>>(1, 4, 8);
  ring_from_waves<TestType, Sharing::grid, Policy<Deferred<20>>>(1, 4, 1);
}

TEMPLATE_LIST_TEST_CASE("put: several queue pairs ring at one page -> each doorbell names its own", "[H8]", Vendors) {
  ring_from_waves<TestType, Sharing::wave, xio::Policy<>>(4, 4, 8);
  ring_from_waves<TestType, Sharing::grid, xio::Policy<>>(2, 4, 1);
}

TEST_CASE("ring: ConnectX has deferred operations -> the doorbell names the entry that the record ends with", "[H10]") {
  RdmaRig<Mlx5> rig;
  QueuePair<Mlx5::Vendor, Sharing::grid, Policy<Deferred<100>>> qp(rig.near.handle());
  // The second operation takes several units.
  const std::vector<xio::rdma::Sge> pieces(4, rig.piece().sge);
  const Token first = rig.put(qp);
  const Token second = qp.try_submit(rig.signaled(), xio::rdma::SgeList{pieces.data(), 4});
  REQUIRE(second.count == 2);
  // Its wave has stored it, and is about to publish it.
  rig.near.state().tail = (first.last + 1) << 1;
  qp.ring();
  const auto memory = rig.near.memory();
  CHECK(xio::byte_swap(*memory.sq_record) == 1);
  CHECK(end_of(*memory.sq_doorbell) == 1);
  CHECK(qp.wait(first, Deadline{0}) == Status::timed_out);
  rig.running();
  CHECK(qp.wait(second, soon()).is_ok());
  rig.nic.stop();
  CHECK(rig.near.model().statistics().operations == 2);
  CHECK(rig.violations() == "");
}

namespace {

/// Lets another wave post while a doorbell is stored.
template <class Post>
struct AtDoorbell : xio::arch::StoreObserver {
  explicit AtDoorbell(Post other) : post(other) { xio::arch::store_observer = this; }
  ~AtDoorbell() override { xio::arch::store_observer = nullptr; }
  void on_store(StoreKind kind, const void*, const void*, uint32_t) override {
    if (kind != StoreKind::mmio || done) return;
    done = true;
    post();
  }
  void on_fence(FenceKind) override {}
  Post post;
  bool done = false;
};

}  // namespace

TEST_CASE("put: ConnectX rings for another wave -> the doorbell names the last entry", "[H10]") {
  RdmaRig<Mlx5> rig;
  const QueuePairHandle handle = rig.near.handle();
  const auto put = [&](auto& qp) { CHECK(rig.put(qp).submitted()); };
  QueuePair<Mlx5::Vendor, Sharing::grid, Policy<Deferred<1>>> ringing(handle);
  QueuePair<Mlx5::Vendor, Sharing::grid, Policy<Deferred<100>>> silent(handle);
  {
    const auto post = [&] { put(silent); };
    const AtDoorbell<decltype(post)> at_doorbell(post);
    put(ringing);
    CHECK(at_doorbell.done);
  }
  const auto memory = rig.near.memory();
  CHECK(xio::byte_swap(*memory.sq_record) == 2);
  CHECK((xio::byte_swap(static_cast<uint32_t>(*memory.sq_doorbell)) >> 8 & 0xffff) == 1);
  CHECK(rig.near.state().rung == 2);
}

namespace {

struct TwoRegisters : xio::mlx5::Options {
  static constexpr uint32_t doorbell_stride = 256;
};
using TwoRegistersKit = xio::emulation::Mlx5Kit<TwoRegisters>;

/// Which register was rung, in order.
class Halves : public xio::arch::StoreObserver {
 public:
  explicit Halves(const void* first) : first_(static_cast<const char*>(first)) {}
  void on_store(StoreKind kind, const void* to, const void*, uint32_t) override {
    if (kind != StoreKind::mmio) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    rung.push_back(static_cast<const char*>(to) - first_);
  }
  void on_fence(FenceKind) override {}
  std::vector<ptrdiff_t> rung;

 private:
  const char* first_;
  std::mutex mutex_;
};

template <Sharing S, class Policy>
void ring_both_halves(uint32_t waves, uint32_t wave_size) {
  CAPTURE(static_cast<int>(S), waves, wave_size);
  RdmaRig<TwoRegistersKit> rig;
  rig.running();
  const QueuePairHandle handle = rig.near.handle();
  Halves halves(handle.sq_doorbell);
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_size), [&] {
    xio::arch::store_observer = &halves;
    const uint64_t at = 64 * (xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index());
    for (uint32_t round = 0; round < 40; ++round) {
      // Another lane leads each time.
      if (wave_size != 1 && round % wave_size > xio::arch::lane()) continue;
      const uint64_t lanes = S == Sharing::wave ? in_wave(~uint64_t{0} << round % wave_size) : 0;
      QueuePair<TwoRegistersKit::Vendor, S, Policy> qp(handle, lanes);
      EXPECT_OK(qp.wait(qp.put(rig.remote.at(at, 64), rig.local.at(at, 64), soon()), soon()));
    }
  }));
  xio::arch::store_observer = nullptr;
  rig.nic.stop();
  CHECK(halves.rung.size() >= 40);
  uint32_t wrong = 0;
  for (size_t i = 0; i < halves.rung.size(); ++i) wrong += halves.rung[i] != (i % 2 == 0 ? 0 : 256) ? 1 : 0;
  CHECK(wrong == 0);
  CHECK(rig.violations() == "");
}

}  // namespace

TEST_CASE("put: ConnectX has two registers -> doorbells go to them in turn", "[H10]") {
  ring_both_halves<Sharing::thread, xio::Policy<>>(1, 1);
  ring_both_halves<Sharing::wave, xio::Policy<>>(1, 8);
  ring_both_halves<Sharing::block, xio::Policy<>>(1, 8);
  ring_both_halves<Sharing::grid, xio::Policy<>>(4, 1);
  ring_both_halves<Sharing::grid, xio::Policy<>>(3, 8);
  ring_both_halves<Sharing::grid, Policy<Deferred<3>>>(3, 8);
}

TEMPLATE_LIST_TEST_CASE("drain: a head was loaded before others took entries -> none is taken twice", "[H17]",
                        Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  QueuePair<Vendor, Sharing::grid> qp(rig.near.handle());
  for (uint32_t i = 0; i < 2; ++i) REQUIRE(rig.put(qp).submitted());
  settle(rig.nic);
  REQUIRE(qp.drain() == 1);
  const xio::rdma::SendEngine<Vendor, Sharing::grid, xio::Policy<>, xio::rdma::InMemory> engine(rig.near.handle(), 0);
  const auto group = xio::Group<Sharing::grid>::of_callers(0, engine.key());
  xio::protocol::Glimpse seen = xio::protocol::glimpse(engine, group);
  --seen.head;
  xio::protocol::Found found{};
  REQUIRE(xio::protocol::begin_drain(engine, engine.cq(), group, seen, 1, found));
  CHECK(found.head == engine.cq_head());
}
