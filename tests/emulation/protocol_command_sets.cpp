// SPDX-License-Identifier: MIT

/// @file
/// @brief Commands of one command set and queues of namespaces with another: refused without a trace. The same numbers
/// are Write and Store, Read and Retrieve.

#include <xio/device/nvme/drive_set.hpp>
#include <xio/device/nvme/kv_queue.hpp>
#include <xio/vendors/nvme/encode_more.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
namespace nvme = xio::nvme;
namespace kv = xio::nvme::kv;
using nvme::CommandSet;
using nvme::KvOpcode;
using nvme::Opcode;

namespace {

constexpr kv::Key some_key{0x1122334455667788, 0x99, 9};

/// Whether a queue refused something, and has no trace of it: neither a ticket, nor a command at the controller.
class Traces {
 public:
  Traces(Rig& rig, const NvmeQueue& queue) : rig_(rig), queue_(queue), before_(now()) {}
  bool none() const { return now() == before_; }

 private:
  std::pair<uint64_t, uint64_t> now() const {
    return {queue_.handle().state->reserved, rig_.statistics(queue_).commands};
  }
  Rig& rig_;
  const NvmeQueue& queue_;
  std::pair<uint64_t, uint64_t> before_;
};

/// The handle of a namespace that stores values, with the memory of another one.
QueueHandle of_values(QueueHandle handle) {
  handle.command_set = static_cast<uint32_t>(CommandSet::key_value);
  return handle;
}

template <Sharing S>
void refused_by_blocks(Rig& rig, const NvmeQueue& queue) {
  Queue<S> blocks(queue.handle());
  const xio::Region data = rig.data.region();
  const Deadline until = blocks.deadline(10_s);
  const Traces traces(rig, queue);
  CHECK(blocks.submit(kv::store(some_key, 4096), data.at(0, 4096), until).status == Status::unsupported);
  CHECK(blocks.submit(kv::retrieve(some_key, 100), data.at(0, 100), until).status == Status::unsupported);
  CHECK(blocks.submit(kv::list(some_key, 4096), data.at(0, 4096), until).status == Status::unsupported);
  CHECK(blocks.submit(kv::remove(some_key), NoData{}, until).status == Status::unsupported);
  CHECK(blocks.try_submit(kv::exist(some_key), NoData{}).status == Status::unsupported);
  CHECK(traces.none());
}

template <Sharing S>
void refused_by_values(Rig& rig, const NvmeQueue& queue) {
  kv::Queue<S, Policy<Notify>> values(of_values(queue.handle()));
  const xio::Region data = rig.data.region();
  const Deadline until = values.deadline(10_s);
  const nvme::Piece piece{0, rig.bus(), 8};
  Notification progress{};
  const Traces traces(rig, queue);
  CHECK(values.read(0, data.at(0, 4096), until).status == Status::unsupported);
  CHECK(values.write(0, data.at(0, 4096), until).status == Status::unsupported);
  CHECK(values.submit(nvme::deallocate(1), data.at(0, 16), until).status == Status::unsupported);
  CHECK(values.submit(nvme::verify(0, 8), NoData{}, until).status == Status::unsupported);
  CHECK(values.submit_batch(Opcode::write, &piece, 1, until).status == Status::unsupported);
  CHECK(values.transfer(Opcode::read, &piece, 1, until, progress) == Status::unsupported);
  CHECK(progress.done == 0);
  CHECK(traces.none());
}

template <Sharing S>
void values_of_blocks(Rig& rig, const NvmeQueue& queue) {
  kv::Queue<S, Policy<Notify>> values(queue.handle());
  const xio::Region data = rig.data.region();
  const Deadline until = values.deadline(10_s);
  const kv::Piece piece{some_key, rig.bus(), 100};
  Notification progress{};
  const Traces traces(rig, queue);
  CHECK(values.store(some_key, data.at(0, 100), until).status == Status::unsupported);
  CHECK(values.retrieve(some_key, data.at(0, 100), until).status == Status::unsupported);
  CHECK(values.list({}, data.at(0, 4096), until).status == Status::unsupported);
  CHECK(values.remove(some_key, until).status == Status::unsupported);
  CHECK(values.exist(some_key, until).status == Status::unsupported);
  CHECK(values.submit_batch(KvOpcode::store, &piece, 1, until).status == Status::unsupported);
  CHECK(values.transfer(KvOpcode::store, &piece, 1, until, progress) == Status::unsupported);
  CHECK(traces.none());
}

}  // namespace

TEST_CASE("submit: a queue of blocks refuses commands with keys [H37]") {
  Rig rig;
  const NvmeQueue queue = rig.queue(8);
  refused_by_blocks<Sharing::thread>(rig, queue);
  const NvmeQueue shared = rig.queue(8);
  refused_by_blocks<Sharing::grid>(rig, shared);
  const NvmeQueue mixed = rig.queue(64);
  xio::simt::launch(Grid{1, 64, 64}, [&] {
    // A command that differs from lane to lane; the others are posted.
    Queue<Sharing::wave> blocks(mixed.handle());
    const uint32_t lane = xio::arch::thread_index();
    const bool store = lane % 3 == 0;
    const nvme::Command command = store ? kv::store(some_key, 512) : nvme::read(lane, 1);
    const Token token = blocks.submit(command, rig.data.region().at(lane * 512, 512), soon());
    EXPECT(token.submitted() == !store);
    EXPECT(blocks.wait(token, soon()) == (store ? Status::unsupported : Status::ok));
  });
  CHECK(rig.statistics(mixed).commands == 42);
}

