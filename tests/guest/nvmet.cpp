// SPDX-License-Identifier: MIT

/// @file
/// @brief host::FabricController against the kernel's own target, by soft-RoCE. Runs in the guest of scripts/guest,
/// where nvmet.sh makes the targets; elsewhere it is skipped.

#include "catch.hpp"
#include "skip.hpp"

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/nvme/fabric_controller.hpp>
#include <xio/host/nvme/fabric_discovery.hpp>

#include "guest/kernel_host.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using namespace std::chrono_literals;
using host_tests::contains;
using host_tests::error_of;
namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

namespace {

const std::string address = "10.9.0.1";
const std::string nvmet = "/sys/kernel/config/nvmet";
constexpr auto limit = 10000ms;

/// Whether the targets are here; else the test is skipped.
bool here() {
  if (::access((nvmet + "/ports/1/subsystems/xio").c_str(), F_OK) == 0) return true;
  xio_tests::skip("no target of nvmet.sh");
  return false;
}

FabricOptions to(const std::string& subsystem, const std::string& host = {}) {
  FabricOptions options;
  options.address = address;
  options.subsystem = subsystem;
  options.host_name = host;
  return options;
}

std::vector<unsigned char> pattern(size_t bytes, unsigned seed) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + (i >> 8) + seed);
  return data;
}

xio::Status run(FabricQueue& queue, const nvme::Command& command, std::vector<unsigned char>& data) {
  return queue.run(command.nsid(1), {data.data(), data.size()}, limit).status;
}

/// What the target keeps of a namespace.
std::vector<unsigned char> kept(const std::string& subsystem, size_t at, size_t bytes) {
  std::ifstream file("/run/" + subsystem + ".img", std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  std::vector<unsigned char> data(bytes);
  file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(bytes));
  return data;
}

/// Offers the subsystem at the port, or takes it from there, which ends its controllers.
void offer(const std::string& subsystem, bool there) {
  const std::string link = nvmet + "/ports/1/subsystems/" + subsystem;
  if (there)
    REQUIRE(::symlink((nvmet + "/subsystems/" + subsystem).c_str(), link.c_str()) == 0);
  else
    REQUIRE(::unlink(link.c_str()) == 0);
}

}  // namespace

TEST_CASE("a controller is connected, enabled and identified", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  std::printf("  %s, controller %u, version %u.%u, %u queues of %u entries, by %s\n", controller.info().model.c_str(),
              controller.cntlid(), controller.version().mjr(), controller.version().mnr(), controller.granted_queues(),
              controller.max_queue_entries(), controller.device().c_str());
  CHECK(controller.info().model == "Linux");
  CHECK(controller.device() == "rxe0");
  CHECK(controller.info().view().cntlid() == controller.cntlid());
  CHECK(controller.info().view().subnqn().bytes == 3);
  CHECK(controller.granted_queues() == 16);
  CHECK(controller.max_queue_entries() >= 128);
  CHECK(controller.active_namespaces() == std::vector<uint32_t>{1});
  const NamespaceInfo space = controller.identify_namespace(1);
  CHECK(space.blocks * space.block_bytes == 16u << 20);
  CHECK(contains(error_of([&] { controller.identify_namespace(7); }), "fabrics: xio has no namespace 7 for this host"));
  CHECK(nvme::Csts{static_cast<uint32_t>(controller.property(nvme::reg::csts, false))}.rdy());
  const fabrics::IdentifyFabrics view{controller.info().page.data()};
  CHECK(view.ioccsz() >= 4);
  CHECK(view.iorcsz() == 1);
}

