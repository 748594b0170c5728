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
#include <map>
#include <string>
#include <vector>

#include <xio/host/nvme/fabric_controller.hpp>

#include "guest/fabric_target.hpp"
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

/// Capsules by type and dwords 11 and 12, which are the offset of a property and what is written to it; each without
/// its command identifier.
using Capsules = std::map<std::array<uint32_t, 3>, nvme::Sqe>;

Capsules fabrics_capsules(const Received& received) {
  Capsules map;
  for (nvme::Sqe capsule : received.capsules) {
    if ((capsule.cdw0 & 0xff) != 0x7f) continue;
    capsule.cdw0 &= 0xffff;
    const bool connect = capsule.nsid == static_cast<uint32_t>(fabrics::CommandType::connect);
    if (connect) {
      // Where the data lies is each host's own. So is it whether the target may invalidate the key (subtype 15).
      CHECK(capsule.prp1 != 0);
      CHECK((capsule.prp2 >> 24 & 0xffffffff) != 0);
      CHECK(((capsule.prp2 >> 56 & 0xf) == 0 || (capsule.prp2 >> 56 & 0xf) == 0xf));
      capsule.prp1 = 0;
      capsule.prp2 &= ~(uint64_t{0xffffffff} << 24 | uint64_t{0xf} << 56);
    }
    if (connect)
      map[{capsule.nsid, 0, 0}] = capsule;
    else
      map[{capsule.nsid, capsule.cdw11, capsule.cdw12}] = capsule;
  }
  return map;
}

std::string hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    const unsigned byte = static_cast<const uint8_t*>(data)[i];
    for (const unsigned digit : {byte / 16, byte % 16}) text += "0123456789abcdef"[digit];
    if (i % 8 == 7) text += ' ';
  }
  return text;
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
