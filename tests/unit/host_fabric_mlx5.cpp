// SPDX-License-Identifier: MIT

/// @file
/// @brief An NVMe over RDMA queue for kernels on a ConnectX: the connection manager, libibverbs and libmlx5 are ours,
/// the rings are an emulated NIC's, and a target executes the capsules behind it.

#include <xio/host/nvme/fabric_device_queue.hpp>
#include <xio/host/rdma/mlx5_endpoint.hpp>

#include <atomic>
#include <cstring>
#include <deque>
#include <string>

#include "scenarios/fabric_target.hpp"
#include "unit/fake_verbs/mlx5_device.hpp"

using namespace fake_verbs;
using xio::Sharing;
using xio::host::FabricController;
using xio::host::FabricOptions;
using xio::host::Mlx5Endpoint;

namespace {

using FabricKit = xio::emulation::Mlx5Kit<>;
using FabricOnMlx5 = xio::host::FabricQueueOf<Mlx5Endpoint<>>;

constexpr uint64_t target_blocks = 1024;

/// Commands of the admin queue, each of which a controller answers while it is sent.
class AnswersAtOnce {
 public:
  explicit AnswersAtOnce(ibv_context& context) {
    cq.context = qp.context = &context;
    qp.send_cq = qp.recv_cq = &cq;
    qp.qp_num = 0x99;
  }

  void receive(const ibv_recv_wr& request) { receives_.push_back(request.wr_id, request.sg_list->addr); }
  void send(const ibv_send_wr& request) {
    xio::nvme::Sqe capsule;
    std::memcpy(&capsule, reinterpret_cast<const void*>(request.sg_list->addr), sizeof capsule);
    xio::nvme::Cqe answer{};
    answer.cid = static_cast<uint16_t>(capsule.cdw0 >> 16);
    execute(capsule, answer);
    REQUIRE_FALSE(receives_.ids.empty());
    std::memcpy(reinterpret_cast<void*>(receives_.addresses.front()), &answer, sizeof answer);
    ended_.push_back({request.wr_id, 0});
    ended_.push_back({receives_.ids.front(), sizeof answer});
    receives_.pop_front();
  }
  int poll(ibv_wc& completion) {
    if (ended_.empty()) return 0;
    completion = ibv_wc{};
    completion.status = IBV_WC_SUCCESS;
    completion.wr_id = ended_.front().id;
    completion.byte_len = ended_.front().bytes;
    ended_.pop_front();
    return 1;
  }

  ibv_qp qp{};
  ibv_cq cq{};

 private:
  struct Receives {
    std::deque<uint64_t> ids, addresses;
    void push_back(uint64_t id, uint64_t address) {
      ids.push_back(id);
      addresses.push_back(address);
    }
    void pop_front() {
      ids.pop_front();
      addresses.pop_front();
    }
  };
  struct Ended {
    uint64_t id;
    uint32_t bytes;
  };

  void execute(const xio::nvme::Sqe& capsule, xio::nvme::Cqe& answer) {
    auto* const data = reinterpret_cast<unsigned char*>(capsule.prp1);
    const auto opcode = static_cast<uint8_t>(capsule.cdw0);
    if (opcode == 0x7f && capsule.nsid == 0) {  // Property Set: only of CC
      configuration_ = capsule.cdw12;
    } else if (opcode == 0x7f && capsule.nsid == 4) {
      const uint32_t stopped = (configuration_ >> 14 & 3) != 0 ? 2u << 2 : 0;
      answer.dw0 = capsule.cdw11 == 0x00   ? 127          // CAP: 128 entries
                   : capsule.cdw11 == 0x08 ? 0x00020000u  // VS
                   : capsule.cdw11 == 0x14 ? configuration_
                                           : (configuration_ & 1) | stopped;
      answer.dw1 = capsule.cdw11 == 0 ? 1u << 5 : 0;  // NVM command set
    } else if (opcode == 0x7f) {
      answer.dw0 = 1;  // Connect: the controller's identifier
    } else if (opcode == 0x06) {
      std::memset(data, 0, 4096);
      if ((capsule.cdw10 & 0xff) == 0) {
        data[0] = target_blocks & 0xff;
        data[1] = target_blocks >> 8;
        data[130] = 9;
      }
    } else if (opcode == 0x09) {
      answer.dw0 = 0x00030003;
    }
  }

