// SPDX-License-Identifier: MIT
// Options of NVMe over Fabrics, and what refusals say; without a network.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <xio/host/nvme/fabric_answers.hpp>
#include <xio/host/nvme/fabric_errors.hpp>
#include <xio/host/nvme/fabric_log.hpp>
#include <xio/host/nvme/fabric_spec.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"
#include "unit/machine_tree.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

namespace {

std::string refused(const std::string& spec) {
  return error_of([&] { parse_fabric_spec(spec); });
}

FabricOptions named() {
  FabricOptions options;
  options.address = "10.0.0.1";
  options.subsystem = "nqn.2014-08.org.example:disk";
  return options;
}

std::string connect_says(uint32_t status, uint32_t dw0) {
  const FabricOptions options = detail::complete(named(), "/nowhere");
  const auto field = nvme::make_status_field(status, true);
  return error_of([&] { detail::check_connect({nvme::to_status(field), dw0, 0}, options); });
}

}  // namespace

TEST_CASE("a specification on a line") {
  const FabricOptions options = parse_fabric_spec(
      "fabrics:traddr=fe80::1,trsvcid=4421,nqn=nqn.x:y,host_traddr=fe80::2,hostnqn=me,"
      "hostid=00112233-4455-6677-8899-AABBCCDDEEFF,queues=3,keep_alive_tmo=5");
  CHECK(options.address == "fe80::1");
  CHECK(options.service == "4421");
  CHECK(options.subsystem == "nqn.x:y");
  CHECK(options.local_address == "fe80::2");
  CHECK(options.host_name == "me");
  CHECK(options.host_id == "00112233-4455-6677-8899-aabbccddeeff");
  CHECK(options.queues == 3);
  CHECK(options.keep_alive == std::chrono::seconds(5));
  CHECK(parse_fabric_spec("fabrics:traddr=1.2.3.4,nqn=x").service == "4420");
}

TEST_CASE("what a specification must not say") {
  CHECK(contains(refused("fabric:traddr=1.2.3.4"), "is not of the form fabrics:traddr=ADDRESS,nqn=NAME"));
  CHECK(contains(refused("fabrics:nqn=x"), "traddr is missing"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4"), "nqn is missing"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=" + std::string(224, 'x')), "nqn has 224 bytes"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,hostid=12"), "'12' is not a UUID"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,hostid=g0112233445566778899aabbccddeeff"), "is not a UUID"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,hostid=000112233445566778899aabbccddeeff"), "is not a UUID"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,queues=0"), "queues=0 is not accepted"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,tls=1"), "neither DH-HMAC-CHAP nor TLS"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,dhchap_secret=s"), "neither DH-HMAC-CHAP nor TLS"));
  CHECK(contains(refused("fabrics:traddr=1.2.3.4,nqn=x,colour=red"), "unknown key 'colour'; known: traddr"));
}

TEST_CASE("numbers that do not fit") {
  const auto said = [](const FabricOptions& options) {
    return error_of([&] { detail::complete(options, "/nowhere"); });
  };
  FabricOptions options = named();
  options.keep_alive = std::chrono::milliseconds(-1);
  CHECK(contains(said(options), "keep_alive is -1 ms"));
  options = named();
  options.admin_entries = 33;
  CHECK(contains(said(options), "admin_entries is 33; use 2 to 32"));
}

TEST_CASE("a host has a name and an identifier, both or none of them of the machine") {
  const FabricOptions one = detail::complete(named(), "/nowhere");
  const FabricOptions other = detail::complete(named(), "/nowhere");
  CHECK(one.host_id != other.host_id);
  CHECK(one.host_name == "nqn.2014-08.org.nvmexpress:uuid:" + one.host_id);
  CHECK(one.host_id.substr(14, 1) == "4");

  const host_tests::MachineTree tree;
  tree.write("nvme/hostid", "00112233-4455-6677-8899-aabbccddeeff");
  tree.write("nvme/hostnqn", "nqn.2014-08.org.example:machine");
  const FabricOptions machine = detail::complete(named(), tree.path("nvme"));
  CHECK(machine.host_id == "00112233-4455-6677-8899-aabbccddeeff");
  CHECK(machine.host_name == "nqn.2014-08.org.example:machine");
  FabricOptions half = named();
  half.host_name = "me";
  CHECK(detail::complete(half, tree.path("nvme")).host_id != machine.host_id);
}

TEST_CASE("the data of Connect") {
  FabricOptions options = named();
  options.host_name = "me";
  options.host_id = "00112233445566778899aabbccddeeff";
  const fabrics::ConnectData data = detail::connect_data(detail::complete(options, "/nowhere"), 0xffff);
  for (unsigned i = 0; i < 16; ++i) CHECK(data.host_id[i] == i * 0x11);
  CHECK(data.cntlid == 0xffff);
  CHECK(std::string(data.subsystem) == options.subsystem);
  CHECK(std::string(data.host) == "me");
}

