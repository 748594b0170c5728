// SPDX-License-Identifier: MIT

/// @file
/// @brief Every builder of I/O commands with data of every size, on memory that ends where the data does; commands of
/// which nobody knows what they move; limits of commands that move no data, or ranges.

#include <cstring>

#include <xio/vendors/nvme/encode_more.hpp>
#include <xio/vendors/nvme/ranges.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
namespace nvme = xio::nvme;
using nvme::Command;
using nvme::Opcode;

namespace {

constexpr uint64_t page = 4096;
constexpr unsigned char untouched = 0x55;
constexpr unsigned char from_device = 0xaa;

/// A command and the data that the specification says it moves.
struct Case {
  const char* what;
  Command command;
  uint64_t bytes;
  bool to_host;
};

std::vector<Case> all_builders() {
  std::vector<Case> cases;
  const auto add = [&](const char* what, const Command& command, uint64_t bytes, bool to_host = false) {
    cases.push_back({what, command, bytes, to_host});
  };
  for (const uint32_t bytes : {4u, 64u, 4092u, 4096u, 4100u, 8192u, 8196u, 12288u, 16384u, 65536u, 300000u, 524288u}) {
    nvme::ZoneReceiveRequest zones;
    zones.bytes = bytes;
    add("zone_management_receive", nvme::zone_management_receive(zones), bytes, true);
    add("reservation_report", nvme::reservation_report(bytes, true), bytes, true);
    add("io_management_receive", nvme::io_management_receive(1, 0, bytes), bytes, true);
  }
  for (const uint32_t ranges : {1u, 2u, 102u, 103u, 128u, 129u, 205u, 256u}) {
    for (const uint32_t format : {0u, 1u, 2u, 3u})
      add("copy", nvme::copy(7, ranges, format), ranges * (format % 2 == 0 ? 32u : 40u));
    add("deallocate", nvme::deallocate(ranges), ranges * 16u);
  }
  for (const uint32_t handles : {1u, 2u, 2048u, 2049u, 6000u, 65536u})
    add("io_management_send", nvme::io_management_send(1, handles - 1), handles * 2u);
  add("reservation_register", nvme::reservation_register(0), 16);
  add("reservation_acquire", nvme::reservation_acquire(0, 1), 16);
  add("reservation_release", nvme::reservation_release(0, 1), 8);
  for (const uint32_t blocks : {1u, 7u, 8u, 9u, 16u, 17u, 128u, 1024u}) {
    add("read", nvme::read(0, blocks), blocks * 512u, true);
    add("write", nvme::write(4096, blocks), blocks * 512u);
    add("compare", nvme::compare(4096, blocks), blocks * 512u);
    add("zone_append", nvme::zone_append(0, blocks), blocks * 512u);
  }
  return cases;
}

/// Memory that a controller reaches only in the middle.
class Window {
 public:
  Window(Rig& rig, std::vector<unsigned char>& memory, uint64_t offset, uint64_t bytes) : rig_(rig) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    data_ = memory.data() + (page - address % page) + page + offset;
    bus_ = rig.model.map(data_, bytes);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { rig_.model.unmap(bus_); }
  unsigned char* data() const { return data_; }
  uint64_t bus() const { return bus_; }