  Receives receives_;
  std::deque<Ended> ended_;
  uint32_t configuration_ = 0;
};

/// The device that reaches the target, with the queues that FabricController and a FabricQueueOf make, in that order.
class FabricDevice {
 public:
  FabricDevice()
      : wire(scenarios::roomy<FabricKit>()),
        admin(context()),
        target(wire.fabric, wire.far, wire.far_local(), target_blocks),
        manager(table_of<Rdmacm>("librdmacm.so.1", "xio_fake_rdmacm")),
        view_(wire.near_queue, wire.near),
        device_(context(), &wire.fabric) {
    current = this;
    manager = {&context(), &accept_, sizeof accept_, 0};
    wire.near_queue.now.qp_state = IBV_QPS_RESET;
    context().ops.post_recv = [](ibv_qp*, ibv_recv_wr* request, ibv_recv_wr**) {
      current->admin.receive(*request);
      return 0;
    };
    context().ops.post_send = [](ibv_qp*, ibv_send_wr* request, ibv_send_wr**) {
      current->admin.send(*request);
      return 0;
    };
    context().ops.poll_cq = [](ibv_cq*, int, ibv_wc* completion) { return current->admin.poll(*completion); };
    Ibverbs& verbs = table_of<Ibverbs>("libibverbs.so.1", "xio_fake_ibverbs");
    verbs.create_cq = [](ibv_context*, int) {
      ibv_cq* const all[] = {&current->admin.cq, &current->wire.near_queue.send_cq,
                             &current->wire.near_queue.receive_cq};
      return all[current->made_cqs_++ % 3];
    };
    verbs.create_qp = [](ibv_pd*, ibv_qp_init_attr*) { return &current->admin.qp; };
    verbs.modify_qp = [](ibv_qp* qp, ibv_qp_attr* to, int) {
      if (qp == &current->wire.near_queue.qp) current->wire.near_queue.now.qp_state = to->qp_state;
      return 0;
    };
    verbs.destroyed = [](const char*) { return 0; };
    table_of<Mlx5>("libmlx5.so.1", "xio_fake_mlx5").create_qp = [](ibv_context*, ibv_qp_init_attr_ex* wanted,
                                                                   mlx5dv_qp_init_attr*) {
      current->wire.near_queue.now.cap = wanted->cap;
      return &current->wire.near_queue.qp;
    };
    wire.nic.start();
    thread_ = xio::host::start_device_thread([this] {
      for (uint32_t looks = 0; !stop_.load(); looks = target.step() ? 0 : looks + 1) xio::arch::pause(looks);
    });
  }
  ~FabricDevice() {
    stop_.store(true);
    thread_.join();
    wire.nic.stop();
    current = nullptr;
  }

  Wire<FabricKit> wire;
  AnswersAtOnce admin;
  scenarios::FabricTarget<FabricKit> target;
  Rdmacm& manager;

 private:
  ibv_context& context() { return wire.near_queue.context; }

  static FabricDevice* current;
  Mlx5View view_;
  OnlyDevice device_;
  xio::nvme::fabrics::RdmaAccept accept_{};
  size_t made_cqs_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};
FabricDevice* FabricDevice::current = nullptr;

FabricOptions to_target() {
  FabricOptions options;
  options.address = "10.0.0.2";
  options.subsystem = "x";
  options.keep_alive = std::chrono::milliseconds(0);
  return options;
}

}  // namespace

