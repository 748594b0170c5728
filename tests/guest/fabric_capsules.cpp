// SPDX-License-Identifier: MIT

/// @file
/// @brief What host::FabricController sends, beside what the kernel's own nvme-rdma sends, byte by byte; and targets
/// that misbehave. Runs in the guest of scripts/guest; elsewhere it is skipped.

#include "catch.hpp"
#include "skip.hpp"

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <xio/host/nvme/fabric_device_queue.hpp>

#include "guest/fabric_target.hpp"
#include "guest/kernel_host.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using namespace std::chrono_literals;
using guest_tests::FabricTarget;
using guest_tests::Misbehaviour;
using guest_tests::Received;
using host_tests::contains;
using host_tests::error_of;
namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

namespace {

constexpr const char* address = "10.9.0.1";
constexpr uint16_t port = 4421;

bool here() {
  if (std::getenv("XIO_GUEST") != nullptr && ::access("/dev/infiniband/rdma_cm", F_OK) == 0) return true;
  xio_tests::skip("no rdma_cm in a guest");
  return false;
}

FabricOptions ours() {
  FabricOptions options;
  options.address = address;
  options.service = std::to_string(port);
  options.subsystem = "nqn.2014-08.org.example:captured";
  options.host_name = "nqn.2014-08.org.example:host";
  options.host_id = "00112233-4455-6677-8899-aabbccddeeff";
  options.keep_alive = 5000ms;
  options.command_limit = 2000ms;
  return options;
}

/// Clears, of a command with data, where the data lies and the key of it, which are each host's own, and whether the
/// target may invalidate the key (subtype 15), which is each host's choice.
void clear_own_data(nvme::Sqe& capsule) {
  constexpr uint64_t key = uint64_t{0xffffffff} << 24;
  constexpr uint64_t subtype = uint64_t{0xf} << 56;
  CHECK(capsule.prp1 != 0);
  CHECK((capsule.prp2 & key) != 0);
  CHECK(((capsule.prp2 & subtype) == 0 || (capsule.prp2 & subtype) == subtype));
  capsule.prp1 = 0;
  capsule.prp2 &= ~(key | subtype);
}
/// Clears the command identifier.
void clear_identifier(nvme::Sqe& capsule) { capsule.cdw0 &= 0xffff; }

/// Capsules by type and dwords 11 and 12, which are the offset of a property and what is written to it; each without
/// its command identifier.
using Capsules = std::map<std::array<uint32_t, 3>, nvme::Sqe>;

Capsules fabrics_capsules(const Received& received) {
  Capsules map;
  for (nvme::Sqe capsule : received.capsules) {
    if ((capsule.cdw0 & 0xff) != 0x7f) continue;
    clear_identifier(capsule);
    const bool connect = capsule.nsid == static_cast<uint32_t>(fabrics::CommandType::connect);
    if (connect) clear_own_data(capsule);
    if (connect)
      map[{capsule.nsid, 0, 0}] = capsule;
    else
      map[{capsule.nsid, capsule.cdw11, capsule.cdw12}] = capsule;
  }
  return map;
}

constexpr size_t controller_at = XIO_OFFSETOF(fabrics::RdmaRequest, cntlid);

/// The controller's identifier in the private data of an I/O queue: Linux 6.1 leaves it 0.
uint32_t controller_of(const Received& received) {
  return received.request.at(controller_at) + 256u * received.request.at(controller_at + 1);
}
void clear_controller(Received& received) { std::memset(received.request.data() + controller_at, 0, 2); }

std::string hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    const unsigned byte = static_cast<const uint8_t*>(data)[i];
    for (const unsigned digit : {byte / 16, byte % 16}) text += "0123456789abcdef"[digit];
    if (i % 8 == 7) text += ' ';
  }
  return text;
}

constexpr uint32_t disk_block = 512;
constexpr uint64_t read_at = 1000;  // blocks
constexpr uint64_t write_at = 2000;
constexpr uint32_t read_bytes = 4096;
constexpr uint32_t write_bytes = 8192;

