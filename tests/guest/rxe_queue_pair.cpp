// SPDX-License-Identifier: MIT

/// @file
/// @brief rdma::QueuePair and rdma::ReceiveQueue against the kernel's soft-RoCE driver, on every device that there is.
/// Runs in the guest of scripts/guest; elsewhere it is skipped.

#include "catch.hpp"
#include "skip.hpp"

#if __has_include(<infiniband/verbs.h>)

#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/rdma/rxe_endpoint.hpp>
#include <xio/host/simt/simt.hpp>

using namespace xio;
using namespace xio::literals;
using xio::host::QueuePairOptions;
using xio::host::RxeEndpoint;

namespace Catch {
template <>
struct StringMaker<xio::Status> {
  static std::string convert(xio::Status status) {
    return std::string(xio::name(status.code)) + " (" + std::to_string(status.vendor) + ")";
  }
};
}  // namespace Catch

namespace {

Deadline soon() { return deadline(20_s); }

/// A device's endpoint with registered memory.
struct Node {
  Node(const std::string& name, const QueuePairOptions& options, size_t bytes = size_t{1} << 20)
      : device({name, 1, {}}),
        domain(device),
        endpoint(device, domain, options),
        memory(bytes),
        region(domain, memory.data(), memory.size()) {}
  Region local() const { return {region.remote().address, memory.size(), region.lkey()}; }
  rdma::RemoteMemory remote() const { return {region.remote().address, memory.size(), region.rkey()}; }

  host::RdmaDevice device;
  host::ProtectionDomain domain;
  RxeEndpoint endpoint;
  std::vector<unsigned char> memory;
  host::MemoryRegion region;
};

/// Two nodes of one device, connected.
struct Pair {
  explicit Pair(const std::string& device, const QueuePairOptions& options = {})
      : near(device, options), far(device, options) {
    connect();
  }
  void connect() {
    auto& a = near.endpoint.queue().verbs_queue();
    auto& b = far.endpoint.queue().verbs_queue();
    a.connect(b.address());
    b.connect(a.address());
  }
  Node near;
  Node far;
};

void on_each_device(const std::function<void(const std::string&)>& body) {
  std::vector<std::string> names;
  try {
    names = host::rdma_device_names();
  } catch (const host::Error& error) {
    xio_tests::skip(error.what());
  }
  if (names.empty()) xio_tests::skip("no RDMA device");
  for (const std::string& name : names) {
    INFO("device " << name);
    std::printf("%s\n", name.c_str());
    body(name);
  }
}

template <Sharing S, class Policy = xio::Policy<>>
using Queue = rdma::QueuePair<RxeEndpoint::Vendor, S, Policy>;
using Receives = rdma::ReceiveQueue<RxeEndpoint::Vendor, Sharing::thread, xio::Policy<>>;

unsigned char pattern(uint64_t i, uint64_t seed) { return static_cast<unsigned char>((i * 7 + seed * 13) ^ (i >> 8)); }

QueuePairOptions with_inline(uint32_t bytes) {
  QueuePairOptions options;
  options.inline_bytes = bytes;
  options.send_sges = 4;
  return options;
}

}  // namespace

TEST_CASE("the driver takes no dma-bufs, and the refusal says so", "[guest]") {
  on_each_device([](const std::string& name) {
    const host::RdmaDevice device({name, 1, {}});
    const host::ProtectionDomain domain(device);
    host::DmaBufExport exported;
    exported.fd = host::FileDescriptor(::memfd_create("no-dma-buf", MFD_CLOEXEC), "memfd");
    exported.bytes = 4096;
    std::string said;
    try {
      const host::MemoryRegion region(domain, exported, nullptr, false);
    } catch (const host::Error& refusal) {
      said = refusal.what();
    }
    CHECK(said.find("supports no dma-bufs; keep data in host memory") != std::string::npos);
  });
}