TEST_CASE("kernels write and read blocks of a target through a ConnectX", "[host][rdma]") {
  FabricDevice device;
  {
    FabricController controller(to_target());
    CHECK(controller.device() == "fake0");
    CHECK(controller.granted_queues() == 4);
    constexpr uint32_t waves = 2, lanes = 64, threads = waves * lanes, bytes = 1024, rounds = 4;
    {
      FabricOnMlx5 queue(controller, {32, 1, threads * bytes});
      CHECK(queue.plan().depth == 31);
      const xio::nvme::QueueHandle handle = queue.handle();
      const auto& link = *reinterpret_cast<const xio::nvme::FabricLink*>(handle.sq_doorbell);
      CHECK(device.wire.near.handle().depth == 512);
      CHECK(link.send.depth == 128);  // a capsule has its place until its SEND has ended
      CHECK(handle.sq_mask == 127);
      const xio::Region data = queue.data();
      std::atomic<uint32_t> good{0};
      xio::simt::launch(xio::simt::Grid::of_waves(waves, 1, lanes), [&] {
        using namespace xio;
        nvme::Queue<Sharing::grid, Policy<RingBy<FabricOnMlx5::Transport>>> user(handle);
        const uint32_t me = arch::block_index() * lanes + arch::thread_index();
        auto* const mine = reinterpret_cast<unsigned char*>(data.base) + uint64_t{me} * bytes;
        const RegionSpan piece = data.at(uint64_t{me} * bytes, bytes);
        const Deadline until = deadline(Duration{20000000000});
        for (uint32_t round = 0; round < rounds; ++round) {
          const uint64_t lba = 2 * me;
          for (uint32_t i = 0; i < bytes; ++i) mine[i] = static_cast<unsigned char>(i * 7 + me + round);
          bool right = user.wait(user.write(lba, piece, until), until).is_ok();
          std::memset(mine, 0, bytes);
          right = user.wait(user.read(lba, piece, until), until).is_ok() && right;
          for (uint32_t i = 0; i < bytes; ++i)
            right = right && mine[i] == static_cast<unsigned char>(i * 7 + me + round);
          if (right) good.fetch_add(1);
        }
      });
      CHECK(good.load() == threads * rounds);
      CHECK(queue.lost().empty());
      CHECK(queue.cause().is_ok());
    }
    CHECK(device.manager.disconnected == 1);
    CHECK(device.target.capsules == 1 + 2 * threads * rounds);
    CHECK(device.target.malformed == 0);
  }
  CHECK(device.manager.disconnected == 2);
  CHECK(device.wire.violations() == "");
}

TEST_CASE("a send ring is used as far as there are capsules, or refused if these are too few", "[host][rdma]") {
  xio::nvme::QueueHandle queue{};
  xio::nvme::FabricLink link{};
  const auto fit = [&](uint32_t depth, uint32_t capsules, uint32_t sends, uint32_t signal_every, uint32_t units) {
    queue.depth = depth;
    queue.sq_mask = capsules - 1;
    link.send.depth = sends;
    link.send.signal_every = signal_every;
    xio::host::detail::fit_sends(link, queue, units);
    return std::make_pair(link.send.depth, link.send.signal_every);
  };
  CHECK(fit(31, 128, 127, 32, 1) == std::make_pair(127u, 32u));
  CHECK(fit(31, 128, 512, 64, 1) == std::make_pair(128u, 64u));
  CHECK(fit(31, 64, 512, 64, 1) == std::make_pair(64u, 32u));
  CHECK(fit(31, 64, 512, 64, 3) == std::make_pair(192u, 32u));
  CHECK(fit(30, 32, 512, 64, 1) == std::make_pair(32u, 1u));
  CHECK(contains(error_of([&] { fit(31, 32, 512, 64, 1); }), "31 commands in flight need room for 33 SENDs"));
  CHECK(contains(error_of([&] { fit(31, 128, 32, 8, 1); }), "there is room for 32. Use fewer entries"));
}

TEST_CASE("a device that is no ConnectX makes no such queue", "[host][rdma]") {
  FabricDevice device;
  table_of<Mlx5>("libmlx5.so.1", "xio_fake_mlx5").is_supported = [](ibv_device*) { return false; };
  FabricController controller(to_target());
  CHECK(contains(error_of([&] { FabricOnMlx5 queue(controller); }), "its device is no ConnectX"));
}
