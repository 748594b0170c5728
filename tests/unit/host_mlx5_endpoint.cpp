// SPDX-License-Identifier: MIT

/// @file
/// @brief A ConnectX queue pair that is made for kernels, from the list of devices to data at the peer: libibverbs and
/// libmlx5 are ours.

#include <xio/host/rdma/mlx5_endpoint.hpp>

#include <deque>
#include <string>
#include <vector>

#include "unit/fake_verbs/mlx5_device.hpp"

using namespace fake_verbs;
using xio::host::Mlx5Endpoint;
using xio::host::ProtectionDomain;
using xio::host::QueuePairOptions;
using xio::host::RdmaDevice;

/// examples/adopt_queue_pair.cpp: its main().
int adopt_queue_pair(int argc, char** argv);

namespace {

using Kit = xio::emulation::Mlx5Kit<>;

/// A device of two emulated queue pairs, which verbs hand out one after the other.
class LoopedDevice {
 public:
  LoopedDevice() {
    sides_.emplace_back(wire.near_queue, wire.near);
    sides_.emplace_back(wire.far_queue, wire.far);
    current = this;
    for (Side& side : sides_) side.queue->now.qp_state = IBV_QPS_RESET;
    Ibverbs& verbs = table_of<Ibverbs>("libibverbs.so.1", "xio_fake_ibverbs");
    verbs.create_cq = [](ibv_context*, int entries) {
      current->events.push_back("cq " + std::to_string(entries));
      Queue& queue = *current->sides_[current->made_].queue;
      return current->made_cqs_++ % 2 == 0 ? &queue.send_cq : &queue.receive_cq;
    };
    verbs.create_qp = nullptr;  // would store small messages in completions
    verbs.modify_qp = [](ibv_qp* qp, ibv_qp_attr* to, int) { return current->modify(qp, *to); };
    verbs.destroyed = [](const char* what) {
      current->events.push_back(std::string("no ") + what);
      return 0;
    };
    Mlx5& direct = table_of<Mlx5>("libmlx5.so.1", "xio_fake_mlx5");
    direct.create_qp = [](ibv_context*, ibv_qp_init_attr_ex* wanted, mlx5dv_qp_init_attr* how) {
      return current->create(*wanted, *how);
    };
  }
  ~LoopedDevice() { current = nullptr; }

  /// As ibv_create_qp().
  static ibv_qp* plain(const ibv_qp_init_attr& wanted) {
    Side& side = current->sides_[current->made_++];
    side.queue->now.cap = wanted.cap;
    return &side.queue->qp;
  }

  Wire<Kit> wire;
  std::vector<std::string> events;
  int create_error = 0;

 private:
  struct Side {
    Side(Queue& q, xio::emulation::RdmaQueuePair<Kit>& e) : queue(&q), emulated(&e), view(q, e) {}
    Queue* queue;
    xio::emulation::RdmaQueuePair<Kit>* emulated;
    Mlx5View view;
  };

  ibv_qp* create(const ibv_qp_init_attr_ex& wanted, const mlx5dv_qp_init_attr& how) {
    if (create_error != 0) {
      errno = create_error;
      return nullptr;
    }
    const bool to_memory = (how.comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) != 0 &&
                           how.create_flags == MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    const bool complete =
        wanted.qp_type == IBV_QPT_RC && wanted.comp_mask == IBV_QP_INIT_ATTR_PD && wanted.pd == &device_.pd;
    Side& side = sides_[made_++];
    side.queue->now.cap = wanted.cap;
    side.queue->made.sq_sig_all = wanted.sq_sig_all;
    events.push_back("qp " + std::to_string(wanted.cap.max_send_wr) + (to_memory ? " to memory" : " to completions") +
                     (complete ? "" : ", incomplete"));
    return &side.queue->qp;
  }

  int modify(ibv_qp* qp, const ibv_qp_attr& to) {
    auto& queue = *static_cast<Queue*>(qp->qp_context);
    queue.now.qp_state = to.qp_state;
    events.push_back(xio::host::detail::name_of(to.qp_state));
    if (to.qp_state == IBV_QPS_RTR) (&queue == &wire.near_queue ? wire.near : wire.far).model().connect(to.dest_qp_num);
    return 0;
  }

