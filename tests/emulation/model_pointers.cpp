// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: PRPs, PRP lists, SGLs and bus addresses.

#include <algorithm>

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

/// A queue, and 1 MiB of blocks on the medium with known content.
struct DataHost : Host {
  explicit DataHost(const NvmeConfig& config = wide()) : Host(config), queue(create_queue(1)), expected(1 << 22) {
    fill(expected.data(), expected.size(), 9);
    controller.write_blocks(1, 0, expected.size() / 512, expected.data());
    memory = controller.allocate(size_t{6} << 20, 65536);
    lists = controller.allocate(16 * 65536, 65536);
    std::memset(memory.data(), 0xcc, memory.size());
  }
  static NvmeConfig wide() {
    NvmeConfig config = stepped();
    config.mdts = 0;
    return config;
  }
  unsigned char* bytes(size_t offset) { return memory.as<unsigned char>(offset); }
  uint64_t bus(uint64_t offset) { return memory.bus() + offset; }
  uint16_t code(const Sqe& sqe) { return Host::code(queue, sqe); }
  uint16_t read(uint32_t blocks, uint64_t prp1, uint64_t prp2 = 0) { return code(io(op_read, 0, blocks, prp1, prp2)); }

  Queue queue;
  std::vector<unsigned char> expected;
  DmaBuffer memory;
  DmaBuffer lists;
};

struct Descriptor {
  uint64_t address;
  uint32_t length;
  uint32_t type;  // bits 31:28, subtype 27:24
};
constexpr uint32_t sgl_data = 0, sgl_bucket = 1u << 28, sgl_segment = 2u << 28, sgl_last = 3u << 28;

Sqe sgl(uint32_t opcode, uint32_t blocks, const Descriptor& d) {
  return io(opcode | 1u << 14, 0, blocks, d.address, d.length | uint64_t{d.type} << 32);
}

}  // namespace

TEST_CASE("PRP1 with any dword offset; PRP2 for the second page") {
  DataHost host;
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4}, uint64_t{512}, uint64_t{3584}, uint64_t{4092}}) {
    for (const uint32_t blocks : {1u, 7u, 8u}) {
      std::memset(host.bytes(0), 0xcc, 3 * 4096);
      const uint64_t first = std::min<uint64_t>(blocks * 512, 4096 - offset);
      const uint64_t rest = blocks * 512 - first;
      CAPTURE(offset, blocks);
      CHECK(host.read(blocks, host.bus(offset), rest != 0 ? host.bus(8192) : 0) == 0);
      CHECK(std::memcmp(host.bytes(offset), host.expected.data(), first) == 0);
      CHECK(std::memcmp(host.bytes(8192), host.expected.data() + first, rest) == 0);
      CHECK(*host.bytes(8192 + rest) == 0xcc);
      if (first == blocks * 512 && offset + first < 4096) CHECK(*host.bytes(offset + first) == 0xcc);
    }
  }
  CHECK(host.read(1, host.bus(2)) == 0x013);
  CHECK(host.read(1, host.bus(1)) == 0x013);
  CHECK(host.read(16, host.bus(0), host.bus(4096 + 512)) == 0x013);
  CHECK(host.read(16, host.bus(0), host.bus(4096 + 4)) == 0x013);
  CHECK(host.read(1, 0x7000000000u) == 0x004);
  CHECK(host.read(16, host.bus(0), 0x7000000000u) == 0x004);
  CHECK(host.read(1, 0) == 0x004);
  host.strictness.provoked({Kind::pointer, Kind::memory});
}

