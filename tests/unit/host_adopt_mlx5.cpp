// SPDX-License-Identifier: MIT

/// @file
/// @brief An existing ConnectX queue pair in the hands of kernels: libibverbs and libmlx5 are ours, and the rings that
/// they show belong to an emulated NIC.

#include <xio/host/rdma/mlx5.hpp>

#include "unit/fake_verbs/mlx5_device.hpp"

using namespace fake_verbs;
using xio::host::adopt_mlx5;
using xio::host::Mlx5AdoptOptions;

namespace {

using Kit = xio::emulation::Mlx5Kit<>;

Mlx5AdoptOptions with_receives() {
  Mlx5AdoptOptions options;
  options.receives_to_memory = true;
  return options;
}

struct BothHalves : xio::mlx5::Options {
  static constexpr uint32_t doorbell_stride = 256;
};
struct WideCompletions : xio::mlx5::Options {
  static constexpr uint32_t cqe_bytes = 128;
};

/// A queue pair and what is said of it.
struct Adoptable {
  Wire<Kit> wire;
  Mlx5View view{wire.near_queue, wire.near};
  ibv_qp* qp = &wire.near_queue.qp;

  std::string refusal(const Mlx5AdoptOptions& options = with_receives()) {
    return error_of([&] { adopt_mlx5<>(qp, options); });
  }
};

}  // namespace