  static LoopedDevice* current;
  OnlyDevice device_{wire.near_queue.context, &wire.fabric};
  std::deque<Side> sides_;
  size_t made_ = 0;
  size_t made_cqs_ = 0;
};
LoopedDevice* LoopedDevice::current = nullptr;

}  // namespace

TEST_CASE("two endpoints are made, connected and used", "[host][rdma]") {
  LoopedDevice device;
  {
    const RdmaDevice opened({"fake0", 1, {}});
    const ProtectionDomain domain(opened);
    QueuePairOptions options;
    options.send_entries = 40;
    options.receive_entries = 30;
    Mlx5Endpoint<> near(opened, domain, options);
    Mlx5Endpoint<> far(opened, domain, options);
    CHECK(error_of([&] { near.handle(); }) == "mlx5: queue pair 257 is not connected");
    near.connect(far.address());
    far.connect(near.address());
    CHECK(device.events == std::vector<std::string>{"cq 160", "cq 60", "qp 40 to memory", "cq 160", "cq 60",
                                                    "qp 40 to memory", "INIT", "RTR", "RTS", "INIT", "RTR", "RTS"});
    CHECK(error_of([&] { near.connect(far.address()); }) == "mlx5: queue pair 257 is connected; make a new one");
    device.events.clear();

    device.wire.nic.start();
    CHECK(device.wire.put_all(near.handle()) == 256);
    CHECK(device.wire.far_bytes == device.wire.near_bytes);
    send_and_receive(device.wire, near.handle(), far.receive_handle());
    device.wire.nic.stop();
    CHECK(device.wire.violations() == "");
  }
  CHECK(device.events ==
        std::vector<std::string>{"no qp", "no cq", "no cq", "no qp", "no cq", "no cq", "no pd", "no context"});
}

TEST_CASE("a device that makes no such queue pair", "[host][rdma]") {
  LoopedDevice device;
  const RdmaDevice opened({"fake0", 1, {}});
  const ProtectionDomain domain(opened);
  device.create_error = ENOMEM;
  CHECK(contains(error_of([&] { Mlx5Endpoint<> endpoint(opened, domain); }),
                 "cannot make a queue pair of 64 and 64 entries on fake0"));
}

TEST_CASE("an endpoint that signals all is refused when it connects", "[host][rdma]") {
  LoopedDevice device;
  const RdmaDevice opened({"fake0", 1, {}});
  const ProtectionDomain domain(opened);
  QueuePairOptions options;
  options.signal_all = true;
  Mlx5Endpoint<> endpoint(opened, domain, options);
  CHECK(contains(error_of([&] { endpoint.connect(endpoint.address()); }), "it was made with sq_sig_all"));
}

TEST_CASE("the example adopts a queue pair that is connected to itself", "[host][rdma]") {
  LoopedDevice device;
  Ibverbs& verbs = table_of<Ibverbs>("libibverbs.so.1", "xio_fake_ibverbs");
  verbs.get_device_name = [](ibv_device*) { return "mlx5_0"; };
  verbs.create_qp = [](ibv_pd*, ibv_qp_init_attr* wanted) { return LoopedDevice::plain(*wanted); };
  device.wire.nic.start();
  std::string name = "adopt_queue_pair";
  std::string bytes;
  char* arguments[] = {name.data(), nullptr, nullptr};
  SECTION("all arrives") {
    CHECK(adopt_queue_pair(1, arguments) == 0);
    CHECK(device.wire.near.model().statistics().operations == 64);
  }
  SECTION("what is beyond the memory is refused") {
    bytes = "4096";
    arguments[1] = bytes.data();
    CHECK(adopt_queue_pair(2, arguments) == 1);
    CHECK(device.wire.near.model().statistics().operations == 16);
  }
  SECTION("no ConnectX") {
    verbs.get_device_name = [](ibv_device*) { return "rxe0"; };
    CHECK(adopt_queue_pair(1, arguments) == 77);
  }
  device.wire.nic.stop();
  CHECK(device.wire.violations() == "");
}
