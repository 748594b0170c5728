// SPDX-License-Identifier: MIT

/// @file
/// @brief Arbitrary answers of a target over RDMA: to a connection, to Connect, to Identify and to questions for its
/// log: what comes of them can be used and shown, or is an Error.

#include <xio/host/nvme/fabric_answers.hpp>
#include <xio/host/nvme/fabric_errors.hpp>
#include <xio/host/nvme/fabric_log.hpp>

#include "fuzz/fuzz.hpp"

namespace {

using namespace fuzz;
using namespace xio::host;
namespace nvme = xio::nvme;
namespace fabrics = xio::nvme::fabrics;

/// One line, of printable characters.
void expect_text(const std::string& text, size_t most) {
  for (const char one : text) expect(one >= ' ' && one <= '~', "a text can be shown");
  expect(text.size() <= most, "a text has an end");
}

/// Runs `call`, which may refuse with a line that says why.
template <class Call>
bool accepted(const Call& call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a refusal says why");
    expect_text(error.what(), 4096);
    return false;
  }
}

FabricOptions named() {
  FabricOptions options;
  options.address = "10.0.0.1";
  options.service = "4420";
  options.subsystem = "x";
  options.host_name = "me";
  return options;
}

/// Bytes of a structure of zeros, at places that the fuzzer chooses; most of them are places where the library looks.
template <size_t Count>
void patch(Input& input, uint8_t* to, size_t bytes, const uint16_t (&known)[Count]) {
  for (uint32_t left = input.take() & 15; left != 0; --left) {
    const uint8_t way = input.take();
    const size_t offset = (way & 0x80) != 0 ? input.take<uint16_t>() % bytes : known[way % Count];
    const std::vector<uint8_t> some = input.bytes(1u + (input.take() & 31));
    for (size_t i = 0; i < some.size() && offset + i < bytes; ++i) to[offset + i] = some[i];
  }
}

IdentifyPage page(Input& input) {
  std::array<uint8_t, nvme::identify_bytes> bytes{};
  bytes[130] = 9;  // blocks of 512 bytes in the first format
  bytes[0] = 1;
  patch(input, bytes.data(), bytes.size(), {0, 4, 24, 25, 26, 29, 64, 77, 99, 128, 130, 132, 256, 514, 516, 1792});
  return IdentifyPage(bytes);
}

/// The connection manager's answer, and that to the first command.
void connection(Input& input) {
  const std::vector<uint8_t> said = input.bytes(input.take());
  uint32_t capsules = 0;
  const bool accept = accepted([&] { capsules = detail::accepted_capsules(said, "10.0.0.1 port 4420"); });
  expect(accept == (said.size() >= 32), "an answer of the length of one");
  if (accept) expect_same(said[2] + 256u * said[3], capsules, "capsules");
  expect_text(detail::rejection_text(said), 200);
  expect(detail::rejection_text(said).empty() == (said.size() < 4), "a refusal is known by its length");

  const auto field = static_cast<uint16_t>(input.take<uint16_t>() & 0xfffe);
  const uint32_t dw0 = input.take<uint32_t>();
  const xio::Status status = nvme::to_status(field);
  const bool connected = accepted([&] { detail::check_connect({status, dw0, 0}, named()); });
  expect(!connected || (status.is_ok() && (dw0 >> 17 & 3) == 0),
         "nothing is used that failed or demands authentication");
}

/// Properties, Identify, and the number of queues: what a queue is made of.
void controller(Input& input) {
  const nvme::Cap cap{input.take<uint64_t>()};
  const ControllerInfo info(page(input), 12 + cap.mpsmin());
  expect_text(info.serial, 80);
  expect_text(info.model, 160);
  expect_text(info.firmware, 32);
  const uint32_t wanted = 1 + input.take<uint16_t>() % 65535;
  const uint32_t granted = detail::granted_queues(input.take<uint32_t>(), wanted);
  expect(granted >= 1 && granted <= wanted, "queues");
  const uint32_t largest = detail::largest_fabric_queue(cap, info);
  expect(largest >= 1 && largest <= 65536, "entries of a queue");
  if (largest < 2) return;
  const uint32_t entries = 2 + input.take<uint16_t>() % (largest - 1);
  const NamespaceInfo names(page(input), 1);
  accepted([&] {
    detail::check_format("namespace 1", names, {});
    const QueuePlan plan = detail::plan_fabric_queue(entries, info, names);
    nvme::QueueHandle handle{};
    detail::set_limits(handle, detail::QueueFormat(names), plan, info.limits);
    expect(plan.depth >= 1 && plan.depth < entries, "depth");
    expect(is_power_of_two(plan.sq_entries) && plan.sq_entries <= 65536 && plan.depth < plan.sq_entries, "capsules");
    expect(is_power_of_two(plan.cq_entries) && plan.cq_entries <= 65536 && plan.depth < plan.cq_entries, "responses");
    expect(is_power_of_two(plan.slots) && plan.slots >= 2 * plan.depth, "slots");
    const uint64_t bytes = uint64_t{handle.max_blocks} << handle.block_shift;
    expect(handle.max_blocks >= 1 && handle.max_blocks <= 65536, "blocks of one command");
    expect(bytes <= nvme::data_size::largest, "bytes of one command");
    expect(info.max_transfer_bytes == 0 || bytes <= info.max_transfer_bytes, "no more than MDTS");
  });
  const std::vector<uint32_t> list = detail::listed_namespaces(page(input));
  expect(list.size() <= 1024, "a list has an end");
  for (const uint32_t nsid : list) expect(nsid != 0, "identifiers");
}

/// The discovery log, which may change while it is read, and end somewhere.
void log(Input& input) {
  std::vector<uint8_t> bytes(8 * 1024);
  bytes[8] = input.take() & 7;
  patch(input, bytes.data(), bytes.size(), {0, 8, 16, 1024, 1026, 1056, 1280, 1536, 2048, 2304, 2560});
  const uint8_t changes = input.take();
  uint32_t reads = 0;
  const auto read = [&](uint64_t offset, void* to, size_t count) {
    expect(count == 1024 && offset % 1024 == 0, "whole structures");
    if (offset >= bytes.size()) throw Error("the log ends");
    if (++reads <= 8 && (changes >> (reads - 1) & 1) != 0) ++bytes[0];
    std::memcpy(to, bytes.data() + offset, count);
  };
  accepted([&] {
    for (const FabricTarget& one : detail::read_discovery_log("10.0.0.1", read)) {
      expect_text(one.address, 4 * 256);
      expect_text(one.service, 4 * 32);
      expect_text(one.subsystem, 4 * 256);
      expect(!one.usable() || one.entry.transport == 1, "only RDMA");
    }
  });
  expect(reads <= 5 * (2 + 7), "it gives up");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  switch (input.take() & 3) {
    case 0: connection(input); break;
    case 1: log(input); break;
    default: controller(input); break;
  }
  return 0;
}
