// SPDX-License-Identifier: MIT

/// @file
/// @brief Emulated NICs of two processes: everything that two of one process do.

#include <sys/wait.h>
#include <unistd.h>

#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/rdma/fabric_link.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::emulation::RdmaFabricLink;
using xio::emulation::RdmaLinkEnd;
using xio::emulation::SharedMemory;
using xio::rdma::Received;
using xio::rdma::ReceiveQueue;

namespace {

constexpr uint32_t blocks = 500;
constexpr uint32_t block_bytes = 4096;
constexpr uint32_t counter = 3 * block_bytes;  // offset of a word for atomics

/// What one process tells the other before they begin.
struct Introduction {
  RemoteMemory memory;
};

template <class Kit>
struct Side {
  Side(const std::string& name, RdmaLinkEnd end, std::chrono::milliseconds limit = std::chrono::seconds(3))
      : bytes(size_t{1} << 21, end == RdmaLinkEnd::first ? 0x11 : 0x22),
        queue(fabric, numbered(number_of(end))),
        link(fabric, name, end, limit) {
    const uint32_t peer = 0x303 - number_of(end);
    link.add(peer);
    queue.model().connect(peer);
    key = fabric.keys().add(bytes.data(), bytes.size());
    nic.add(queue.model());
    nic.start();
  }
  ~Side() { nic.stop(); }

  static uint32_t number_of(RdmaLinkEnd end) { return end == RdmaLinkEnd::first ? 0x101 : 0x202; }
  static RdmaQueueConfig numbered(uint32_t qpn) {
    RdmaQueueConfig config = Kit::config();
    config.qpn = qpn;
    if (config.handle != 0) config.handle = qpn + 0x1000;
    return config;
  }
  Region local() const { return {reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), key}; }
  RemoteMemory remote() const { return {reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), key}; }

  std::vector<unsigned char> bytes;
  uint32_t key = 0;
  RdmaFabric fabric;
  RdmaQueuePair<Kit> queue;
  RdmaFabricLink link;
  RdmaNic nic;
};

/// The process that takes messages and checks them; returns its exit status.
template <class Kit>
int receive_all(const std::string& name, int to_parent) {
  Side<Kit> side(name, RdmaLinkEnd::second);
  ReceiveQueue<typename Kit::Vendor, Sharing::thread, xio::Policy<>> receives(side.queue.receive_handle());
  std::memset(&side.bytes[counter], 0, 16);
  const Introduction mine{side.remote()};
  Token next = receives.post(side.local().at(0, block_bytes), soon());
  if (::write(to_parent, &mine, sizeof mine) != sizeof mine) return 2;
  for (uint32_t round = 0; round < blocks; ++round) {
    const Received received = receives.wait(next, soon());
    if (!received.status.is_ok() || received.bytes != block_bytes || received.immediate != round) return 3;
    for (uint32_t i = 0; i < block_bytes; ++i) {
      if (side.bytes[i] != static_cast<unsigned char>(mix(round, i))) return 4;
    }
    next = receives.post(side.local().at(0, block_bytes), soon());
  }
  // Lives until the other side has seen all of its completions, which it says by a write.
  const auto* const done = reinterpret_cast<const uint64_t*>(side.bytes.data() + counter + 8);
  return xio::wait_until(done, 1, soon()).is_ok() ? 0 : 5;
}