 private:
  Rig& rig_;
  unsigned char* data_;
  uint64_t bus_;
};

bool all(const unsigned char* from, const unsigned char* to, unsigned char value) {
  const auto bytes = static_cast<size_t>(to - from);
  return bytes == 0 || (*from == value && std::memcmp(from, from + 1, bytes - 1) == 0);
}

NvmeConfig with_everything() {
  NvmeConfig config;
  config.transfer_only_commands = true;
  return config;
}

/// Runs one case at one place in its page, and looks at every byte around the data.
template <class Q, class Data>
void run(Rig& rig, Q& queue, const Case& one, uint64_t offset, Data data) {
  static std::vector<unsigned char> memory((size_t{1} << 19) + 8 * page);
  // What commands from the host carry is zeros: ranges of no blocks.
  std::memset(memory.data(), one.to_host ? untouched : 0, memory.size());
  std::vector<unsigned char> stored(one.bytes, from_device);
  if (one.command.opcode() == static_cast<uint8_t>(Opcode::read))
    rig.model.write_blocks(1, 0, one.bytes / 512, stored.data());
  const Window window(rig, memory, offset, one.bytes);
  const Token token = queue.submit(one.command, data(window.bus(), one.bytes), soon());
  const Status status = queue.wait(token, soon());
  CAPTURE(one.what, one.bytes, offset, xio::name(status.code), status.vendor, rig.model.violations()->text());
  REQUIRE(token.submitted());
  REQUIRE(status.is_ok());
  REQUIRE(rig.model.violations()->count() == 0);
  if (!one.to_host) return;
  const unsigned char* const end = window.data() + one.bytes;
  const bool exact = all(window.data(), end, from_device) && all(memory.data(), window.data(), untouched) &&
                     all(end, memory.data() + memory.size(), untouched);
  REQUIRE(exact);
}

template <Sharing S, class Policy>
void run_all(Rig& rig) {
  const NvmeQueue made = rig.queue(8);
  Queue<S, Policy> queue(made.handle());
  for (const Case& one : all_builders()) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{4}, uint64_t{2048}, uint64_t{4092}}) {
      run(rig, queue, one, offset, [](uint64_t bus, uint64_t) { return ContiguousPages{bus}; });
    }
    // Two pieces that touch where a page ends.
    run(rig, queue, one, 2048, [](uint64_t bus, uint64_t bytes) {
      static nvme::Segment pieces[2];
      const uint64_t first = bytes < 2048 ? bytes : 2048;
      pieces[0] = {bus, first};
      pieces[1] = {bus + first, bytes - first};
      return nvme::SegmentList{pieces, 2};
    });
    run(rig, queue, one, 3, [](uint64_t bus, uint64_t) { return nvme::as_sgl(ContiguousPages{bus}); });
  }
}

}  // namespace

TEST_CASE("submit: every builder, any size and offset -> exactly its data moves", "[H25]") {
  Rig rig(with_everything());
  run_all<Sharing::thread, xio::Policy<>>(rig);
  run_all<Sharing::thread, xio::Trusting>(rig);
  run_all<Sharing::wave, xio::Policy<>>(rig);
  run_all<Sharing::grid, Policy<Deferred<2>>>(rig);
}

TEST_CASE("submit: a command that may not be split -> posted whole", "[H25]") {
  Rig rig(with_everything());
  const auto run = [&](auto kind) {
    const NvmeQueue made = rig.queue(8);
    nvme::QueueHandle handle = made.handle();
    handle.max_blocks = 4;
    handle.max_bytes = 0;
    Queue<decltype(kind)::value> queue(handle);
    const Token token = queue.submit(nvme::zone_append(0, 8), ContiguousPages{rig.bus()}, soon());
    CHECK(queue.wait(token, soon()).is_ok());
    CHECK(token.count == 1);
    CHECK((handle.sq[token.last & handle.sq_mask].cdw12 & 0xffff) == 7);
  };
  run(std::integral_constant<Sharing, Sharing::thread>());
  run(std::integral_constant<Sharing, Sharing::wave>());
  run(std::integral_constant<Sharing, Sharing::grid>());
  CHECK(rig.model.violations()->count() == 0);
}

TEST_CASE("submit: a command without data, any pages -> no pointer in the entry") {
  Rig rig(with_everything());
  const NvmeQueue made = rig.queue(8);
  const auto run = [&](auto queue) {
    nvme::ZoneSendRequest reset;
    for (const Command& command :
         {nvme::flush(), nvme::write_zeroes(0, 4), nvme::verify(0, 4), nvme::write_uncorrectable(9, 1),
          nvme::write_zeroes(9, 1), nvme::zone_management_send(reset), nvme::io_management_send(0, 0)}) {
      CAPTURE(command.opcode());
      const auto check = [&](auto data) {
        const Status status = queue.wait(queue.submit(command, data, soon()), soon());
        CHECK(status.is_ok());
      };
      check(NoData{});
      check(ContiguousPages{rig.bus(12)});
      check(nvme::as_sgl(ContiguousPages{rig.bus(13)}));
      check(nvme::DataPointer{});
    }
    const nvme::Piece pieces[2] = {{0, rig.bus(), 1}, {5, rig.bus(512), 2}};
    CHECK(queue.wait_batch(queue.submit_batch(Opcode::verify, pieces, 2, soon()), soon()).is_ok());
    CHECK(queue.wait_batch(queue.submit_batch(Opcode::write_zeroes, pieces, 2, soon()), soon()).is_ok());
  };
  run(Queue<Sharing::thread>(made.handle()));
  run(Queue<Sharing::thread, xio::Trusting>(made.handle()));
  const NvmeQueue shared = rig.queue(8);
  run(Queue<Sharing::grid>(shared.handle()));
  CHECK(rig.model.violations()->count() == 0);
}

