// SPDX-License-Identifier: MIT

/// @file
/// @brief Doorbells of several waves and queues in the order in which they are stored.

#include <mutex>

#include <xio/host/simt/simt.hpp>

#include "emulation/rdma_protocol.hpp"

#if XIO_COUNT_OPERATIONS < 2
#error "this test needs XIO_COUNT_OPERATIONS=2"
#endif

using namespace rdma_tests;
using xio::arch::FenceKind;
using xio::arch::StoreKind;

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
  const auto kernel = [&] {
    xio::arch::store_observer = &page;
    QueuePair<typename Kit::Vendor, S, Policy> qp(handles[xio::arch::block_index() % queues]);
    const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
    // More than the ring holds, so that counters pass its end.
    for (uint32_t round = 0; round < 300 / wave_size + 5; ++round) {
      const Token token = qp.put(rig.remote.at(64 * me, 64), rig.local.at(64 * me, 64), soon());
      EXPECT_OK(token.status);
      if (round % 3 == 2) EXPECT_OK(qp.wait(token, soon()));
    }
    EXPECT_OK(qp.quiet(soon()));
    xio::arch::store_observer = nullptr;
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_size), kernel));
  xio::arch::store_observer = nullptr;
  rig.nic.stop();
  CHECK(page.backward == 0);
  CHECK(page.unclear == 0);
  CHECK(page.rings > 5);
  CHECK(rig.violations() == "");
  for (const auto& other : others) CHECK(other->model().statistics().violations.empty());
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H10 doorbells of one queue pair never go back, whoever rings", "", Vendors) {
  ring_from_waves<TestType, Sharing::grid, xio::Policy<>>(1, 4, 8);
  ring_from_waves<TestType, Sharing::grid, xio::Policy<>>(1, 4, 1);
  ring_from_waves<TestType, Sharing::wave, xio::Policy<>>(1, 1, 64);
  ring_from_waves<TestType, Sharing::grid, Policy<Deferred<3>>>(1, 4, 8);
  ring_from_waves<TestType, Sharing::grid, Policy<Deferred<20>>>(1, 4, 1);
}

TEMPLATE_LIST_TEST_CASE("H8 several queue pairs ring at one doorbell page", "", Vendors) {
  ring_from_waves<TestType, Sharing::wave, xio::Policy<>>(4, 4, 8);
  ring_from_waves<TestType, Sharing::grid, xio::Policy<>>(2, 4, 1);
}

TEST_CASE(
    "H10 ConnectX: a deferred doorbell names the entry that the record ends with, whatever is published meanwhile") {
  RdmaRig<Mlx5> rig;
  QueuePair<Mlx5::Vendor, Sharing::grid, Policy<Deferred<100>>> qp(rig.near.handle());
  // The second operation takes several units.
  const xio::rdma::Sge pieces[] = {{rig.local.base, 64, rig.local.key},
                                   {rig.local.base, 64, rig.local.key},
                                   {rig.local.base, 64, rig.local.key},
                                   {rig.local.base, 64, rig.local.key}};
  xio::rdma::Work work;
  work.flags = xio::rdma::work_flag::signaled;
  work.remote = rig.remote.base;
  work.rkey = rig.remote.rkey;
  const Token first = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  const Token second = qp.try_submit(work, xio::rdma::SgeList{pieces, 4});
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

TEST_CASE("H10 ConnectX: a wave that rings names the last entry, though it is another one's") {
  RdmaRig<Mlx5> rig;
  const QueuePairHandle handle = rig.near.handle();
  const auto put = [&](auto& qp) { CHECK(qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{}).submitted()); };
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

TEST_CASE("H10 ConnectX: doorbells go to both halves of a BlueFlame register in turn, whoever rings") {
  ring_both_halves<Sharing::thread, xio::Policy<>>(1, 1);
  ring_both_halves<Sharing::wave, xio::Policy<>>(1, 8);
  ring_both_halves<Sharing::block, xio::Policy<>>(1, 8);
  ring_both_halves<Sharing::grid, xio::Policy<>>(4, 1);
  ring_both_halves<Sharing::grid, xio::Policy<>>(3, 8);
  ring_both_halves<Sharing::grid, Policy<Deferred<3>>>(3, 8);
}