std::string unique_name() {
  static uint32_t number = 0;
  return "/xio-rdma-processes-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

/// Runs `child` in a process of its own, `parent` in this one with what the child introduces itself with.
template <class Child, class Parent>
int with_child(Child child, Parent parent) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    ::close(ends[0]);
    int status = 1;
    try {
      status = child(ends[1]);
    } catch (...) {
    }
    ::_exit(status);
  }
  ::close(ends[1]);
  Introduction introduction{};
  const bool met = ::read(ends[0], &introduction, sizeof introduction) == sizeof introduction;
  if (met) parent(introduction, process);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  CHECK(met);
  return status;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("queue pairs of two processes exchange data", "", Vendors) {
  const std::string name = unique_name();
  const auto child = [&](int to_parent) { return receive_all<TestType>(name, to_parent); };
  const auto parent = [&](const Introduction& peer, pid_t) {
    Side<TestType> side(name, RdmaLinkEnd::first);
    SharedMemory::remove(name);  // both have it
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(side.queue.handle());
    const RemoteMemory remote = peer.memory;
    const auto local = [&](uint64_t at, uint32_t bytes) { return side.local().at(at, bytes); };
    uint64_t sum = 0;
    for (uint32_t round = 0; round < blocks; ++round) {
      for (uint32_t i = 0; i < block_bytes; ++i) side.bytes[i] = static_cast<unsigned char>(mix(round, i));
      const Token put = qp.put(remote.at(block_bytes, block_bytes), local(0, block_bytes), soon());
      const Token sent = qp.send_immediate(local(0, block_bytes), round, soon());
      REQUIRE(qp.wait(sent, soon()).is_ok());
      REQUIRE(qp.wait(put, soon()).is_ok());
      REQUIRE(qp.wait(qp.get(local(block_bytes, block_bytes), remote.at(block_bytes, block_bytes), soon()), soon())
                  .is_ok());
      REQUIRE(std::memcmp(&side.bytes[0], &side.bytes[block_bytes], block_bytes) == 0);
      REQUIRE(qp.wait(qp.fetch_add(remote.at(counter, 8), round, local(counter, 8), soon()), soon()).is_ok());
      const uint64_t before = sum;
      sum += round;
      uint64_t found = 0;
      std::memcpy(&found, &side.bytes[counter], 8);
      REQUIRE(found == before);
    }
    // More than fits the pipe at once.
    CHECK(qp.wait(qp.put(remote.at(1 << 19, 3 << 19), local(1 << 19, 3 << 19), soon()), soon()) == Status::ok);
    CHECK(qp.wait(qp.get(local(0, 3 << 19), remote.at(1 << 19, 3 << 19), soon()), soon()).is_ok());
    CHECK(std::all_of(&side.bytes[0], &side.bytes[3 << 19], [](unsigned char byte) { return byte == 0x11; }));
    const uint64_t one = 1;
    std::memcpy(&side.bytes[0], &one, 8);
    CHECK(qp.wait(qp.put(remote.at(counter + 8, 8), local(0, 8), soon()), soon()).is_ok());
    side.nic.stop();
    CHECK(side.queue.model().statistics().violations.empty());
  };
  const int status = with_child(child, parent);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEMPLATE_LIST_TEST_CASE("H14 a process that dies is a peer that does not answer", "", Vendors) {
  const std::string name = unique_name();
  const auto child = [&](int to_parent) {
    Side<TestType> side(name, RdmaLinkEnd::second);
    const Introduction mine{side.remote()};
    if (::write(to_parent, &mine, sizeof mine) != sizeof mine) return 2;
    ::pause();
    return 0;
  };
  const auto parent = [&](const Introduction& peer, pid_t process) {
    Side<TestType> side(name, RdmaLinkEnd::first, std::chrono::seconds(1));
    SharedMemory::remove(name);  // both have it
    QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(side.queue.handle());
    CHECK(qp.wait(qp.put(peer.memory.at(0, 64), side.local().at(0, 64), soon()), soon()).is_ok());
    ::kill(process, SIGKILL);
    siginfo_t gone;
    ::waitid(P_PID, static_cast<id_t>(process), &gone, WEXITED | WNOWAIT);
    CHECK(qp.wait(qp.put(peer.memory.at(0, 64), side.local().at(0, 64), soon()), soon()) == Status::retry_exceeded);
    CHECK(side.link.is_cut());
  };
  const int status = with_child(child, parent);
  CHECK(WIFSIGNALED(status));
}