namespace {

template <class Q, class Data>
Status refusal(Q& queue, const Command& command, const Data& data) {
  const Token token = queue.submit(command, data, soon());
  if (token.submitted()) return queue.wait(token, soon());
  return token.status;
}

template <class Q>
void refuse_what_is_not_known(Rig& rig, Q queue, bool checked) {
  const ContiguousPages pages{rig.bus()};
  // Put together by hand: nobody has told how much they move.
  const Command unknown[] = {nvme::command(Opcode::reservation_report).dword(10, 2047),
                             nvme::command(static_cast<Opcode>(0xc1)),
                             nvme::read(0, 1).dword(12, 7),
                             nvme::reservation_report(4096).dword(10, 2047),
                             nvme::copy(0, 3, 4),
                             nvme::io_management_send(9, 1),
                             nvme::zone_management_send({nvme::ZoneSendAction::set_descriptor_extension})};
  for (const Command& command : unknown) {
    CAPTURE(command.opcode());
    CHECK(refusal(queue, command, pages) == Status::invalid_argument);
    CHECK(refusal(queue, command, nvme::as_sgl(pages)) == Status::invalid_argument);
  }
  // What no entry can express.
  nvme::ZoneReceiveRequest zones;
  zones.bytes = 6;
  const Command impossible[] = {nvme::zone_management_receive({}),
                                nvme::zone_management_receive(zones),
                                nvme::reservation_report(0),
                                nvme::io_management_receive(1, 0, 10),
                                nvme::deallocate(0),
                                nvme::deallocate(257),
                                nvme::copy(0, 0),
                                nvme::copy(0, 257),
                                nvme::copy(0, 1, 16)};
  for (const Command& command : impossible) {
    CAPTURE(command.opcode());
    CHECK(refusal(queue, command, pages) == Status::invalid_argument);
    CHECK(refusal(queue, command, nvme::DataPointer{rig.bus()}) == Status::invalid_argument);
    CHECK(refusal(queue, command, NoData{}) == Status::invalid_argument);
  }
  // Data that lies nowhere.
  for (const Command& command : {nvme::read(0, 1), nvme::write(0, 1), nvme::deallocate(1), nvme::reservation_report(8)})
    CHECK(refusal(queue, command, NoData{}) == Status::invalid_argument);
  CHECK(queue.handle().state->reserved == 0);
  if (!checked) return;
  // Words that contradict each other.
  CHECK(refusal(queue, nvme::read(0, 1).flags(7), pages) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::write_zeroes(0, 1).flags(7), NoData{}) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::copy(0, 1).range(0, 5), pages) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::deallocate(1).range(0, 2), pages) == Status::invalid_argument);
  const nvme::Piece piece{0, rig.bus(), 1};
  for (const Opcode operation : {Opcode::flush, Opcode::dataset_management, Opcode::copy, static_cast<Opcode>(0xc1)})
    CHECK(queue.submit_batch(operation, &piece, 1, soon()).status == Status::invalid_argument);
  CHECK(queue.handle().state->reserved == 0);
}

}  // namespace

TEST_CASE("submit: a command of unknown size -> invalid_argument", "[H25]") {
  Rig rig(with_everything());
  const NvmeQueue one = rig.queue(8);
  refuse_what_is_not_known(rig, Queue<Sharing::thread>(one.handle()), true);
  refuse_what_is_not_known(rig, Queue<Sharing::thread, xio::Trusting>(one.handle()), false);
  refuse_what_is_not_known(rig, Queue<Sharing::wave>(one.handle()), true);
  refuse_what_is_not_known(rig, Queue<Sharing::wave, xio::Unchecked>(one.handle()), false);
  const NvmeQueue shared = rig.queue(8);
  refuse_what_is_not_known(rig, Queue<Sharing::grid>(shared.handle()), true);
  refuse_what_is_not_known(rig, Queue<Sharing::grid, xio::Trusting>(shared.handle()), false);
}