TEST_CASE("submit: a queue of values refuses commands with blocks, and batches of them [H37]") {
  Rig rig;
  const NvmeQueue queue = rig.queue(8);
  refused_by_values<Sharing::thread>(rig, queue);
  const NvmeQueue wave = rig.queue(8);
  refused_by_values<Sharing::wave>(rig, wave);
  const NvmeQueue shared = rig.queue(8);
  refused_by_values<Sharing::grid>(rig, shared);
}

TEST_CASE("submit: a queue of values refuses everything of a namespace with blocks [H37]") {
  Rig rig;
  const NvmeQueue queue = rig.queue(8);
  values_of_blocks<Sharing::thread>(rig, queue);
  const NvmeQueue shared = rig.queue(8);
  values_of_blocks<Sharing::grid>(rig, shared);
}

TEST_CASE("submit: a set of drives refuses commands with keys [H37]") {
  Rig rig;
  const NvmeQueue queue = rig.queue(8);
  const QueueHandle handle = queue.handle();
  nvme::DriveSet<Sharing::grid> drives(nvme::DriveSetHandle{&handle, 1, 1, 6}, 0);
  const Traces traces(rig, queue);
  CHECK(drives.submit(kv::store(some_key, 512), ContiguousPages{rig.bus()}, soon()).token.status ==
        Status::unsupported);
  CHECK(drives.submit(nvme::flush(), NoData{}, soon()).token.status == Status::invalid_argument);
  CHECK(traces.none());
}

TEST_CASE("submit: commands of every set are for queues of values too") {
  Rig rig;
  const NvmeQueue queue = rig.queue(8);
  kv::Queue<Sharing::thread> values(of_values(queue.handle()));
  CHECK_FALSE(values.wait(values.submit(nvme::flush(), NoData{}, soon()), soon()) == Status::unsupported);
  CHECK(values.submit(nvme::reservation_report(64), rig.data.region().at(0, 64), soon()).submitted());
  // A vendor's command, which says so.
  const nvme::Command own = nvme::command(static_cast<Opcode>(0x91)).moves(0);
  CHECK(values.submit(own, NoData{}, soon()).status == Status::unsupported);
  CHECK(values.submit(own.of_set(CommandSet::every), NoData{}, soon()).submitted());
}

TEST_CASE("submit: keys and buffers that no command can carry") {
  Rig rig;
  const NvmeQueue queue = rig.queue(8);
  kv::Queue<Sharing::thread> values(of_values(queue.handle()));
  const xio::Region data = rig.data.region();
  const Traces traces(rig, queue);
  CHECK(values.store({}, data.at(0, 8), soon()).status == Status::invalid_argument);
  CHECK(values.exist(kv::Key::copy("seventeen bytes..", 17), soon()).status == Status::invalid_argument);
  CHECK(values.store(some_key, data.at(data.length - 8, 16), soon()).status == Status::out_of_range);
  CHECK(values.submit(kv::store(some_key, 8), data.at(0, 16), soon()).status == Status::invalid_argument);
  // 2^7 pages by MDTS.
  CHECK(values.store(some_key, data.at(0, 128 * 4096 + 4), soon()).status == Status::invalid_argument);
  CHECK(traces.none());
  const kv::Piece pieces[] = {{some_key, rig.bus(), 128 * 4096 + 4}, {{}, rig.bus(), 8}};
  for (const kv::Piece& piece : pieces)
    CHECK(values.submit_batch(KvOpcode::store, &piece, 1, soon()).status == Status::invalid_argument);
  CHECK(traces.none());
}

TEST_CASE("kv::Key: bytes in order, whoever made it") {
  CHECK(kv::Key::copy("\x88\x77\x66\x55\x44\x33\x22\x11\x99", 9) == some_key);
  CHECK(kv::Key::of(0x1122) == kv::Key::copy("\x22\x11\0\0\0\0\0\0", 8));
  CHECK(kv::Key::of(1, 2) != kv::Key::of(1, 3));
  CHECK(some_key.byte(0) == 0x88);
  CHECK(some_key.byte(8) == 0x99);
  static_assert(kv::store(some_key, 100, kv::option::must_not_exist).cdw11 == (2u << 8 | 9));
}

TEST_CASE("kv::KeyList: keys of a buffer, and lists that do not fit into theirs") {
  // Three keys of 1, 3 and 16 bytes.
  uint32_t words[16] = {3,          0x00610001, 0x62610003, 0x00000063, 0x62610010,
                        0x66656463, 0x6a696867, 0x6e6d6c6b, 0x0000706f};
  kv::KeyList list(words, sizeof words);
  kv::Key key;
  REQUIRE(list.next(key));
  CHECK(key == kv::Key::copy("a", 1));
  REQUIRE(list.next(key));
  CHECK(key == kv::Key::copy("abc", 3));
  CHECK(list.left() == 1);
  REQUIRE(list.next(key));
  CHECK(key == kv::Key::copy("abcdefghijklmnop", 16));
  CHECK_FALSE(list.next(key));
  // What a device must not say.
  kv::KeyList cut(words, 28);
  CHECK(cut.next(key));
  CHECK(cut.next(key));
  CHECK_FALSE(cut.next(key));
  words[1] = 0x00610011;
  CHECK_FALSE(kv::KeyList(words, sizeof words).next(key));
  words[1] = 0x00610000;
  CHECK_FALSE(kv::KeyList(words, sizeof words).next(key));
  CHECK_FALSE(kv::KeyList(words, 4).next(key));
  CHECK_FALSE(kv::KeyList(words, 2).next(key));
}