/// The capsule of a read, a write or a flush, of the blocks that the test accesses.
nvme::Sqe io_capsule(const Received& received, nvme::Opcode opcode, uint64_t block) {
  for (nvme::Sqe capsule : received.capsules) {
    const bool same = (capsule.cdw0 & 0xff) == static_cast<uint32_t>(opcode) && capsule.nsid == 1;
    if (!same || (uint64_t{capsule.cdw11} << 32 | capsule.cdw10) != block) continue;
    clear_identifier(capsule);
    if (opcode != nvme::Opcode::flush) clear_own_data(capsule);
    return capsule;
  }
  FAIL("no capsule of opcode " << static_cast<unsigned>(opcode) << " for block " << block);
  return {};
}

/// Reads, writes and flushes by the kernel's own host.
void use_by_kernel(const FabricOptions& options) {
  const guest_tests::KernelHost kernel("transport=rdma,traddr=" + options.address + ",trsvcid=" + options.service +
                                       ",nqn=" + options.subsystem + ",hostnqn=" + options.host_name +
                                       ",hostid=" + options.host_id + ",keep_alive_tmo=5,nr_io_queues=1,queue_size=32");
  const FileDescriptor drive(::open(kernel.disk().c_str(), O_RDWR | O_DIRECT), "cannot open " + kernel.disk());
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, write_bytes), std::free);
  std::memset(memory.get(), 1, write_bytes);
  REQUIRE(::pwrite(drive.get(), memory.get(), write_bytes, write_at * disk_block) == write_bytes);
  REQUIRE(::pread(drive.get(), memory.get(), read_bytes, read_at * disk_block) == read_bytes);
  REQUIRE(::fdatasync(drive.get()) == 0);
}

/// The same by a queue for kernels.
void use_by_device_queue(FabricOptions options) {
  options.queues = 1;
  FabricController controller(options);
  FabricDeviceQueue queue(controller, {32, 1, write_bytes});
  nvme::Queue<xio::Sharing::grid, xio::Policy<xio::RingBy<FabricDeviceQueue::Transport>>> user(queue.handle());
  const auto until = xio::deadline(xio::Duration{10000000000});
  const xio::Region data = queue.data();
  CHECK(user.wait(user.write(write_at, data.at(0, write_bytes), until), until).is_ok());
  CHECK(user.wait(user.read(read_at, data.at(0, read_bytes), until), until).is_ok());
  CHECK(user.wait(user.submit(nvme::flush(), nvme::NoData{}, until), until).is_ok());
}

std::string said(const Misbehaviour& misbehaviour, Received* received = nullptr) {
  FabricTarget target(address, port, misbehaviour);
  FabricOptions options = ours();
  options.command_limit = 700ms;
  const std::string why = error_of([&] { FabricController controller(options); });
  std::printf("  %s\n", why.c_str());
  std::this_thread::sleep_for(50ms);
  if (received != nullptr) *received = target.received();
  return why;
}

}  // namespace

TEST_CASE("capsules are those of the kernel's own host", "[guest]") {
  if (!here()) return;
  Received kernel;
  {
    FabricTarget target(address, port);
    const FabricOptions options = ours();
    const std::string wanted = "transport=rdma,traddr=" + options.address + ",trsvcid=" + options.service +
                               ",nqn=" + options.subsystem + ",hostnqn=" + options.host_name +
                               ",hostid=" + options.host_id + ",keep_alive_tmo=5,nr_io_queues=1";
    const FileDescriptor device(::open("/dev/nvme-fabrics", O_RDWR), "cannot open /dev/nvme-fabrics");
    // The target does not know Identify: the kernel gives up after the properties.
    CHECK(::write(device.get(), wanted.data(), wanted.size()) < 0);
    kernel = target.received();
  }
  Received mine;
  {
    FabricTarget target(address, port);
    CHECK(contains(error_of([&] { FabricController controller(ours()); }), "Identify ("));
    mine = target.received();
  }
  CHECK(hex(mine.request.data(), mine.request.size()) == hex(kernel.request.data(), kernel.request.size()));
  CHECK(hex(mine.connect_data.data(), 1024) == hex(kernel.connect_data.data(), 1024));
  const Capsules theirs = fabrics_capsules(kernel);
  const Capsules own = fabrics_capsules(mine);
  uint32_t compared = 0;
  for (const auto& [key, capsule] : own) {
    const auto other = theirs.find(key);
    // CC is read by us alone, at the end.
    if (other == theirs.end()) continue;
    ++compared;
    INFO("type " << key[0] << ", dword 11 " << key[1]);
    CHECK(hex(&capsule, sizeof capsule) == hex(&other->second, sizeof capsule));
    std::printf("  %s\n", hex(&capsule, sizeof capsule).c_str());
  }
  // Connect; CAP, VS and CSTS read; CC written to enable the controller. To end it, each host writes its own.
  CHECK(compared == 5);
}

