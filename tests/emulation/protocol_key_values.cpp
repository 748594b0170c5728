// SPDX-License-Identifier: MIT

/// @file
/// @brief Values under keys: commands of waves that share a queue, every status, sizes, lists, batches, and what the
/// host learns of such a namespace.

#include <numeric>

#include <xio/device/nvme/kv_queue.hpp>
#include <xio/vendors/nvme/status.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
namespace nvme = xio::nvme;
namespace kv = xio::nvme::kv;
using Catch::Matchers::Contains;
using nvme::KvOpcode;

namespace {

constexpr uint32_t longest_value = 20000;

NvmeConfig config_of_values() {
  NvmeConfig config;
  config.namespaces[0].key_values = true;
  config.namespaces[0].longest_value = longest_value;
  config.namespaces.push_back({});
  config.namespaces[1].nsid = 2;
  return config;
}

/// A controller whose first namespace stores values and whose second one has blocks.
struct Store {
  explicit Store(NvmeConfig config = config_of_values(), size_t bytes = size_t{1} << 20)
      : model(*new xio::emulation::NvmeController(std::move(config))),
        controller(std::unique_ptr<xio::host::NvmeTransport>(&model), all_sets()),
        data(controller.allocate(bytes)) {
    strictness.watch(model.violations());
  }
  static xio::host::ControllerOptions all_sets() {
    xio::host::ControllerOptions options;
    options.all_command_sets = true;
    return options;
  }
  NvmeQueue queue(uint32_t depth = 64, uint32_t failures_on_record = 1024) {
    QueueOptions options;
    options.depth = depth;
    options.failures_on_record = failures_on_record;
    return controller.create_queue(options);
  }
  unsigned char* bytes(size_t offset = 0) { return data.as<unsigned char>() + offset; }

  emulation_tests::Strictness strictness;
  xio::emulation::NvmeController& model;
  xio::host::NvmeController controller;
  DmaBuffer data;
};

/// One thread's calls, each waited for.
struct Client {
  explicit Client(Store& store) : store(store), pair(store.queue(8)), queue(pair.handle()) {}
  Status store_value(const kv::Key& key, uint64_t offset, uint32_t bytes, uint32_t options = 0) {
    const auto command = kv::store(key, bytes, options);
    return queue.wait(queue.submit(command, store.data.region().at(offset, bytes), soon()), soon());
  }
  Status retrieve(const kv::Key& key, uint64_t offset, uint32_t bytes, uint32_t& whole) {
    return queue.wait(queue.retrieve(key, store.data.region().at(offset, bytes), soon()), soon(), whole);
  }
  Status remove(const kv::Key& key) { return queue.wait(queue.remove(key, soon()), soon()); }
  Status exist(const kv::Key& key) { return queue.wait(queue.exist(key, soon()), soon()); }

  Store& store;
  NvmeQueue pair;
  kv::Queue<Sharing::thread> queue;
};

bool ended_with(Status status, Status::Code code, uint32_t device) {
  return status == code && code_of(status) == device && !nvme::retryable(status);
}

kv::Key key_of(uint32_t number) { return kv::Key::of(mix(number, 1), number); }

}  // namespace