TEST_CASE("PRP lists: any start in their page, chained over pages") {
  DataHost host;
  // 4 MiB from offset 512 of a page: 1025 pages. Pages in scrambled order, so that a wrong order shows.
  const uint32_t blocks = 8192;
  for (const uint64_t start : {uint64_t{0}, uint64_t{8}, uint64_t{2048}, uint64_t{4080}, uint64_t{4088}}) {
    CAPTURE(start);
    std::memset(host.bytes(0), 0xcc, host.memory.size());
    std::memset(host.lists.data(), 0xff, host.lists.size());
    std::vector<uint64_t> pages;
    for (uint64_t i = 0; i < 1024; ++i) pages.push_back(4096 + (i * 387 % 1024) * 4096);
    uint64_t place = start;
    uint64_t pages_read = 1;
    for (size_t i = 0; i < pages.size(); ++i) {
      if (place % 4096 == 4088 && i + 1 < pages.size()) {
        // Chain pointers lead to pages that do not follow one another.
        const uint64_t next = (place / 4096 + 2) * 4096;
        *host.lists.as<uint64_t>(place) = host.lists.bus() + next;
        place = next;
        ++pages_read;
      }
      *host.lists.as<uint64_t>(place) = host.bus(pages[i]);
      place += 8;
    }
    const auto before = host.controller.statistics();
    REQUIRE(host.read(blocks, host.bus(512), host.lists.bus() + start) == 0);
    const auto after = host.controller.statistics();
    CHECK(after.prp_entries - before.prp_entries == 1025);
    CHECK(after.list_pages - before.list_pages == pages_read);
    bool equal = std::memcmp(host.bytes(512), host.expected.data(), 3584) == 0;
    for (size_t i = 0; i < pages.size(); ++i) {
      const size_t done = 3584 + i * 4096;
      equal = equal && std::memcmp(host.bytes(pages[i]), host.expected.data() + done,
                                   std::min<size_t>(4096, (1 << 22) - done)) == 0;
    }
    CHECK(equal);
    CHECK(*host.bytes(pages.back() + 512) == 0xcc);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t entry = host.bus(4096 * (i + 1));
    std::memcpy(host.lists.as<char>(4 + 8 * i), &entry, 8);
  }
  CHECK(host.read(24, host.bus(0), host.lists.bus() + 4) == 0x013);  // list not qword aligned
  *host.lists.as<uint64_t>(0) = host.bus(4096);
  *host.lists.as<uint64_t>(8) = host.bus(8192 + 8);
  CHECK(host.read(24, host.bus(0), host.lists.bus()) == 0x013);  // entry with an offset
  *host.lists.as<uint64_t>(8) = 0x7000000000u;
  CHECK(host.read(24, host.bus(0), host.lists.bus()) == 0x004);
  CHECK(host.read(24, host.bus(0), 0x7000000000u) == 0x004);     // list out of reach
  *host.lists.as<uint64_t>(4088) = host.lists.bus() + 4096 + 8;  // chain pointer with an offset
  CHECK(host.read(32, host.bus(0), host.lists.bus() + 4088) == 0x013);
  *host.lists.as<uint64_t>(4088) = 0x7000000000u;
  CHECK(host.read(32, host.bus(0), host.lists.bus() + 4088) == 0x004);
  host.strictness.provoked({Kind::pointer, Kind::memory});
}

TEST_CASE("PRP rules follow CC.MPS") {
  NvmeConfig config = DataHost::wide();
  config.mpsmin = 2;  // pages of 16 KiB
  DataHost host(config);
  CHECK(host.read(64, host.bus(0), host.bus(16384)) == 0);
  CHECK(std::memcmp(host.bytes(0), host.expected.data(), 32768) == 0);
  CHECK(host.read(64, host.bus(0), host.bus(16384 + 4096)) == 0x013);
  CHECK(host.read(32, host.bus(0)) == 0);
  *host.lists.as<uint64_t>(0) = host.bus(16384);
  *host.lists.as<uint64_t>(8) = host.bus(65536);
  CHECK(host.read(96, host.bus(0), host.lists.bus()) == 0);
  CHECK(std::memcmp(host.bytes(65536), host.expected.data() + 32768, 16384) == 0);
  *host.lists.as<uint64_t>(8) = host.bus(65536 + 4096);
  CHECK(host.read(96, host.bus(0), host.lists.bus()) == 0x013);
  host.strictness.provoked({Kind::pointer});
}