TEST_CASE("reads, writes and flushes are those of the kernel's own host", "[guest]") {
  if (!here()) return;
  Misbehaviour with_disk;
  with_disk.disk = true;
  Received kernel;
  Received mine;
  {
    FabricTarget target(address, port, with_disk);
    use_by_kernel(ours());
    kernel = target.received();
  }
  {
    FabricTarget target(address, port, with_disk);
    use_by_device_queue(ours());
    mine = target.received();
  }
  // Of the I/O queue.
  CHECK(controller_of(mine) == FabricTarget::cntlid);
  CHECK((controller_of(kernel) == 0 || controller_of(kernel) == FabricTarget::cntlid));
  clear_controller(mine);
  clear_controller(kernel);
  CHECK(hex(mine.request.data(), mine.request.size()) == hex(kernel.request.data(), kernel.request.size()));
  CHECK(hex(mine.connect_data.data(), 1024) == hex(kernel.connect_data.data(), 1024));
  const std::pair<nvme::Opcode, uint64_t> commands[] = {
      {nvme::Opcode::write, write_at}, {nvme::Opcode::read, read_at}, {nvme::Opcode::flush, 0}};
  for (const auto& [opcode, block] : commands) {
    const nvme::Sqe theirs = io_capsule(kernel, opcode, block);
    const nvme::Sqe own = io_capsule(mine, opcode, block);
    INFO("opcode " << static_cast<unsigned>(opcode));
    CHECK(hex(&own, sizeof own) == hex(&theirs, sizeof theirs));
    std::printf("  %s\n", hex(&own, sizeof own).c_str());
  }
}

TEST_CASE("a target that refuses, or wants more than xio has", "[guest]") {
  if (!here()) return;
  Misbehaviour misbehaviour;
  misbehaviour.reject = fabrics::RdmaStatus::no_resources;
  CHECK(contains(said(misbehaviour), "10.9.0.1 port 4421 refused queue 0: it has no resources left"));
  misbehaviour = {};
  misbehaviour.connect_bits = 1u << 17;
  CHECK(contains(said(misbehaviour), "demands authentication (DH-HMAC-CHAP), which xio does not have"));
  misbehaviour.connect_bits = 3u << 17;
  CHECK(contains(said(misbehaviour), "demands authentication and TLS"));
}

TEST_CASE("a target that does not keep to the rules", "[guest]") {
  if (!here()) return;
  Misbehaviour misbehaviour;
  misbehaviour.silent = true;
  CHECK(contains(said(misbehaviour), "a fabrics command did not complete within 700 ms; connect again"));
  misbehaviour = {};
  misbehaviour.cid_offset = 1;
  CHECK(contains(said(misbehaviour), "a completion of no command"));
  misbehaviour = {};
  misbehaviour.response_bytes = 8;
  CHECK(contains(said(misbehaviour), "a completion has not the size of one"));
}

TEST_CASE("a target writes to the data of commands, and nowhere else", "[guest]") {
  if (!here()) return;
  Misbehaviour misbehaviour;
  Received received;
  // In the queue's buffer of 64 KiB, and behind it.
  misbehaviour.write_beyond = 65536 - 16;
  CHECK(contains(said(misbehaviour, &received), "Identify ("));
  CHECK(received.write_status == IBV_WC_SUCCESS);
  misbehaviour.write_beyond = 65536 - 8;
  CHECK_FALSE(said(misbehaviour, &received).empty());
  CHECK(received.write_status == IBV_WC_REM_ACCESS_ERR);
}

#else

TEST_CASE("capsules of NVMe over RDMA", "[guest]") {
  xio_tests::skip("no infiniband/verbs.h or rdma/rdma_cma.h (Debian: libibverbs-dev, librdmacm-dev)");
}

#endif
