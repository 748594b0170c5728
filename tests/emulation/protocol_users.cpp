// SPDX-License-Identifier: MIT

/// @file
/// @brief Users of one queue that use it in different ways: what goes together works, and what does not is noticed.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"
#include "emulation/rdma_vendors.hpp"

using namespace rdma_tests;

namespace {

struct OwnDoorbell : xio::MmioDoorbell {};
using xio::RingBy;
using xio::Unasked;
using xio::Unchecked;

Deadline in_time() { return xio::deadline(300_ms); }

/// A device that takes so long that waits read the clock several times.
template <class Step>
PausingWave slow(Step step) {
  return PausingWave([step](uint64_t pause) {
    if (pause % 100 == 0) step();
  });
}

/// NVMe: a queue of four commands.
struct Drive {
  Rig rig{stepped()};
  NvmeQueue queue = rig.queue(4);
  PausingWave wave = slow([this] { rig.model.step(); });

  template <class Q>
  Status use(uint32_t times = 1) {
    Q user(queue.handle());
    Status status;
    for (uint32_t i = 0; i < times && status.is_ok(); ++i) {
      const Deadline until = in_time();
      status = user.wait(user.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, until), until);
    }
    return status;
  }
};

/// RDMA: two queue pairs that are connected.
template <class Kit>
struct Pair {
  RdmaRig<Kit> rig;
  PausingWave wave = slow([this] { rig.nic.pass(); });

  template <class Q>
  Status use(uint32_t times = 1) {
    Q user(rig.near.handle());
    Status status;
    for (uint32_t i = 0; i < times && status.is_ok(); ++i) {
      const Deadline until = in_time();
      status = user.wait(user.put(rig.remote.at(0, 64), rig.local.at(0, 64), until), until);
    }
    return status;
  }
};

template <class Place, class First, class Second>
void check_refused() {
  Place place;
  CHECK(place.template use<First>() == Status::ok);
  CHECK(place.template use<Second>() == Status::broken);
}

}  // namespace

TEST_CASE("wait: users who share a queue in different ways -> broken") {
  using Plain = Queue<Sharing::grid>;
  check_refused<Drive, Plain, Queue<Sharing::block>>();
  check_refused<Drive, Queue<Sharing::block>, Plain>();
  check_refused<Drive, Plain, Queue<Sharing::grid, Policy<Deferred<4>>>>();
  check_refused<Drive, Plain, Queue<Sharing::grid, Policy<RingBy<OwnDoorbell>>>>();
}

TEST_CASE("wait: a wave's own queue while others take completions -> broken") {
  Drive drive;
  CHECK(drive.use<Queue<Sharing::grid>>() == Status::ok);
  CHECK(drive.use<Queue<Sharing::wave>>() == Status::ok);  // one after the other
  // As long as a wave of a shared queue does.
  drive.queue.handle().state->retired |= xio::protocol::draining_bit;
  CHECK(drive.use<Queue<Sharing::wave>>() == Status::broken);
}

TEST_CASE("wait: users who differ in what concerns themselves only -> ok") {
  Drive drive;
  CHECK(drive.use<Queue<Sharing::grid>>() == Status::ok);
  CHECK(drive.use<Queue<Sharing::grid, Policy<Notify>>>() == Status::ok);
  CHECK(drive.use<Queue<Sharing::grid, Policy<WriteThrough>>>() == Status::ok);
  CHECK(drive.use<Queue<Sharing::grid, Unchecked>>() == Status::ok);
  CHECK(drive.use<Queue<Sharing::grid>>() == Status::ok);
  Drive other;
  CHECK(other.use<Queue<Sharing::thread>>(9) == Status::ok);
  CHECK(other.use<Queue<Sharing::wave, Policy<Deferred<4>>>>(9) == Status::ok);
  CHECK(other.use<Queue<Sharing::thread>>() == Status::ok);
}

TEST_CASE("wait: users of a receive queue who differ in Unasked -> broken") {
  Pair<Mlx5> place;
  const auto receive = [&](auto queue) {
    const Deadline until = in_time();
    const Token token = queue.post(place.rig.local.at(0, 64), until);
    return queue.wait(token, token.submitted() ? in_time() : until).status;
  };
  using Vendor = Mlx5::Vendor;
  // Nobody sends: the first one waits in vain, and the second one learns why it should not.
  const auto handle = place.rig.near.receive_handle();
  CHECK(receive(xio::rdma::ReceiveQueue<Vendor, Sharing::grid>(handle)) == Status::timed_out);
  CHECK(receive(xio::rdma::ReceiveQueue<Vendor, Sharing::grid, Policy<Unasked>>(handle)) == Status::broken);
}

TEMPLATE_TEST_CASE("wait: an operation with a notification, by a user without Notify -> broken", "",
                   (Queue<Sharing::thread>), (Queue<Sharing::thread, Unchecked>), (Queue<Sharing::grid>)) {
  Drive drive;
  Notification told{};
  TestType plain(drive.queue.handle());
  const auto submit = [&](auto telling) {
    return telling.submit(xio::nvme::read(1, 1), ContiguousPages{drive.rig.bus()}, in_time(),
                          xio::Options().notify(told));
  };
  constexpr Sharing sharing = std::is_same<TestType, Queue<Sharing::grid>>::value ? Sharing::grid : Sharing::thread;
  const Token token = submit(Queue<sharing, Policy<Notify>>(drive.queue.handle()));
  CHECK(plain.wait(token, in_time()) == Status::broken);
  CHECK(told.done == 0);
}