TEST_CASE("put, get, inline data and several pieces", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name, with_inline(128));
    Queue<Sharing::thread> qp(pair.near.endpoint.handle());
    auto& near = pair.near.memory;
    auto& far = pair.far.memory;
    for (const uint32_t bytes : {0u, 1u, 7u, 64u, 1023u, 4096u, 65537u, 1u << 19}) {
      CAPTURE(bytes);
      for (uint32_t i = 0; i < bytes; ++i) near[i] = pattern(i, bytes);
      std::fill(far.begin(), far.end(), static_cast<unsigned char>(0xee));
      REQUIRE(qp.wait(qp.put(pair.far.remote().at(64, bytes), pair.near.local().at(0, bytes), soon()), soon()).is_ok());
      CHECK(std::memcmp(near.data(), far.data() + 64, bytes) == 0);
      CHECK((far[63] == 0xee && far[64 + bytes] == 0xee));
      std::fill(near.begin(), near.begin() + bytes, static_cast<unsigned char>(0));
      REQUIRE(qp.wait(qp.get(pair.near.local().at(0, bytes), pair.far.remote().at(64, bytes), soon()), soon()).is_ok());
      CHECK(std::memcmp(near.data(), far.data() + 64, bytes) == 0);
    }
    rdma::Work work;
    work.flags = rdma::work_flag::signaled;
    work.remote = pair.far.remote().base;
    work.rkey = pair.far.remote().rkey;
    for (uint32_t bytes = 0; bytes <= 128; ++bytes) {
      CAPTURE(bytes);
      for (uint32_t i = 0; i < bytes; ++i) near[i] = pattern(i, bytes + 1000);
      std::fill(far.begin(), far.begin() + 200, static_cast<unsigned char>(0xee));
      REQUIRE(qp.wait(qp.submit(work, rdma::InlineBytes{near.data(), bytes}, soon()), soon()).is_ok());
      CHECK(std::memcmp(near.data(), far.data(), bytes) == 0);
      CHECK(far[bytes] == 0xee);
    }
    REQUIRE(qp.wait(qp.put_value(pair.far.remote().at(8, 8), 0x1122334455667788, soon()), soon()).is_ok());
    CHECK(*reinterpret_cast<uint64_t*>(far.data() + 8) == 0x1122334455667788);
    const auto local = pair.near.local();
    const rdma::Sge pieces[] = {{local.base + 100, 13, local.key},
                                {local.base + 1000, 700, local.key},
                                {local.base + 3000, 1, local.key},
                                {local.base + 5000, 4000, local.key}};
    for (uint32_t i = 0; i < 10000; ++i) near[i] = pattern(i, 5);
    REQUIRE(qp.wait(qp.submit(work, rdma::SgeList{pieces, 4}, soon()), soon()).is_ok());
    uint64_t at = 0;
    for (const rdma::Sge& piece : pieces) {
      CHECK(std::memcmp(far.data() + at, reinterpret_cast<void*>(piece.address), piece.length) == 0);
      at += piece.length;
    }
  });
}

TEST_CASE("messages, immediates and atomics", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name, with_inline(64));
    Queue<Sharing::thread> qp(pair.near.endpoint.handle());
    Receives receives(pair.far.endpoint.receive_handle());
    const auto far = pair.far.local();
    for (uint32_t round = 0; round < 50; ++round) {
      CAPTURE(round);
      const Token first = receives.post(far.at(0, 4096), soon());
      const Token second = receives.post(far.at(4096, 4096), soon());
      const Token third = receives.post(rdma::NoPayload{}, soon());
      for (uint32_t i = 0; i < 4096; ++i) pair.near.memory[i] = pattern(i, round);
      (void)qp.send(pair.near.local().at(0, 4096), soon());
      (void)qp.send_immediate(pair.near.local().at(5, 100), 0xabcd0000 + round, soon());
      const Token last = qp.put_immediate(pair.far.remote().at(8192, 64), pair.near.local().at(9, 64), round, soon());
      REQUIRE(qp.wait(last, soon()).is_ok());
      const rdma::Received plain = receives.wait(first, soon());
      CHECK(plain.status.is_ok());
      CHECK((plain.bytes == 4096 && plain.flags == 0));
      const rdma::Received tagged = receives.wait(second, soon());
      CHECK(tagged.status.is_ok());
      CHECK((tagged.bytes == 100 && tagged.immediate == 0xabcd0000 + round));
      const rdma::Received written = receives.wait(third, soon());
      CHECK(written.status.is_ok());
      CHECK(written.immediate == round);
      CHECK(std::memcmp(pair.far.memory.data(), pair.near.memory.data(), 4096) == 0);
      CHECK(std::memcmp(pair.far.memory.data() + 4096, pair.near.memory.data() + 5, 100) == 0);
      CHECK(std::memcmp(pair.far.memory.data() + 8192, pair.near.memory.data() + 9, 64) == 0);
    }
    auto* const word = reinterpret_cast<uint64_t*>(pair.far.memory.data() + 16384);
    auto* const old = reinterpret_cast<uint64_t*>(pair.near.memory.data() + 16384);
    *word = 40;
    const auto where = pair.far.remote().at(16384, 8);
    const auto back = pair.near.local().at(16384, 8);
    REQUIRE(qp.wait(qp.fetch_add(where, 2, back, soon()), soon()).is_ok());
    CHECK((*old == 40 && *word == 42));
    REQUIRE(qp.wait(qp.compare_swap(where, 41, 7, back, soon()), soon()).is_ok());
    CHECK((*old == 42 && *word == 42));
    REQUIRE(qp.wait(qp.compare_swap(where, 42, 7, back, soon()), soon()).is_ok());
    CHECK((*old == 42 && *word == 7));
  });
}