TEST_CASE("submit: a command with a given size or data pointer -> taken") {
  Rig rig(with_everything());
  const NvmeQueue made = rig.queue(8);
  Queue<Sharing::grid> queue(made.handle());
  Queue<Sharing::grid, xio::Trusting> trusting(made.handle());
  const Command report = nvme::command(Opcode::reservation_report).dword(10, 16384 / 4 - 1);
  const Command extension = nvme::zone_management_send({nvme::ZoneSendAction::set_descriptor_extension});
  for (const Case& one :
       {Case{"told", report.moves(16384), 16384, true}, Case{"told", extension.moves(64), 64, false}}) {
    for (const uint64_t offset : {0u, 4u, 4092u}) {
      const auto pages = [](uint64_t bus, uint64_t) { return ContiguousPages{bus}; };
      run(rig, queue, one, offset, pages);
      run(rig, trusting, one, offset, pages);
    }
  }
  run(rig, queue, {"data pointer", nvme::command(Opcode::reservation_report).dword(10, 2047), 8192, true}, 0,
      [](uint64_t bus, uint64_t) { return nvme::DataPointer{bus, bus + page}; });
  const Status none = refusal(queue, nvme::command(Opcode::zone_management_send).dword(13, 4), NoData{});
  CHECK(none.is_ok());
}

TEST_CASE("submit: an opcode of another command set -> no blocks") {
  Rig rig(with_everything());
  constexpr uint32_t bytes = 3000;
  // Key Value Command Set: the size of the value, the length of the key, and the key.
  const auto words = [](Opcode opcode) {
    const Command command = nvme::command(opcode).dword(2, 0xabcdef01).dword(3, 0x23456789);
    return command.dword(10, bytes).dword(11, 16 | 3u << 8).dword(14, 0x01020304).dword(15, 0x05060708);
  };
  const auto check = [&](auto kind, auto policy) {
    const NvmeQueue made = rig.queue(8);
    nvme::QueueHandle handle = made.handle();
    handle.max_blocks = 4;
    Queue<decltype(kind)::value, decltype(policy)> queue(handle);
    for (const Opcode opcode : {Opcode::write, Opcode::read}) {
      const ContiguousPages pages{rig.bus(4000)};
      CHECK(queue.submit(words(opcode), pages, soon()).status == Status::invalid_argument);  // how much is not said
      const Token token = queue.submit(words(opcode).moves(bytes), pages, soon());
      REQUIRE(token.submitted());
      CHECK(token.count == 1);
      const nvme::Sqe& entry = handle.sq[token.last & handle.sq_mask];
      CHECK((entry.cdw0 & 0xff) == static_cast<uint32_t>(opcode));
      CHECK(entry.cdw10 == bytes);
      CHECK(entry.cdw11 == (16 | 3u << 8));
      CHECK(entry.cdw12 == 0);
      CHECK(entry.prp2 == rig.bus(4096));                         // the part in the second page
      CHECK(queue.wait(token, soon()).code == Status::capacity);  // this drive takes the words for blocks
    }
  };
  check(std::integral_constant<Sharing, Sharing::thread>(), xio::Policy<>());
  check(std::integral_constant<Sharing, Sharing::thread>(), xio::Trusting());
  check(std::integral_constant<Sharing, Sharing::wave>(), xio::Policy<>());
  check(std::integral_constant<Sharing, Sharing::grid>(), xio::Policy<>());
  // To this drive dword 3 of a read and a write is reserved.
  CHECK(rig.model.violations()->take().size() == 8);
}