TEST_CASE("blocks are written and read by the CPU", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  const uint32_t block = controller.identify_namespace(1).block_bytes;
  for (const uint32_t entries : {2u, 32u, 128u}) {
    const auto queue = controller.create_queue(entries);
    for (const size_t bytes : {size_t{block}, size_t{8192}, size_t{65536}, size_t{131072}}) {
      const auto blocks = static_cast<uint32_t>(bytes / block);
      const auto written = pattern(bytes, entries + static_cast<unsigned>(bytes));
      auto data = written;
      REQUIRE(run(*queue, nvme::write(3, blocks), data).is_ok());
      CHECK(kept("xio", size_t{3} * block, bytes) == written);
      std::fill(data.begin(), data.end(), static_cast<unsigned char>(0));
      REQUIRE(run(*queue, nvme::read(3, blocks), data).is_ok());
      CHECK(data == written);
    }
    // More commands than entries.
    auto data = pattern(block, 0);
    for (uint32_t i = 0; i < 3 * entries; ++i) REQUIRE(run(*queue, nvme::read(i, 1), data).is_ok());
    std::vector<unsigned char> none;
    CHECK(run(*queue, nvme::flush(), none).is_ok());
  }
}

TEST_CASE("the kernel's own host reads what was written, and writes what is read", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  const uint32_t block = controller.identify_namespace(1).block_bytes;
  const auto queue = controller.create_queue();
  const size_t bytes = 65536;
  const auto blocks = static_cast<uint32_t>(bytes / block);
  auto data = pattern(bytes, 11);
  REQUIRE(run(*queue, nvme::write(0, blocks), data).is_ok());
  const guest_tests::KernelHost kernel("transport=rdma,traddr=10.9.0.1,trsvcid=4420,nqn=xio,nr_io_queues=1");
  const FileDescriptor drive(::open(kernel.disk().c_str(), O_RDWR | O_DIRECT), "cannot open " + kernel.disk());
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, bytes), std::free);
  auto* const words = static_cast<unsigned char*>(memory.get());
  REQUIRE(::pread(drive.get(), words, bytes, 0) == static_cast<ssize_t>(bytes));
  CHECK(std::memcmp(words, data.data(), bytes) == 0);

  const auto other = pattern(bytes, 12);
  std::memcpy(words, other.data(), bytes);
  REQUIRE(::pwrite(drive.get(), words, bytes, 1 << 20) == static_cast<ssize_t>(bytes));
  REQUIRE(run(*queue, nvme::read((1u << 20) / block, blocks), data).is_ok());
  CHECK(data == other);
}

TEST_CASE("the target's statuses", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  const NamespaceInfo space = controller.identify_namespace(1);
  const auto queue = controller.create_queue();
  auto data = pattern(space.block_bytes, 0);
  const xio::Status past = run(*queue, nvme::read(space.blocks, 1), data);
  CHECK(past.code == xio::Status::capacity);
  // What Linux's target says of a file's end.
  CHECK((past.vendor & 0x7ff) == nvme::sc::capacity_exceeded);
  const AdminResult nobody = queue->run(nvme::read(0, 1).nsid(9), {data.data(), data.size()}, limit);
  CHECK((nobody.status.vendor & 0x7ff) == nvme::sc::invalid_namespace_or_format);
  CHECK(nvme::do_not_retry(nobody.status.vendor));
  CHECK(run(*queue, nvme::read(0, 1), data).is_ok());
  std::vector<unsigned char> large(256 * 1024);
  CHECK(contains(error_of([&] { static_cast<void>(run(*queue, nvme::read(0, 64), large)); }),
                 "one command of this queue moves up to 131072"));
}

TEST_CASE("refusals say what to do", "[guest]") {
  if (!here()) return;
  const auto said = [](const FabricOptions& options) {
    std::string why = error_of([&] { FabricController controller(options); });
    std::printf("  %s\n", why.c_str());
    return why;
  };
  CHECK(contains(said(to("nobody")), "it has no subsystem 'nobody' at this port; see its discovery log"));
  CHECK(contains(said(to("xio-closed")), "does not accept the host 'nqn.2014-08.org.nvmexpress:uuid:"));
  FabricOptions options = to("xio");
  options.service = "4499";
  CHECK(contains(said(options), "10.9.0.1 port 4499 refused the connection: nothing listens at this port"));
  options = to("xio");
  options.address = "target.example";
  CHECK(contains(said(options), "'target.example' port '4420' is not a numeric IP address with a port number"));
  options.address = "192.0.2.1";
  options.connect_limit = 1500ms;
  CHECK(contains(said(options), "has this machine an RDMA device in that network?"));
  if (::access((nvmet + "/hosts/xio-host/dhchap_key").c_str(), F_OK) == 0)
    CHECK(
        contains(said(to("xio-secret", "xio-host")), "demands authentication (DH-HMAC-CHAP), which xio does not have"));
  else
    std::puts("  this kernel's target cannot demand authentication");
}