TEST_CASE("a hundred thousand operations, verified, from depth 1 to the ring's size", "[guest]") {
  on_each_device([](const std::string& name) {
    for (const uint32_t depth : {1u, 2u, 16u, 127u}) {
      QueuePairOptions options;
      options.send_entries = 127;
      Pair pair(name, options);
      rdma::QueuePairHandle handle = pair.near.endpoint.handle();
      if (depth < handle.depth) handle.depth = depth;
      Queue<Sharing::thread> qp(handle);
      auto* const near = reinterpret_cast<uint64_t*>(pair.near.memory.data());
      auto* const far = reinterpret_cast<uint64_t*>(pair.far.memory.data());
      const uint32_t count = depth == 1 ? 2500 : depth == 2 ? 5000 : depth == 16 ? 17500 : 25000;
      std::vector<Token> tokens(depth);
      uint32_t right = 0;
      for (uint32_t i = 0; i < count + depth; ++i) {
        if (i >= depth) {
          const uint32_t done = i - depth;
          const Status status = qp.wait(tokens[done % depth], soon());
          right += status.is_ok() && far[done % depth] == uint64_t{done} * 0x9e3779b97f4a7c15 ? 1 : 0;
          if (!status.is_ok()) FAIL("operation " << done << ": " << xio::name(status.code));
        }
        if (i < count) {
          near[i % depth] = uint64_t{i} * 0x9e3779b97f4a7c15;
          tokens[i % depth] =
              qp.put(pair.far.remote().at(8 * (i % depth), 8), pair.near.local().at(8 * (i % depth), 8), soon());
        }
      }
      CHECK(right == count);
      CHECK(qp.quiet(soon()).is_ok());
      std::printf("  depth %u: %u of %u right, %llu kicks\n", depth, right, count,
                  static_cast<unsigned long long>(pair.near.endpoint.doorbell().kicks()));
    }
  });
}

TEST_CASE("many waves share one queue pair", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name);
    const rdma::QueuePairHandle handle = pair.near.endpoint.handle();
    simt::launch(simt::Grid::of_waves(2, 1, 8), [&] {
      Queue<Sharing::grid, xio::Policy<>> qp(handle);
      const uint32_t me = arch::block_index() * arch::block_size() + arch::thread_index();
      for (uint32_t round = 0; round < 100; ++round) {
        unsigned char* const mine = pair.near.memory.data() + me * 256;
        for (uint32_t i = 0; i < 128; ++i) mine[i] = pattern(i, me * 1000 + round);
        const Token put = qp.put(pair.far.remote().at(me * 256, 128), pair.near.local().at(me * 256, 128), soon());
        if (!qp.wait(put, soon()).is_ok()) throw std::logic_error("put");
        const Token get =
            qp.get(pair.near.local().at(me * 256 + 128, 128), pair.far.remote().at(me * 256, 128), soon());
        if (!qp.wait(get, soon()).is_ok()) throw std::logic_error("get");
        if (std::memcmp(mine, mine + 128, 128) != 0) throw std::logic_error("what came back is something else");
      }
    });
  });
}

TEST_CASE("wrong keys and addresses: the right status, the flushed ones theirs, and the queue pair recovers",
          "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name);
    const auto fails = [&](rdma::RemoteMemory remote, Region local, Status::Code code) {
      Queue<Sharing::thread> qp(pair.near.endpoint.handle());
      const Token good = qp.put(pair.far.remote().at(0, 64), pair.near.local().at(0, 64), soon());
      const Token bad = qp.put(remote.at(0, 64), local.at(0, 64), soon());
      const Token late = qp.put(pair.far.remote().at(0, 64), pair.near.local().at(0, 64), soon());
      CHECK(qp.wait(late, soon()) == Status::flushed);
      CHECK(qp.wait(bad, soon()).code == code);
      CHECK(qp.wait(good, soon()).is_ok());
      CHECK(qp.quiet(soon()).code == code);
      pair.near.endpoint.recover(std::chrono::milliseconds(20000));
      pair.far.endpoint.recover(std::chrono::milliseconds(20000));
      pair.connect();
      Queue<Sharing::thread> again(pair.near.endpoint.handle());
      CHECK(again.quiet(soon()).is_ok());
      for (uint32_t i = 0; i < 300; ++i) {
        REQUIRE(
            again.wait(again.put(pair.far.remote().at(0, 64), pair.near.local().at(0, 64), soon()), soon()).is_ok());
      }
    };
    rdma::RemoteMemory remote = pair.far.remote();
    remote.rkey ^= 0x5500;
    fails(remote, pair.near.local(), Status::access_denied);
    remote = pair.far.remote();
    remote.base += remote.length;
    fails(remote, pair.near.local(), Status::access_denied);
    Region local = pair.near.local();
    local.key ^= 0x5500;
    // This driver does not tell a wrong local key from other mistakes of the requester.
    fails(pair.far.remote(), local, Status::invalid_command);
  });
}

#else

TEST_CASE("soft-RoCE needs the header of libibverbs", "[guest]") {
  xio_tests::skip("no infiniband/verbs.h (Debian: libibverbs-dev)");
}

#endif