TEST_CASE("writes collect from all pages") {
  DataHost host;
  fill(host.bytes(0), 65536, 4);
  *host.lists.as<uint64_t>(0) = host.bus(16384);
  *host.lists.as<uint64_t>(8) = host.bus(8192);
  CHECK(host.code(io(op_write, 100, 20, host.bus(2048), host.lists.bus())) == 0);
  std::vector<unsigned char> stored(20 * 512);
  host.controller.read_blocks(1, 100, 20, stored.data());
  CHECK(std::memcmp(stored.data(), host.bytes(2048), 2048) == 0);
  CHECK(std::memcmp(stored.data() + 2048, host.bytes(16384), 4096) == 0);
  CHECK(std::memcmp(stored.data() + 6144, host.bytes(8192), 4096) == 0);
  CHECK(host.code(io(op_compare, 100, 20, host.bus(2048), host.lists.bus())) == 0);
  *host.bytes(8192 + 4095) ^= 1;
  CHECK(host.code(io(op_compare, 100, 20, host.bus(2048), host.lists.bus())) == 0x285);
}

TEST_CASE("SGL: a data block, a last segment, segments in a row, a bit bucket") {
  DataHost host;
  CHECK(host.code(sgl(op_read, 3, {host.bus(7), 1536, sgl_data})) == 0);  // any alignment
  CHECK(std::memcmp(host.bytes(7), host.expected.data(), 1536) == 0);
  Descriptor* const list = host.lists.as<Descriptor>(0);
  list[0] = {host.bus(10000), 100, sgl_data};
  list[1] = {host.bus(30000), 1000, sgl_data};
  list[2] = {host.bus(20000), 436, sgl_data};
  CHECK(host.code(sgl(op_read, 3, {host.lists.bus(), 48, sgl_last})) == 0);
  CHECK(std::memcmp(host.bytes(10000), host.expected.data(), 100) == 0);
  CHECK(std::memcmp(host.bytes(30000), host.expected.data() + 100, 1000) == 0);
  CHECK(std::memcmp(host.bytes(20000), host.expected.data() + 1100, 436) == 0);
  // Segment, segment, last segment; a bucket in the middle.
  std::memset(host.bytes(0), 0xcc, 65536);
  list[0] = {host.bus(0), 512, sgl_data};
  list[1] = {host.lists.bus() + 1024, 32, sgl_segment};
  Descriptor* const second = host.lists.as<Descriptor>(1024);
  second[0] = {0, 512, sgl_bucket};
  second[1] = {host.lists.bus() + 2048, 16, sgl_last};
  host.lists.as<Descriptor>(2048)[0] = {host.bus(4096), 512, sgl_data};
  CHECK(host.code(sgl(op_read, 3, {host.lists.bus(), 32, sgl_segment})) == 0);
  CHECK(std::memcmp(host.bytes(0), host.expected.data(), 512) == 0);
  CHECK(*host.bytes(512) == 0xcc);
  CHECK(std::memcmp(host.bytes(4096), host.expected.data() + 1024, 512) == 0);
  CHECK(host.code(sgl(op_write, 3, {host.lists.bus(), 32, sgl_segment})) == 0x00f);  // a bucket gives nothing
  // A write through a list.
  list[0] = {host.bus(100), 300, sgl_data};
  list[1] = {host.bus(1000), 212, sgl_data};
  fill(host.bytes(0), 4096, 5);
  CHECK(host.code(sgl(op_write, 1, {host.lists.bus(), 32, sgl_last})) == 0);
  unsigned char block[512];
  host.controller.read_blocks(1, 0, 1, block);
  CHECK(std::memcmp(block, host.bytes(100), 300) == 0);
  CHECK(std::memcmp(block + 300, host.bytes(1000), 212) == 0);
  Sqe second_form = sgl(op_read, 1, {host.bus(0), 512, sgl_data});
  second_form.cdw0 ^= 3u << 14;  // PSDT 2: metadata by SGL, of which there is none
  CHECK(host.code(second_form) == 0);
  host.strictness.provoked({Kind::pointer});
}