TEST_CASE("as many queues as were granted", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio-few"));
  REQUIRE(controller.granted_queues() == 2);
  std::vector<std::shared_ptr<FabricQueue>> queues{controller.create_queue(), controller.create_queue()};
  CHECK(contains(error_of([&] { controller.create_queue(); }), "all 2 I/O queues that the target granted are in use"));
  queues.pop_back();
  queues.push_back(controller.create_queue());
  auto data = pattern(4096, 0);
  for (const auto& queue : queues) CHECK(run(*queue, nvme::read(0, 1), data).is_ok());
  CHECK(contains(error_of([&] { controller.create_queue(1); }), "a queue of 1 entries; the target accepts 2 to "));
  CHECK(contains(error_of([&] { controller.create_queue(5000); }), "a queue of 5000 entries"));
}

TEST_CASE("the discovery log", "[guest]") {
  if (!here()) return;
  const std::vector<FabricTarget> targets = discover(to(""));
  std::string names;
  for (const FabricTarget& target : targets) {
    if (!target.usable()) continue;
    names += target.subsystem + ' ';
    CHECK(target.address == address);
    CHECK(target.service == "4420");
  }
  CHECK(contains(names, "xio "));
  CHECK(contains(names, "xio-few "));
  FabricOptions options = to(fabrics::discovery_nqn);
  FabricController controller(options);
  CHECK(controller.granted_queues() == 0);
  CHECK(contains(error_of([&] { controller.create_queue(); }), "is a discovery controller: it has no I/O queues"));
}

TEST_CASE("a silent program keeps its controller", "[guest]") {
  if (!here()) return;
  FabricOptions options = to("xio");
  options.keep_alive = 1000ms;
  FabricController controller(options);
  const auto queue = controller.create_queue();
  std::this_thread::sleep_for(3s);
  CHECK(controller.lost().empty());
  auto data = pattern(4096, 0);
  CHECK(run(*queue, nvme::read(0, 1), data).is_ok());
}

TEST_CASE("the target goes away, and comes back", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  const uint32_t block = controller.identify_namespace(1).block_bytes;
  auto queue = controller.create_queue();
  const auto written = pattern(block, 77);
  auto data = written;
  REQUIRE(run(*queue, nvme::write(9, 1), data).is_ok());
  for (int round = 0; round < 2; ++round) {
    offer("xio", false);
    const auto begin = std::chrono::steady_clock::now();
    const std::string why = error_of([&] {
      while (std::chrono::steady_clock::now() - begin < 20s) static_cast<void>(run(*queue, nvme::read(9, 1), data));
    });
    std::printf("  %s\n", why.c_str());
    CHECK(std::chrono::steady_clock::now() - begin < 15s);
    CHECK(contains(why, "fabrics: 10.9.0.1 port 4420"));
    CHECK(contains(why, "connect again: reconnect()"));
    CHECK(contains(error_of([&] { static_cast<void>(run(*queue, nvme::read(9, 1), data)); }),
                   "connect again: reconnect()"));
    CHECK_FALSE(error_of([&] {
                  for (int i = 0; i < 100; ++i) {
                    controller.execute(nvme::identify_controller(), {data.data(), 4096});
                    std::this_thread::sleep_for(20ms);
                  }
                }).empty());
    CHECK_FALSE(controller.lost().empty());
    CHECK_FALSE(error_of([&] { controller.reconnect(); }).empty());
    CHECK_FALSE(controller.lost().empty());
    CHECK(contains(error_of([&] { controller.active_namespaces(); }),
                   "there is no connection to 10.9.0.1; connect again"));
    CHECK(contains(error_of([&] { controller.create_queue(); }), "there is no connection to 10.9.0.1; connect again"));

    offer("xio", true);
    controller.reconnect();
    CHECK(controller.lost().empty());
    queue = controller.create_queue();
    REQUIRE(run(*queue, nvme::read(9, 1), data).is_ok());
    CHECK(data == written);
  }
}

