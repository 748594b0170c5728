// SPDX-License-Identifier: MIT

/// @file
/// @brief What vendors vary in: how entries lie in the ring, tables beside it, sizes of completions, versions.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

template <xio::bnxt::SideTableKind Kind>
struct FixedWith : xio::bnxt::Options {
  static constexpr xio::bnxt::SideTableKind side_table = Kind;
};
template <xio::bnxt::SideTableKind Kind, bool PowerOfTwo>
struct VariableWith : xio::bnxt::Options {
  static constexpr xio::bnxt::WqeMode mode = xio::bnxt::WqeMode::variable;
  static constexpr xio::bnxt::SideTableKind side_table = Kind;
  static constexpr bool power_of_two = PowerOfTwo;
};
struct LargeCqes : xio::mlx5::Options {
  static constexpr uint32_t cqe_bytes = 128;
};
struct Signed : xio::mlx5::Options {
  static constexpr bool signature = true;
  static constexpr bool memory_operations = true;
};
struct Version2 : xio::ionic::Options {
  static constexpr xio::ionic::Version version = xio::ionic::Version::v2;
};
using xio::bnxt::SideTableKind;
using Variants =
    std::tuple<xio::emulation::BnxtKit<FixedWith<SideTableKind::psn8>>,
               xio::emulation::BnxtKit<FixedWith<SideTableKind::psn16>>,
               xio::emulation::BnxtKit<VariableWith<SideTableKind::msn, true>>,
               xio::emulation::BnxtKit<VariableWith<SideTableKind::psn16, false>>, xio::emulation::Mlx5Kit<LargeCqes>,
               xio::emulation::Mlx5Kit<Signed>, xio::emulation::IonicKit<Version2>>;

/// Operations of mixed kinds and lengths, several at a time, over many laps of the ring.
template <class Kit>
void mixed(RdmaRig<Kit>& rig) {
  QueuePair<typename Kit::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  auto* const far = reinterpret_cast<uint64_t*>(rig.far_bytes.data());
  far[0] = 0;
  const uint32_t rounds = 200;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t bytes = 1 + round * 37 % 9000;
    for (uint32_t i = 0; i < bytes; ++i) rig.near_bytes[4096 + i] = static_cast<unsigned char>(mix(i, round));
    const xio::rdma::Sge pieces[] = {{rig.local.base + 4096, bytes / 2, rig.local.key},
                                     {rig.local.base + 4096 + bytes / 2, bytes - bytes / 2, rig.local.key}};
    xio::rdma::Work work;
    work.flags = xio::rdma::work_flag::signaled;
    work.remote = rig.remote.base + 4096;
    work.rkey = rig.remote.rkey;
    const Token two = qp.submit(work, xio::rdma::SgeList{pieces, 2}, soon());
    const Token value = qp.put_value(rig.remote.at(64, 8), round, soon());
    const Token count = qp.fetch_add(rig.remote.at(0, 8), 1, rig.local.at(0, 8), soon());
    REQUIRE(qp.wait(count, soon()).is_ok());
    REQUIRE(qp.wait(two, soon()).is_ok());
    REQUIRE(qp.wait(value, soon()).is_ok());
    CHECK(std::memcmp(rig.far_bytes.data() + 4096, rig.near_bytes.data() + 4096, bytes) == 0);
    CHECK(far[8] == round);
    CHECK(reinterpret_cast<uint64_t*>(rig.near_bytes.data())[0] == round);
  }
  CHECK(far[0] == rounds);
  CHECK(qp.quiet(soon()).is_ok());
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H7 every variant: tables, PSNs, sizes and versions are as the device wants them", "",
                        Variants) {
  RdmaQueueConfig config = TestType::config();
  // Not a power of two where that may be; a multiple of nothing that an entry takes.
  if constexpr (!TestType::Vendor::power_of_two) config.sq_units = config.side_entries = 119;
  RdmaRig<TestType> rig(config);
  if constexpr (TestType::Vendor::has_side_table) rig.near.send().psn = config.first_psn;
  rig.running();
  mixed(rig);
}