TEST_CASE("SGL: what is refused") {
  DataHost host;
  const auto bus = host.bus(0);
  Descriptor* const list = host.lists.as<Descriptor>(0);
  CHECK(host.code(sgl(op_read, 2, {bus, 512, sgl_data})) == 0x00f);
  CHECK(host.code(sgl(op_read, 1, {bus, 1024, sgl_data})) == 0x00f);
  CHECK(host.code(sgl(op_read, 1, {bus, 512, 1u << 24})) == 0x011);  // subtype: offset
  CHECK(host.code(sgl(op_read, 1, {bus, 512, 4u << 28})) == 0x011);  // keyed
  CHECK(host.code(sgl(op_read, 1, {0x7000000000u, 512, sgl_data})) == 0x004);
  CHECK(host.code(sgl(op_read, 1, {0x7000000000u, 16, sgl_last})) == 0x004);
  list[0] = {bus, 512, sgl_data};
  list[1] = {bus, 512, sgl_data};
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 24, sgl_last})) == 0x00d);
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 0, sgl_last})) == 0x00d);
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus() + 4, 32, sgl_last})) == 0x00d);
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 32, sgl_segment})) == 0x00d);  // no segment follows
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 16, sgl_last})) == 0x00f);
  list[1] = {host.lists.bus() + 1024, 16, sgl_last};
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 32, sgl_last})) == 0x00d);  // goes on after the last one
  list[0] = {host.lists.bus() + 1024, 16, sgl_last};
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 32, sgl_segment})) == 0x00d);  // leads on in the middle
  list[0] = {host.lists.bus(), 16, sgl_segment};
  CHECK(host.code(sgl(op_read, 2, {host.lists.bus(), 16, sgl_segment})) == 0x00d);  // leads back to itself
  Sqe reserved = sgl(op_read, 1, {bus, 512, sgl_data});
  reserved.cdw0 |= 3u << 14;
  CHECK(host.code(reserved) == 0x002);
  NvmeConfig config = DataHost::wide();
  config.sgl = false;
  DataHost without(config);
  CHECK(without.code(sgl(op_read, 1, {without.bus(0), 512, sgl_data})) == 0x002);
  config.sgl = true;
  config.sgl_dword_aligned = true;
  DataHost aligned(config);
  CHECK(aligned.code(sgl(op_read, 1, {aligned.bus(4), 512, sgl_data})) == 0);
  CHECK(aligned.code(sgl(op_read, 1, {aligned.bus(2), 512, sgl_data})) == 0x01e);
  host.strictness.provoked({Kind::pointer, Kind::memory, Kind::reserved});
  without.strictness.provoked({Kind::pointer});
  aligned.strictness.provoked({Kind::pointer});
}