TEST_CASE("a queue pair of the caller's", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  const RdmaDevice device({controller.device(), 1, {}});
  const ProtectionDomain domain(device);
  const CompletionQueue completions(device, 64);
  QueuePairOptions sizes;
  sizes.signal_all = true;
  VerbsQueuePair pair(device, domain, completions, completions, sizes);
  std::vector<unsigned char> memory(65536);
  const MemoryRegion region(domain, memory.data(), memory.size());
  FabricConnection link = controller.connect_queue(pair.get(), 32);
  CHECK(link.qid() == 1);
  CHECK(link.target_receives >= 32);
  CHECK(link.connection->lost().empty());
  unsigned char* const data = memory.data() + 4096;
  uint16_t cid = 40;
  const auto execute = [&](const nvme::Command& command, uint32_t bytes) {
    ibv_sge to_fill{reinterpret_cast<uintptr_t>(memory.data() + 1024), 16, region.lkey()};
    ibv_recv_wr receive{};
    receive.sg_list = &to_fill;
    receive.num_sge = 1;
    ibv_recv_wr* bad_receive = nullptr;
    REQUIRE(::ibv_post_recv(pair.get(), &receive, &bad_receive) == 0);
    const nvme::Sqe entry = nvme::encode(
        command, ++cid, nvme::sgl_keyed_data_block(reinterpret_cast<uintptr_t>(data), bytes, region.rkey()));
    std::memcpy(memory.data(), &entry, sizeof entry);
    ibv_sge to_send{reinterpret_cast<uintptr_t>(memory.data()), sizeof entry, region.lkey()};
    ibv_send_wr send{};
    send.sg_list = &to_send;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    ibv_send_wr* bad_send = nullptr;
    REQUIRE(::ibv_post_send(pair.get(), &send, &bad_send) == 0);
    const Timeout deadline(limit);
    for (int done = 0; done < 2;) {
      ibv_wc completion{};
      if (::ibv_poll_cq(completions.get(), 1, &completion) == 1) {
        REQUIRE(completion.status == IBV_WC_SUCCESS);
        ++done;
      }
      REQUIRE_FALSE(deadline.passed());
    }
    nvme::Cqe answer{};
    std::memcpy(&answer, memory.data() + 1024, sizeof answer);
    CHECK(answer.cid == cid);
    return answer;
  };
  std::memcpy(data, &link.data, sizeof link.data);
  const nvme::Cqe connected = execute(link.connect, sizeof link.data);
  link.check_connect(nvme::to_status(nvme::status_field(connected)), connected.dw0);
  const auto written = pattern(4096, 5);
  std::memcpy(data, written.data(), written.size());
  CHECK(nvme::to_status(nvme::status_field(execute(nvme::write(20, 1).nsid(1), 4096))).is_ok());
  CHECK(kept("xio", 20 * 4096, 4096) == written);
  // The same without Connect is refused by the target, and a device's name by us.
  nvme::Cqe refused{};
  refused.status = static_cast<uint16_t>(nvme::make_status_field(fabrics::sc::controller_busy) << 1);
  CHECK(contains(error_of([&] { link.check_connect(nvme::to_status(nvme::status_field(refused)), 0); }),
                 "the controller is busy"));
}

#else

TEST_CASE("NVMe over RDMA", "[guest]") {
  xio_tests::skip("no infiniband/verbs.h or rdma/rdma_cma.h (Debian: libibverbs-dev, librdmacm-dev)");
}

#endif