TEST_CASE("an adopted queue pair whose doorbells go to both halves of the register", "[host][rdma]") {
  Wire<xio::emulation::Mlx5Kit<BothHalves>> wire;
  const Mlx5View view(wire.near_queue, wire.near);
  const auto adopted = adopt_mlx5<BothHalves>(&wire.near_queue.qp);
  wire.nic.start();
  CHECK(wire.put_all(adopted.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  CHECK(wire.violations() == "");
}

TEST_CASE("an adopted queue pair writes to its peer", "[host][rdma]") {
  Wire<Kit> wire;
  const Mlx5View view(wire.near_queue, wire.near);
  const auto adopted = adopt_mlx5<>(&wire.near_queue.qp);
  const xio::rdma::QueuePairHandle& handle = adopted.handle();
  CHECK(handle.shape.qpn == 0x101);
  CHECK(handle.shape.entries == 128);
  CHECK(handle.shape.max_sges == 2);
  CHECK(handle.shape.max_inline == 32);
  CHECK(handle.depth == 128);
  CHECK(handle.signal_every == 32);
  CHECK(handle.cq.size == 256);
  CHECK(handle.cq.number == wire.near.config().cqn);
  CHECK(view.queues_taken == 1);

  wire.nic.start();
  CHECK(wire.put_all(handle) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  CHECK(wire.violations() == "");
  CHECK(wire.near.model().statistics().operations == 256);
}

TEST_CASE("adopted rings go round", "[host][rdma]") {
  Wire<Kit> wire;
  const Mlx5View view(wire.near_queue, wire.near);
  const auto adopted = adopt_mlx5<>(&wire.near_queue.qp);
  wire.nic.start();
  for (int round = 0; round < 5; ++round) {
    std::fill(wire.far_bytes.begin(), wire.far_bytes.end(), static_cast<unsigned char>(0));
    wire.near_bytes[0] = static_cast<unsigned char>(round);
    REQUIRE(wire.put_all(adopted.handle()) == 256);
    REQUIRE(wire.far_bytes == wire.near_bytes);
  }
  CHECK(wire.violations() == "");
}

TEST_CASE("an adopted queue pair sends, another one receives", "[host][rdma]") {
  Wire<Kit> wire;
  const Mlx5View near_view(wire.near_queue, wire.near);
  const Mlx5View far_view(wire.far_queue, wire.far);
  const auto near = adopt_mlx5<>(&wire.near_queue.qp);
  const auto far = adopt_mlx5<>(&wire.far_queue.qp, with_receives());
  CHECK(far_view.queues_taken == 2);
  CHECK_FALSE(near.has_receive_queue());
  REQUIRE(far.has_receive_queue());
  CHECK(far.receive_handle().shape.entry_shift == 7);
  CHECK(far.receive_handle().depth == 32);
  wire.nic.start();
  send_and_receive(wire, near.handle(), far.receive_handle());
  CHECK(wire.violations() == "");
}

TEST_CASE("a queue pair that was used goes on where it was", "[host][rdma]") {
  Wire<Kit> wire;
  // 16 and 24 bits of the counters wrap while it works.
  const uint64_t units = 3 * 65536 - 20;
  const uint64_t completions = (uint64_t{1} << 24) - 512;
  wire.near.start_at(units, completions, 0);
  const Mlx5View view(wire.near_queue, wire.near);
  CHECK(contains(error_of([&] { adopt_mlx5<>(&wire.near_queue.qp); }),
                 "cannot be adopted: 65516 units were posted, and not 0 (modulo 2^16); is it in use?"));
  Mlx5AdoptOptions options;
  options.send_index = units;
  CHECK(contains(error_of([&] { adopt_mlx5<>(&wire.near_queue.qp, options); }),
                 "16776704 completions of a completion queue were polled, and not 0 (modulo 2^24)"));
  options.completions = completions;
  const auto adopted = adopt_mlx5<>(&wire.near_queue.qp, options);
  wire.nic.start();
  for (int round = 0; round < 4; ++round) REQUIRE(wire.put_all(adopted.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
  CHECK(wire.violations() == "");
}

TEST_CASE("a completion queue that is smaller than the ring limits what is in flight", "[host][rdma]") {
  Adoptable a;
  a.view.send_cq.cqe_cnt = 64;
  const auto adopted = adopt_mlx5<>(a.qp);
  CHECK(adopted.handle().depth == 63);
  CHECK(adopted.handle().signal_every == 8);
}

TEST_CASE("completions of 128 bytes are another vendor type", "[host][rdma]") {
  using Wide = xio::emulation::Mlx5Kit<WideCompletions>;
  Wire<Wide> wire;
  const Mlx5View view(wire.near_queue, wire.near);
  CHECK(contains(error_of([&] { adopt_mlx5<>(&wire.near_queue.qp); }),
                 "its completions have 128 bytes and not 64; use mlx5::Vendor with another Options::cqe_bytes"));
  const auto adopted = adopt_mlx5<WideCompletions>(&wire.near_queue.qp);
  wire.nic.start();
  CHECK(wire.put_all(adopted.handle()) == 256);
  CHECK(wire.far_bytes == wire.near_bytes);
}

TEST_CASE("what verbs say of a queue pair can forbid its adoption", "[host][rdma]") {
  CHECK(error_of([] { adopt_mlx5<>(nullptr); }) == "mlx5: there is no queue pair to adopt");
  const std::string who = "mlx5: queue pair 257 of fake0 cannot be adopted: ";
  {
    Adoptable a;
    a.qp->qp_type = IBV_QPT_UD;
    CHECK(a.refusal() == who + "it is no reliable connection (IBV_QPT_RC)");
  }
  {
    Adoptable a;
    a.qp->recv_cq = a.qp->send_cq;
    CHECK(a.refusal() ==
          who + "both directions share a completion queue; make it with a send_cq and a recv_cq of its own");
    a.qp->recv_cq = nullptr;
    CHECK(a.refusal() == who + "it lacks a send_cq or a recv_cq");
  }
  {
    Adoptable a;
    a.wire.near_queue.now.qp_state = IBV_QPS_INIT;
    CHECK(a.refusal() == who + "its state is INIT; connect it first (RTS)");
    a.wire.near_queue.now.qp_state = IBV_QPS_ERR;
    CHECK(a.refusal() == who + "its state is ERR; connect it first (RTS)");
  }
  {
    Adoptable a;
    a.wire.near_queue.made.sq_sig_all = 1;
    CHECK(a.refusal() ==
          who + "it was made with sq_sig_all; kernels choose themselves which operations write completions");
  }
  {
    Adoptable a;
    a.wire.near_queue.now.cap.max_send_wr = 0;
    CHECK(a.refusal() == who + "it was made without operations (max_send_wr)");
  }
  {
    Adoptable a;
    a.wire.near_queue.now.cap.max_send_sge = 0;
    CHECK(a.refusal() == who + "its operations have no SGE (max_send_sge); make it with 1 or more");
  }
  {
    Adoptable a;
    a.wire.near_queue.query_error = EIO;
    CHECK(a.refusal() == who + "its state cannot be queried: Input/output error");
  }
  // None of them has touched the completion queues.
  Adoptable a;
  a.qp->qp_type = IBV_QPT_UC;
  a.refusal();
  CHECK(a.view.queues_taken == 0);
}

TEST_CASE("what libmlx5 says of a queue pair can forbid its adoption", "[host][rdma]") {
  const std::string who = "mlx5: queue pair 257 of fake0 cannot be adopted: ";
  {
    Adoptable a;
    a.wire.near_queue.device.node_type = IBV_NODE_RNIC;
    CHECK(a.refusal() == who + "its device is no ConnectX");
  }
  {
    Adoptable a;
    a.view.qp_error = EOPNOTSUPP;
    CHECK(contains(a.refusal(), "mlx5dv_init_obj failed: Operation not supported"));
  }
  {
    Adoptable a;
    a.view.cq_error = EOPNOTSUPP;
    CHECK(contains(a.refusal(), "mlx5dv_init_obj failed for a completion queue: Operation not supported"));
  }
  {
    Adoptable a;
    a.view.qp.sq.stride = 128;
    CHECK(a.refusal() == who + "its send ring has units of 128 bytes and not 64");
  }
  for (const uint32_t units : {0u, 65536u}) {
    Adoptable a;
    a.view.qp.sq.wqe_cnt = units;
    CHECK(a.refusal() == who + "its send ring has " + std::to_string(units) + " units; 1 to 32768 are supported");
  }
  {
    Adoptable a;
    a.view.qp.sq.wqe_cnt = 96;
    CHECK(contains(a.refusal(), "cannot be used: its send ring's size is not a power of two"));
  }
  {
    Adoptable a;
    a.view.qp.sq.buf = nullptr;
    CHECK(contains(a.refusal(), "cannot be used: its send ring is unknown, or not at a multiple of 16 bytes"));
  }
  {
    Adoptable a;
    a.view.qp.bf.reg = nullptr;
    CHECK(a.refusal() == who + "its doorbell record or register is unknown");
  }
  {
    // The first register of a page has no halves.
    Adoptable a;
    a.view.qp.bf.size = 0;
    CHECK(error_of([&] { adopt_mlx5<BothHalves>(a.qp); }) ==
          who +
              "the halves of its doorbell register have 0 bytes and not 256; use mlx5::Vendor with another "
              "Options::doorbell_stride");
  }
  {
    Adoptable a;
    a.view.qp.bf.reg = static_cast<char*>(a.view.qp.bf.reg) + 4;
    CHECK(contains(a.refusal(), "cannot be used: the doorbell of its send ring is unknown"));
  }
  {
    Adoptable a;
    a.view.qp.dbrec[0] = htobe32(3);
    CHECK(a.refusal() == who + "3 receives were posted, and not 0 (modulo 2^16); is it in use?");
  }
  {
    Adoptable a;
    a.view.qp.rq.stride = 48;
    CHECK(a.refusal() == who + "its receive ring has entries of 48 bytes");
  }
  {
    Adoptable a;
    a.view.qp.rq.wqe_cnt = 0;
    CHECK(contains(a.refusal(), "cannot be used: its receive ring's size is not a power of two"));
  }
  {
    Adoptable a;
    a.view.send_cq.dbrec = nullptr;
    CHECK(a.refusal() == who + "a completion queue has no record");
  }
  {
    Adoptable a;
    a.view.send_cq.cqe_cnt = 255;
    CHECK(contains(a.refusal(), "its send completion queue has 255 entries, which is no power of two of at least 2"));
  }
  {
    Adoptable a;
    a.view.receive_cq.buf = nullptr;
    CHECK(contains(a.refusal(), "its receive completion queue is unknown, or not at a multiple of 16 bytes"));
  }
}

TEST_CASE("completion queues that are not in their first state are refused", "[host][rdma][H5]") {
  const auto with_byte = [](unsigned char owner, size_t place) {
    Adoptable a;
    static_cast<unsigned char*>(a.view.send_cq.buf)[place * 64 + 63] = owner;
    return a.refusal();
  };
  CHECK(with_byte(0xf0, 17).empty());
  const std::string found = with_byte(0x00, 17);
  CHECK(contains(found, "its send completion queue holds an entry at 17 that was not polled: it was used before"));
  CHECK(contains(with_byte(0xd0, 0), "holds an entry at 0"));
  CHECK(contains(with_byte(0x20, 255), "holds an entry at 255"));
  Adoptable a;
  std::memset(a.view.receive_cq.buf, 0, 64);
  CHECK(contains(a.refusal(), "its receive completion queue holds an entry at 0"));
}

TEST_CASE("receives are offered only where they work", "[host][rdma]") {
  const auto why = [](Adoptable& a, const Mlx5AdoptOptions& options) {
    const auto adopted = adopt_mlx5<>(a.qp, options);
    CHECK_FALSE(adopted.has_receive_queue());
    return error_of([&] { adopted.receive_handle(); });
  };
  {
    Adoptable a;
    CHECK(why(a, {}) ==
          "mlx5: queue pair 257 of fake0 has no receive queue for kernels: small messages may arrive in completions "
          "instead of in memory; see Mlx5AdoptOptions::receives_to_memory");
  }
  {
    Adoptable a;
    ibv_srq shared{};
    a.qp->srq = &shared;
    CHECK(contains(why(a, with_receives()), "it takes receives from a shared receive queue"));
  }
  Adoptable a;
  a.wire.near_queue.now.cap.max_recv_wr = 0;
  CHECK(contains(why(a, with_receives()), "it was made without receives"));
}

TEST_CASE("a library that is not there, or too old", "[host][rdma]") {
  const std::string missing = error_of([] { xio::host::Mlx5Library("libmlx5-that-is-not-here.so.1"); });
  CHECK(contains(missing, "cannot load a library: libmlx5-that-is-not-here.so.1"));
  CHECK(contains(missing, "install libmlx5 of rdma-core 32 or later (Debian: ibverbs-providers)"));
  const std::string wrong = error_of([] { xio::host::Mlx5Library("libionic.so.1"); });
  CHECK(contains(wrong, "libionic.so.1 has no mlx5dv_init_obj; install libmlx5"));
}