TEST_CASE("Connect's result says what to do") {
  CHECK(connect_says(0, 7).empty());
  CHECK(contains(connect_says(0, 1u << 17), "10.0.0.1 port 4420 demands authentication (DH-HMAC-CHAP)"));
  CHECK(contains(connect_says(0, 3u << 17), "demands authentication and TLS"));
  CHECK(contains(connect_says(nvme::sc::authentication_required, 0), "demands authentication"));
  CHECK(contains(connect_says(fabrics::sc::controller_busy, 0), "connect again later"));
  CHECK(contains(connect_says(fabrics::sc::invalid_host, 0), "allow it there"));
  CHECK(contains(connect_says(fabrics::sc::restart_discovery, 0), "read the discovery log"));
  CHECK(contains(connect_says(fabrics::sc::incompatible_format, 0), "does not know this format"));
  CHECK(contains(connect_says(fabrics::sc::invalid_parameters, 1u << 16 | 256), "nqn: it has no subsystem"));
  CHECK(contains(connect_says(fabrics::sc::invalid_parameters, 1u << 16 | 512), "hostnqn"));
  CHECK(contains(connect_says(fabrics::sc::invalid_parameters, 1u << 16 | 16), "connect the admin queue anew"));
  CHECK(contains(connect_says(fabrics::sc::invalid_parameters, 44), "ask for fewer entries"));
  CHECK(contains(connect_says(fabrics::sc::invalid_parameters, 60), "byte 60 of its capsule"));
  CHECK(contains(connect_says(nvme::sc::internal_error, 0), "refused Connect: "));
}

TEST_CASE("a refused connection") {
  CHECK(detail::rejection_text({}).empty());
  CHECK(detail::rejection_text({0, 0, 4}).empty());
  CHECK(contains(detail::rejection_text({0, 0, 4, 0}), "more entries than it accepts"));
  CHECK(contains(detail::rejection_text({0, 0, 6, 0, 9, 9}), "no resources left"));
  CHECK(contains(detail::rejection_text({0, 0, 0x34, 0x12}), "status 0x1234"));
}

TEST_CASE("an accepted connection, and queues that a target grants") {
  std::vector<uint8_t> accept(32);
  accept[2] = 0x80;
  CHECK(detail::accepted_capsules(accept, "10.0.0.1") == 128);
  accept.pop_back();
  CHECK(contains(error_of([&] { detail::accepted_capsules(accept, "10.0.0.1"); }), "is no NVMe target"));
  CHECK(detail::granted_queues(0x0007'0003, 16) == 4);
  CHECK(detail::granted_queues(0x0003'0007, 16) == 4);
  CHECK(detail::granted_queues(0xffff'ffff, 16) == 16);
}

TEST_CASE("blocks of a size that no queue can have are refused") {
  std::array<uint8_t, nvme::identify_bytes> bytes{};
  const auto said = [&](uint8_t lbads) {
    bytes[130] = lbads;
    return error_of([&] { detail::check_format("namespace 1", NamespaceInfo(IdentifyPage(bytes), 1), {}); });
  };
  CHECK(said(9).empty());
  CHECK(said(24).empty());
  for (const int wrong : {0, 8, 25, 80, 255})
    CHECK(contains(said(static_cast<uint8_t>(wrong)), "has an unsupported block size"));
}

TEST_CASE("a discovery log is read until it has not changed meanwhile") {
  std::vector<fabrics::DiscoveryEntry> pages(3);  // the header has the size of an entry
  auto& header = reinterpret_cast<fabrics::DiscoveryHeader&>(pages[0]);
  header.entries = 2;
  pages[1].transport = 1;
  pages[1].subsystem_type = 2;
  std::strcpy(pages[1].address, "10.0.0.1");
  std::strcpy(pages[1].service, "4420   ");
  std::strcpy(pages[1].subsystem, "nqn.x:\n");
  pages[2].transport = 3;
  pages[2].subsystem_type = 2;
  unsigned reads = 0;
  unsigned changes = 3;
  const auto read = [&](uint64_t offset, void* to, size_t count) {
    REQUIRE(offset + count <= 3 * sizeof pages[0]);
    std::memcpy(to, reinterpret_cast<const unsigned char*>(pages.data()) + offset, count);
    if (++reads % 4 == 1 && changes-- > 0) ++header.generation;
  };
  const std::vector<FabricTarget> found = detail::read_discovery_log("10.0.0.1", read);
  CHECK(reads == 4 * 4);
  REQUIRE(found.size() == 2);
  CHECK(found[0].usable());
  CHECK(found[0].address == "10.0.0.1");
  CHECK(found[0].service == "4420");
  CHECK(found[0].subsystem == "nqn.x:\\x0a");
  CHECK_FALSE(found[1].usable());

  changes = 100;
  CHECK(contains(error_of([&] { detail::read_discovery_log("10.0.0.1", read); }), "changed each time it was read"));
  header.format = 1;
  CHECK(contains(error_of([&] { detail::read_discovery_log("10.0.0.1", read); }), "has an unknown format"));
  header.format = 0;
  header.entries = 65537;
  CHECK(contains(error_of([&] { detail::read_discovery_log("10.0.0.1", read); }), "has an unknown format"));
}