TEST_CASE("bus addresses are no pointers, and end with the memory") {
  DataHost host;
  CHECK(host.bus(0) == reinterpret_cast<uintptr_t>(host.bytes(0)) + (uint64_t{1} << 48));
  CHECK(host.read(1, reinterpret_cast<uintptr_t>(host.bytes(0))) == 0x004);
  DmaBuffer small = host.controller.allocate(1000, 1024);  // in one page
  CHECK(host.read(1, small.bus()) == 0);
  CHECK(host.code(sgl(op_read, 2, {small.bus(), 1024, sgl_data})) == 0x004);  // beyond the buffer
  const uint64_t old = small.bus();
  small = DmaBuffer();
  CHECK(host.read(1, old) == 0x004);
  // Memory of somebody else.
  std::vector<unsigned char> foreign(8192);
  CHECK_THROWS_AS(host.controller.map(nullptr, 1), xio::host::Error);
  const uint64_t bus = host.controller.map(foreign.data(), foreign.size());
  CHECK_THROWS_AS(host.controller.map(foreign.data() + 4096, 8), xio::host::Error);
  CHECK_THROWS_AS(host.controller.map(foreign.data() - 1, 2), xio::host::Error);
  CHECK(host.code(sgl(op_read, 16, {bus, 8192, sgl_data})) == 0);
  CHECK(std::memcmp(foreign.data(), host.expected.data(), 8192) == 0);
  host.controller.unmap(bus);
  CHECK_THROWS_AS(host.controller.unmap(bus), xio::host::Error);
  CHECK(host.code(sgl(op_read, 16, {bus, 8192, sgl_data})) == 0x004);
  // Two mappings side by side serve one transfer.
  const uint64_t first = host.controller.map(foreign.data(), 4000);
  host.controller.map(foreign.data() + 4000, 4192);
  CHECK(host.code(sgl(op_read, 16, {first, 8192, sgl_data})) == 0);
  CHECK_THROWS_AS(host.controller.allocate(0, 64), xio::host::Error);
  CHECK_THROWS_AS(host.controller.allocate(64, 3), xio::host::Error);
  CHECK_THROWS_AS(host.controller.allocate(64, size_t{1} << 22), xio::host::Error);
  host.strictness.provoked({Kind::memory});
}

TEST_CASE("queue memory that goes away is fatal") {
  Host host;
  Queue first = host.create_queue(1);
  Queue second = host.create_queue(2);
  host.run(first, command(op_flush, 1));
  first.sq_memory = DmaBuffer();
  __atomic_store_n(first.tail_doorbell, 2u, __ATOMIC_RELEASE);
  host.controller.run();
  CHECK(host.csts() == 3);
  host.disable();
  host.enable();
  second = host.create_queue(2);
  host.run(second, command(op_flush, 1));
  second.cq_memory = DmaBuffer();
  second.put(command(op_flush, 1), 9);
  second.ring();
  host.controller.run();
  CHECK(host.csts() == 3);
  host.disable();
  host.enable();
  // A queue may be created in unmapped memory; its first command is fatal.
  Queue third = host.make_queue(3, 32, 64);
  CHECK(host.admin_code(Host::create_cq(3, 64, third.cq_memory.bus())) == 0);
  CHECK(host.admin_code(Host::create_sq(3, 32, 0x7000000000u, 3)) == 0);
  CHECK(host.csts() == 1);
  third.tail = 1;
  third.ring();
  host.controller.run();
  CHECK(host.csts() == 3);
  host.strictness.provoked({Kind::memory});
}

TEST_CASE("memory from a source of the caller") {
  size_t live = 0;
  NvmeConfig config = Host::stepped();
  config.memory.allocate = [&](size_t bytes, size_t alignment) -> void* {
    ++live;
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
  };
  config.memory.release = [&](void* memory) {
    --live;
    std::free(memory);
  };
  DmaBuffer survivor;
  {
    Host host(config);
    Queue queue = host.create_queue(1);
    CHECK(live == 5);  // doorbells, four rings
    CHECK(host.code(queue, command(op_flush, 1)) == 0);
    survivor = host.controller.allocate(100, 64);
    CHECK(reinterpret_cast<uintptr_t>(survivor.data()) % 64 == 0);
  }
  CHECK(live == 1);
  std::memset(survivor.data(), 1, survivor.size());
  survivor = DmaBuffer();
  CHECK(live == 0);
}

TEST_CASE("a buffer that its owner unmapped by hand") {
  Host host;
  DmaBuffer buffer = host.controller.allocate(4096, 4096);
  host.controller.unmap(buffer.bus());
  std::memset(buffer.data(), 1, buffer.size());
  buffer = DmaBuffer();
  CHECK(host.csts() == 1);
}