TEST_CASE("submit: a vendor's opcode with a range -> kept, and checked") {
  Rig rig(with_everything());
  const NvmeQueue made = rig.queue(8);
  Queue<Sharing::thread> queue(made.handle());
  const Command command = nvme::command(static_cast<Opcode>(0xc2)).moves(1024);
  const ContiguousPages pages{rig.bus()};
  const Token token = queue.submit(command.range(8, 2), pages, soon());
  REQUIRE(token.submitted());
  CHECK((made.handle().sq[token.last & made.handle().sq_mask].cdw12 & 0xffff) == 1);
  CHECK(queue.wait(token, soon()).code == Status::invalid_command);
  CHECK(refusal(queue, command.range(made.handle().namespace_blocks, 1), pages) == Status::out_of_range);
  // Dwords 10 and 11 cannot hold both.
  CHECK(refusal(queue, command.dword(10, 1).range(0, 1), pages) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::flush().range(0, 1), NoData{}) == Status::invalid_argument);
}

TEST_CASE("submit: blocks of another namespace -> refused unless their size is given") {
  NvmeConfig config;
  config.namespaces = {{1, 4096, 512}, {2, 4096, 4096}};
  Rig rig(config);
  const NvmeQueue made = rig.queue(8);
  const auto check = [&](auto queue) {
    const ContiguousPages pages{rig.bus()};
    CHECK(refusal(queue, nvme::read(0, 8), pages).is_ok());
    CHECK(refusal(queue, nvme::read(0, 8).nsid(1), pages).is_ok());
    CHECK(refusal(queue, nvme::read(0, 8).nsid(2), pages) == Status::invalid_argument);
    CHECK(refusal(queue, nvme::read(0, 8).nsid(2), nvme::as_sgl(pages)) == Status::invalid_argument);
    CHECK(refusal(queue, nvme::read(0, 8).nsid(2).moves(32768), pages).is_ok());
    CHECK(refusal(queue, nvme::read(0, 2).nsid(2), nvme::DataPointer{rig.bus(), rig.bus(4096)}).is_ok());
    CHECK(refusal(queue, nvme::write_zeroes(0, 2).nsid(2), NoData{}).is_ok());
    CHECK(refusal(queue, nvme::flush().nsid(nvme::all_namespaces), NoData{}).is_ok());
  };
  check(Queue<Sharing::thread>(made.handle()));
  check(Queue<Sharing::thread, xio::Trusting>(made.handle()));
  check(Queue<Sharing::wave>(made.handle()));
  const NvmeQueue shared = rig.queue(8);
  check(Queue<Sharing::grid>(shared.handle()));
}

TEST_CASE("submit: more than MDTS that may not be split -> refused") {
  NvmeConfig config = with_everything();
  config.mdts = 2;  // 16 KiB
  config.namespaces = {{1, 4096, 512}, {2, 256, 65536}};
  Rig rig(config);
  const NvmeQueue made = rig.queue(8);
  Queue<Sharing::thread> queue(made.handle());
  const ContiguousPages pages{rig.bus()};
  CHECK(made.handle().max_bytes == 16384);
  CHECK(refusal(queue, nvme::zone_append(0, 32), pages).is_ok());
  CHECK(refusal(queue, nvme::zone_append(0, 33), pages) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::reservation_report(16384), pages).is_ok());
  CHECK(refusal(queue, nvme::reservation_report(16388), pages) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::compare(0, 33).fused_first(), pages) == Status::invalid_argument);
  CHECK(refusal(queue, nvme::read(0, 33), pages).is_ok());
  // 2^32 bytes and more are no small number.
  config.mdts = 0;
  Rig large(config);
  const NvmeQueue blocks = large.queue(8, [](QueueOptions& options) { options.nsid = 2; });
  Queue<Sharing::thread> wide(blocks.handle());
  for (const uint32_t count : {32769u, 65536u})
    CHECK(refusal(wide, nvme::zone_append(0, count), ContiguousPages{large.bus()}) == Status::invalid_argument);
}