TEST_CASE("kv: every status, with what it leaves") {
  Store store;
  Client client(store);
  const kv::Key key = kv::Key::copy("one", 3);
  const kv::Key other = kv::Key::copy("on", 2);
  std::iota(store.bytes(), store.bytes(65536), uint8_t{1});
  uint32_t whole = 7;
  CHECK(ended_with(client.exist(key), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(ended_with(client.retrieve(key, 0, 64, whole), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(whole == 0);
  CHECK(ended_with(client.remove(key), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(ended_with(client.store_value(key, 0, 100, kv::option::must_exist), Status::unwritten,
                   nvme::sc::key_does_not_exist));
  CHECK(client.store_value(key, 0, 100, kv::option::must_not_exist).is_ok());
  CHECK(
      ended_with(client.store_value(key, 0, 200, kv::option::must_not_exist), Status::conflict, nvme::sc::key_exists));
  CHECK(client.retrieve(key, 65536, 4096, whole).is_ok());
  CHECK(whole == 100);
  CHECK(client.store_value(key, 4, 200, kv::option::must_exist).is_ok());
  CHECK(client.retrieve(key, 65536, 4096, whole).is_ok());
  CHECK(whole == 200);
  CHECK(std::equal(store.bytes(65536), store.bytes(65536 + 200), store.bytes(4)));
  CHECK(
      ended_with(client.store_value(key, 0, longest_value + 1), Status::invalid_command, nvme::sc::invalid_value_size));
  CHECK(client.exist(key).is_ok());
  CHECK_FALSE(client.exist(other).is_ok());
  CHECK(client.remove(key).is_ok());
  CHECK(ended_with(client.exist(key), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(client.queue.errors().count == 0);
}

TEST_CASE("kv: keys that are longer than the namespace's, and values beyond its room") {
  NvmeConfig config = config_of_values();
  config.namespaces[0].longest_key = 4;
  config.namespaces[0].most_keys = 2;
  config.namespaces[0].blocks = 8;
  Store store(config);
  Client client(store);
  CHECK(ended_with(client.exist(kv::Key::copy("fives", 5)), Status::invalid_command, nvme::sc::invalid_key_size));
  CHECK(client.store_value(kv::Key::copy("a", 1), 0, 4000).is_ok());
  CHECK(ended_with(client.store_value(kv::Key::copy("b", 1), 0, 95), Status::capacity, nvme::sc::capacity_exceeded));
  CHECK(client.store_value(kv::Key::copy("b", 1), 0, 94).is_ok());
  CHECK(client.store_value(kv::Key::copy("b", 1), 0, 10).is_ok());
  CHECK(ended_with(client.store_value(kv::Key::copy("c", 1), 0, 1), Status::capacity, nvme::sc::capacity_exceeded));
  const xio::host::KeyValueInfo info = store.controller.identify_key_values(1);
  CHECK(info.capacity_bytes == 4096);
  CHECK(info.used_bytes == 4012);
  CHECK(info.longest_key == 4);
  CHECK(info.longest_value == longest_value);
  CHECK(info.most_keys == 2);
}

TEST_CASE("kv: buffers of every size, and bytes beyond that stay") {
  Store store;
  Client client(store);
  const kv::Key key = kv::Key::of(5);
  for (const uint32_t stored : {0u, 1u, 4u, 4095u, 4096u, 8193u, longest_value}) {
    for (uint32_t i = 0; i < stored; ++i) store.bytes()[i] = static_cast<unsigned char>(mix(stored, i));
    REQUIRE(client.store_value(key, 0, stored).is_ok());
    for (const uint32_t room : {0u, 1u, 5u, 4096u, 8192u, 8200u, 24000u}) {
      std::memset(store.bytes(65536), 0x55, 65536);
      uint32_t whole = 0;
      REQUIRE(client.retrieve(key, 65536 + 8, room, whole).is_ok());
      CHECK(whole == stored);
      const uint32_t moved = std::min(stored, room);
      CHECK(std::equal(store.bytes(65544), store.bytes(65544 + moved), store.bytes()));
      CHECK(store.bytes(65543)[0] == 0x55);
      CHECK(std::all_of(store.bytes(65544 + moved), store.bytes(131072), [](unsigned char b) { return b == 0x55; }));
    }
  }
}

TEST_CASE("kv: lists, whole and in parts") {
  Store store;
  Client client(store);
  uint32_t* const words = store.data.as<uint32_t>();
  const auto list = [&](const kv::Key& from, uint32_t bytes) {
    std::memset(words, 0x55, 65536);
    REQUIRE(client.queue.wait(client.queue.list(from, store.data.region().at(0, bytes), soon()), soon()).is_ok());
    kv::KeyList keys(words, bytes);
    std::vector<kv::Key> found;
    for (kv::Key key; keys.next(key);) found.push_back(key);
    CHECK(keys.left() == 0);
    return found;
  };
  CHECK(list({}, 4096).empty());
  const std::vector<kv::Key> all = {kv::Key::copy("a", 1), kv::Key::copy("ab", 2), kv::Key::copy("abc", 3),
                                    kv::Key::copy("b", 1), kv::Key::copy("sixteen bytes...", 16)};
  for (size_t i = all.size(); i-- > 0;) REQUIRE(client.store_value(all[i], 0, 10).is_ok());
  CHECK(list({}, 4096) == all);
  CHECK(list(kv::Key::copy("ab", 2), 4096) == std::vector<kv::Key>(all.begin() + 1, all.end()));
  CHECK(list(kv::Key::copy("aa", 2), 4096) == std::vector<kv::Key>(all.begin() + 1, all.end()));
  CHECK(list(kv::Key::copy("z", 1), 4096).empty());
  CHECK(list({}, 4 + 4 + 4) == std::vector<kv::Key>(all.begin(), all.begin() + 2));
  CHECK(list({}, 4).empty());
}

TEST_CASE("kv: 64 waves share a queue, store, retrieve and delete") {
  constexpr uint32_t waves = 64, lanes = 32, bytes = 64;
  Store store(config_of_values(), size_t{waves} * lanes * bytes * 2);
  // Each lane is told twice that its key does not exist: a wave that sleeps meanwhile must not find it expired.
  const NvmeQueue pair = store.queue(256, 2 * waves * lanes);
  const xio::Region data = store.data.region();
  const uint64_t half = uint64_t{waves} * lanes * bytes;
  xio::simt::launch(Grid{waves, lanes, lanes}, [&] {
    kv::Queue<Sharing::grid, Policy<Notify>> queue(pair.handle());
    const uint32_t me = xio::arch::block_index() * lanes + xio::arch::thread_index();
    const uint32_t mine = 1 + me % bytes;
    unsigned char* const from = store.bytes(uint64_t{me} * bytes);
    for (uint32_t i = 0; i < mine; ++i) from[i] = static_cast<unsigned char>(mix(me, i));
    const kv::Key key = key_of(me);
    EXPECT(queue.wait(queue.exist(key, soon()), soon()) == Status::unwritten);
    EXPECT_OK(queue.wait(queue.store(key, data.at(uint64_t{me} * bytes, mine), soon()), soon()));
    xio::KeptResult kept{};
    const Token token =
        queue.retrieve(key, data.at(half + uint64_t{me} * bytes, bytes), soon(), xio::Options<>().keep(kept));
    EXPECT_OK(queue.wait(token, soon()));
    EXPECT(static_cast<uint32_t>(kept.result) == mine);
    EXPECT(std::memcmp(store.bytes(half + uint64_t{me} * bytes), from, mine) == 0);
    EXPECT_OK(queue.wait(queue.remove(key, soon()), soon()));
    EXPECT(queue.wait(queue.exist(key, soon()), soon()) == Status::unwritten);
  });
  CHECK(store.controller.identify_key_values(1).used_bytes == 0);
}

TEST_CASE("kv: batches and transfers") {
  Store store;
  const NvmeQueue pair = store.queue(32);
  constexpr uint32_t count = 100;
  std::vector<kv::Piece> pieces, back;
  for (uint32_t i = 0; i < count; ++i) {
    pieces.push_back({key_of(i), store.data.bus() + i * 100, 100});
    back.push_back({key_of(i), store.data.bus() + 65536 + i * 100, 100});
  }
  for (uint32_t i = 0; i < count * 100; ++i) store.bytes()[i] = static_cast<unsigned char>(mix(3, i));
  xio::simt::launch(Grid{1, 32, 32}, [&] {
    kv::Queue<Sharing::wave, Policy<Notify>> queue(pair.handle());
    const Token batch = queue.submit_batch(KvOpcode::store, pieces.data(), 20, soon());
    EXPECT_OK(queue.wait_batch(batch, soon()));
  });
  Notification stored{}, fetched{}, removed{}, asked{};
  xio::simt::launch(Grid{1, 32, 32}, [&] {
    kv::Queue<Sharing::wave, Policy<Notify>> queue(pair.handle());
    EXPECT_OK(queue.transfer(KvOpcode::store, pieces.data(), count, soon(), stored));
    EXPECT_OK(queue.transfer(KvOpcode::retrieve, back.data(), count, soon(), fetched));
    EXPECT_OK(queue.transfer(KvOpcode::remove, pieces.data(), count, soon(), removed));
    EXPECT(queue.transfer(KvOpcode::exist, pieces.data(), 1, soon(), asked) == Status::unwritten);
  });
  CHECK(fetched.done == count);
  CHECK(std::equal(store.bytes(), store.bytes(count * 100), store.bytes(65536)));
}

TEST_CASE("kv: the host tells namespaces with keys from those with blocks") {
  Store store;
  CHECK(store.controller.command_set(1) == nvme::CommandSet::key_value);
  CHECK(store.controller.command_set(2) == nvme::CommandSet::nvm);
  CHECK_THROWS_AS(store.controller.identify_namespace(1), xio::host::AdminError);
  CHECK(store.controller.active_namespaces() == std::vector<uint32_t>{1, 2});
  const NvmeQueue keys = store.queue();
  CHECK(keys.handle().command_set == static_cast<uint32_t>(nvme::CommandSet::key_value));
  QueueOptions second;
  second.nsid = 2;
  const NvmeQueue blocks = store.controller.create_queue(second);
  CHECK(blocks.handle().command_set == static_cast<uint32_t>(nvme::CommandSet::nvm));
  CHECK(store.controller.alive());
  store.controller.recover();
  CHECK(keys.handle().command_set == static_cast<uint32_t>(nvme::CommandSet::key_value));

  // A queue object of blocks posts nothing that could move some.
  Queue<Sharing::thread> wrong(keys.handle());
  const xio::Region data = store.data.region();
  CHECK(wrong.read(0, data.at(0, 512), soon()).status == Status::invalid_argument);
  CHECK(wrong.write(0, data.at(0, 4096), soon()).status == Status::out_of_range);
  const nvme::Piece piece{0, store.data.bus(), 1};
  CHECK(wrong.submit_batch(nvme::Opcode::write, &piece, 1, soon()).status == Status::invalid_argument);

  xio::host::NvmeController plain(std::make_unique<xio::emulation::NvmeController>(config_of_values()));
  CHECK_THROWS_WITH(plain.create_queue(), Contains("all_command_sets"));
  CHECK_THROWS_AS(plain.identify_key_values(1), xio::host::AdminError);
}