TEST_CASE("H7 BNXT: PSNs count packets, and wrap at 24 bits") {
  RdmaQueueConfig config = Bnxt::config();
  config.first_psn = 0xfffff0;
  RdmaRig<Bnxt> rig(config);
  rig.running();
  QueuePair<Bnxt::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const uint32_t mtu = 1u << config.mtu_shift;
  uint32_t packets = 0;
  for (const uint32_t bytes : {0u, 1u, mtu - 1, mtu, mtu + 1, 10 * mtu, 10 * mtu + 1}) {
    const Token token = qp.put(rig.remote.at(0, bytes), rig.local.at(0, bytes), soon());
    REQUIRE(qp.wait(token, soon()).is_ok());
    packets += bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
  }
  CHECK(rig.near.send().psn == ((config.first_psn + packets) & 0xffffff));
  CHECK(rig.near.send().msn == 7);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEST_CASE("a local invalidate of ConnectX: the key is gone, and the next operation waits for it") {
  using Kit = xio::emulation::Mlx5Kit<Signed>;
  RdmaRig<Kit> rig;
  const uint32_t key = rig.fabric.keys().add(rig.near_bytes.data(), 4096);
  QueuePair<Kit::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  xio::rdma::Work work;
  work.operation = xio::rdma::Operation::local_invalidate;
  work.flags = xio::rdma::work_flag::signaled;
  work.immediate = key;
  const Token gone = qp.try_submit(work, xio::rdma::NoPayload{});
  const Token after = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  const uint8_t* const next = rig.near.memory().sq + 64 * (after.last + 1 - after.count);
  CHECK((next[11] & 0xe0) == 0x20);  // initiator small fence
  rig.running();
  CHECK(qp.wait(gone, soon()).is_ok());
  CHECK(qp.wait(after, soon()).is_ok());
  const Token use = qp.put(rig.remote.at(0, 64), {rig.local.base, 64, key}, xio::Now{});
  CHECK(qp.wait(use, soon()) == Status::bad_address);
}

TEMPLATE_TEST_CASE("H16 a local invalidate that would not end in its turn is refused", "", Bnxt, Ionic, Ernic) {
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  xio::rdma::Work work;
  work.operation = xio::rdma::Operation::local_invalidate;
  const Token token = qp.try_submit(work, xio::rdma::NoPayload{});
  CHECK(token.count == 0);
  CHECK(token.status == Status::unsupported);
}

namespace {

/// Messages, entries that say nothing and the end of the queue pair, in BNXT's completion queue for receives.
template <Sharing S>
void meet_all_entries() {
  namespace bnxt = xio::bnxt;
  RdmaRig<Bnxt> rig;
  const xio::rdma::ReceiveQueueHandle handle = rig.near.receive_handle();
  auto* const words = static_cast<uint64_t*>(const_cast<void*>(handle.cq.entries));
  const auto put = [&](uint32_t slot, bnxt::CqeType type, uint64_t status, uint64_t bytes) {
    const bool of_receive = type == bnxt::CqeType::responder_rc;
    words[4 * slot] = of_receive ? bytes : handle.cq.cookie;
    words[4 * slot + 1] = handle.cq.cookie;
    words[4 * slot + 3] =
        1 | static_cast<uint64_t>(type) << bnxt::cqe_word::type_shift | status << bnxt::cqe_word::status_shift;
  };
  xio::rdma::ReceiveQueue<Bnxt::Vendor, S> queue(handle);
  Token tokens[4];
  for (Token& token : tokens) token = queue.post(xio::rdma::NoPayload{}, xio::Now{});
  put(0, bnxt::CqeType::responder_rc, static_cast<uint64_t>(bnxt::ResponderStatus::hardware_flush), 0);
  put(1, bnxt::CqeType::responder_rc, 0, 5);
  put(2, static_cast<bnxt::CqeType>(13), 0, 0);
  put(3, bnxt::CqeType::responder_rc, 0, 6);
  CHECK(queue.wait(tokens[0], soon()).bytes == 5);
  CHECK(queue.wait(tokens[1], soon()).bytes == 6);
  CHECK(queue.test(tokens[2]).status == Status::pending);
  put(4, bnxt::CqeType::terminal, 0, 0);
  CHECK(queue.wait(tokens[2], soon()).status == Status::flushed);
  CHECK(queue.wait(tokens[3], soon()).status == Status::flushed);
  CHECK(queue.wait(tokens[1], soon()).status == Status::ok);
  CHECK(handle.state->queue.broken == 0);
}

}  // namespace

TEST_CASE("H16 receives pass over entries that say nothing, and end with their queue pair") {
  meet_all_entries<Sharing::thread>();
  meet_all_entries<Sharing::wave>();
  meet_all_entries<Sharing::block>();
  meet_all_entries<Sharing::grid>();
}