namespace {

NvmeConfig with_limits() {
  NvmeConfig config;
  config.mdts = 5;  // 128 KiB: 256 blocks
  config.vsl = 1;   // 8 KiB: 16 blocks
  config.wzsl = 2;  // 32 blocks
  config.wusl = 3;  // 64 blocks
  config.dmrl = 4;
  config.dmrsl = 100;
  config.dmsl = 250;
  return config;
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("submit: Verify, Write Zeroes, Write Uncorrectable -> split at limits of their own", "[H28]",
                       ((Sharing S), S), Sharing::thread, Sharing::wave, Sharing::block, Sharing::grid) {
  Rig rig(with_limits());
  const NvmeQueue made = rig.queue(32);
  CHECK(made.handle().verify_blocks == 16);
  CHECK(made.handle().write_zeroes_blocks == 32);
  CHECK(made.handle().uncorrectable_blocks == 64);
  CHECK(made.handle().max_blocks == 256);
  Queue<S> queue(made.handle());
  const auto run = [&](const nvme::Command& command, uint32_t parts) {
    const Token token = queue.submit(command, NoData{}, soon());
    CHECK(token.count == parts);
    return queue.wait(token, soon());
  };
  CHECK(run(nvme::verify(0, 16), 1).is_ok());
  CHECK(run(nvme::verify(1, 17), 2).is_ok());
  CHECK(run(nvme::verify(3, 400), 25).is_ok());

  // Exactly the blocks that were named become zeros.
  std::vector<unsigned char> ones(1200 * 512, 0x11);
  rig.model.write_blocks(1, 0, 1200, ones.data());
  CHECK(run(nvme::write_zeroes(5, 333), 11).is_ok());
  rig.model.read_blocks(1, 0, 1200, ones.data());
  for (uint32_t block = 0; block < 1200; ++block) {
    if (ones[block * 512] != (block >= 5 && block < 338 ? 0 : 0x11)) FAIL("block " << block);
  }
  CHECK(run(nvme::write_uncorrectable(700, 65), 2).is_ok());
  CHECK(run(nvme::verify(690, 10), 1).is_ok());
  CHECK(code_of(run(nvme::verify(690, 100), 7)) == 0x281);
  CHECK(code_of(run(nvme::verify(764, 1), 1)) == 0x281);
  CHECK(run(nvme::verify(765, 16), 1).is_ok());
  CHECK(rig.statistics(made).by_opcode[0x0c] == 1 + 2 + 25 + 1 + 7 + 1 + 1);

  // One that is not split, and pieces of a batch.
  const std::uint64_t before = made.handle().state->reserved;
  CHECK(queue.submit(nvme::verify(0, 17).fused_first(), NoData{}, soon()).status == Status::invalid_argument);
  const nvme::Piece piece{0, 0, 17};
  CHECK(queue.submit_batch(nvme::Opcode::verify, &piece, 1, soon()).status == Status::invalid_argument);
  CHECK(made.handle().state->reserved == before);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("submit: commands without data and without limits -> as long as the entry allows") {
  NvmeConfig config;
  config.mdts = 5;
  Rig rig(config);
  const NvmeQueue made = rig.queue(32, [](QueueOptions& options) { options.list_bytes = 0; });
  Queue<Sharing::grid> queue(made.handle());
  REQUIRE(made.handle().max_blocks == 8);
  const auto parts = [&](const nvme::Command& command) {
    const Token token = queue.submit(command, NoData{}, soon());
    CHECK(queue.wait(token, soon()).is_ok());
    return token.count;
  };
  CHECK(parts(nvme::verify(0, 65536)) == 1);
  CHECK(parts(nvme::verify(0, 65537)) == 2);
  // Drives are known that apply MDTS to it all the same.
  CHECK(parts(nvme::write_zeroes(0, 256)) == 1);
  CHECK(parts(nvme::write_zeroes(0, 257)) == 2);
}

namespace {

/// Lanes side by side whose commands are split at different lengths.
template <Sharing S>
void long_of_each_kind(const QueueHandle& handle, uint64_t bus) {
  Queue<S> queue(handle);
  const uint32_t me = xio::arch::lane();
  const uint64_t lba = uint64_t{me} * 600;
  const nvme::Command command = me % 3 == 0   ? nvme::verify(lba, 300)
                                : me % 3 == 1 ? nvme::write_zeroes(lba, 300)
                                              : nvme::read(lba, 300);
  const uint32_t parts = me % 3 == 0 ? 19 : me % 3 == 1 ? 10 : 2;
  const bool data = me % 3 == 2;
  Token token;
  // A wave submits what all of its lanes have in one call.
  token = queue.submit(command, ContiguousPages{bus + (data ? me * uint64_t{300} * 512 : 0)}, soon());
  EXPECT_OK(queue.wait(token, soon()));
  EXPECT(token.count == parts);
}

}  // namespace

TEST_CASE("submit: lanes of one wave with long commands -> each split at its own limit", "[H28]") {
  Rig rig(with_limits(), size_t{8} * 300 * 512);
  const auto long_memory = [](QueueOptions& options) { options.completion_slots = 1024; };
  const NvmeQueue own = rig.queue(32, long_memory);
  const NvmeQueue shared = rig.queue(32, long_memory);
  const Grid grid = Grid::of_waves(1, 1, 8);
  CHECK_NOTHROW(xio::simt::launch(grid, long_of_each_kind<Sharing::wave>, own.handle(), rig.bus()));
  CHECK_NOTHROW(xio::simt::launch(grid, long_of_each_kind<Sharing::grid>, shared.handle(), rig.bus()));
  for (const NvmeQueue* queue : {&own, &shared}) {
    const auto seen = rig.statistics(*queue);
    CHECK(seen.errors == 0);
    CHECK(seen.by_opcode[0x0c] == 3 * 19);
    CHECK(seen.by_opcode[0x08] == 3 * 10);
    CHECK(seen.by_opcode[0x02] == 2 * 2);
  }
}

TEST_CASE("cover_ranges: limits of the controller -> kept") {
  Rig rig(with_limits());
  const NvmeQueue made = rig.queue(8);
  const QueueHandle& handle = made.handle();
  Queue<Sharing::thread> queue(handle);
  const ContiguousPages pages{rig.bus()};
  auto* const ranges = reinterpret_cast<nvme::DsmRange*>(rig.bytes());

  std::vector<unsigned char> ones(2000 * 512, 0x11);
  rig.model.write_blocks(1, 0, 2000, ones.data());
  uint64_t done = 0;
  uint32_t commands = 0;
  while (done < 1234) {
    const nvme::CoveredBlocks covered = nvme::cover_ranges(handle, 100 + done, 1234 - done, ranges);
    REQUIRE(covered.blocks != 0);
    CHECK(nvme::check_ranges(handle, ranges, covered.ranges).is_ok());
    REQUIRE(queue.wait(queue.submit(nvme::deallocate(covered.ranges), pages, soon()), soon()).is_ok());
    done += covered.blocks;
    ++commands;
  }
  CHECK(commands == 5);
  rig.model.read_blocks(1, 0, 2000, ones.data());
  for (uint32_t block = 0; block < 2000; ++block) {
    if (ones[block * 512] != (block >= 100 && block < 1334 ? 0 : 0x11)) FAIL("block " << block);
  }

  for (uint32_t i = 0; i < 5; ++i) ranges[i] = {0, 10, 0};
  CHECK(nvme::check_ranges(handle, ranges, 4).is_ok());
  CHECK(nvme::check_ranges(handle, ranges, 5) == Status::invalid_argument);
  CHECK(nvme::check_ranges(handle, ranges, 0) == Status::invalid_argument);
  CHECK(queue.submit(nvme::deallocate(5), pages, soon()).status == Status::invalid_argument);
  ranges[1].blocks = 101;
  CHECK(nvme::check_ranges(handle, ranges, 2) == Status::invalid_argument);
  for (uint32_t i = 0; i < 3; ++i) ranges[i].blocks = 84;
  CHECK(nvme::check_ranges(handle, ranges, 2).is_ok());
  CHECK(nvme::check_ranges(handle, ranges, 3) == Status::invalid_argument);

  // A queue of which no limits are known.
  QueueHandle free = handle;
  free.dsm_ranges = free.dsm_range_blocks = 0;
  free.dsm_blocks = 0;
  const nvme::CoveredBlocks covered = nvme::cover_ranges(free, 7, uint64_t{5} << 32, ranges, 3);
  CHECK(covered.ranges == 3);
  CHECK(covered.blocks == 3 * uint64_t{0xffffffff});
  CHECK(ranges[2].lba == 7 + 2 * uint64_t{0xffffffff});
}
