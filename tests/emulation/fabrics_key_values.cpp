// SPDX-License-Identifier: MIT

/// @file
/// @brief Values under keys over RDMA: each call, each status, batches, waves that share a queue, and a target that
/// goes.

#include <algorithm>
#include <iterator>
#include <numeric>

#include <xio/device/nvme/kv_queue.hpp>

#include "emulation/fabric_target.hpp"

using namespace fabric_tests;
namespace nvme = xio::nvme;
namespace kv = xio::nvme::kv;
using nvme::KvOpcode;

namespace {

constexpr uint32_t longest_value = 20000;

xio::emulation::NvmeNamespaceConfig config_of_keys() {
  xio::emulation::NvmeNamespaceConfig config;
  config.key_values = true;
  config.longest_value = longest_value;
  return config;
}

template <class Kit>
struct KeyFabric : FabricQueue<Kit, KeyCommands> {
  template <Sharing S, class... Tags>
  using Keys = kv::Queue<S, Policy<Tags..., xio::RingBy<nvme::OverRdma<typename Kit::Vendor>>>>;

  explicit KeyFabric(size_t data_bytes, const xio::emulation::NvmeNamespaceConfig& config = config_of_keys())
      : FabricQueue<Kit, KeyCommands>(config, data_bytes) {}
  unsigned char* bytes(uint64_t offset = 0) { return static_cast<unsigned char*>(this->at(offset)); }
};

/// One thread's calls, each waited for.
template <class Kit>
struct KeyClient {
  explicit KeyClient(KeyFabric<Kit>& keys) : fabric(keys), queue(keys.handle) {}
  Status store(const kv::Key& key, uint64_t offset, uint32_t bytes, uint32_t options = 0) {
    const auto command = kv::store(key, bytes, options);
    return queue.wait(queue.submit(command, fabric.data.at(offset, bytes), soon()), soon());
  }
  Status retrieve(const kv::Key& key, uint64_t offset, uint32_t bytes, uint32_t& whole) {
    return queue.wait(queue.retrieve(key, fabric.data.at(offset, bytes), soon()), soon(), whole);
  }
  Status remove(const kv::Key& key) { return queue.wait(queue.remove(key, soon()), soon()); }
  Status exist(const kv::Key& key) { return queue.wait(queue.exist(key, soon()), soon()); }

  KeyFabric<Kit>& fabric;
  typename KeyFabric<Kit>::template Keys<Sharing::thread> queue;
};

bool told(Status status, Status::Code code, uint32_t device) {
  return status == code && code_of(status) == device && !nvme::retryable(status);
}
kv::Key numbered(uint32_t number) { return kv::Key::of(mix(number, 1), number); }

}  // namespace

TEMPLATE_LIST_TEST_CASE("fabric: values under keys -> every status, with what it leaves", "", Some) {
  xio::emulation::NvmeNamespaceConfig config = config_of_keys();
  config.longest_key = 8;
  config.most_keys = 2;
  KeyFabric<TestType> fabric(131072, config);
  KeyClient<TestType> client(fabric);
  const kv::Key key = kv::Key::copy("one", 3);
  std::iota(fabric.bytes(), fabric.bytes(65536), uint8_t{1});
  uint32_t whole = 7;
  CHECK(told(client.exist(key), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(told(client.retrieve(key, 0, 64, whole), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(whole == 0);
  CHECK(told(client.remove(key), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(told(client.store(key, 0, 8, kv::option::must_exist), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(client.store(key, 0, 100, kv::option::must_not_exist).is_ok());
  CHECK(told(client.store(key, 0, 200, kv::option::must_not_exist), Status::conflict, nvme::sc::key_exists));
  CHECK(told(client.store(key, 0, longest_value + 1), Status::invalid_command, nvme::sc::invalid_value_size));
  CHECK(told(client.exist(kv::Key::copy("nine-long", 9)), Status::invalid_command, nvme::sc::invalid_key_size));
  CHECK(client.retrieve(key, 65536, 4096, whole).is_ok());
  CHECK(whole == 100);
  CHECK(client.store(key, 4, longest_value, kv::option::must_exist).is_ok());
  std::memset(fabric.bytes(65536), 0x55, 65536);
  CHECK(client.retrieve(key, 65536, 300, whole).is_ok());
  CHECK(whole == longest_value);
  CHECK(std::equal(fabric.bytes(65536), fabric.bytes(65836), fabric.bytes(4)));
  CHECK(*fabric.bytes(65836) == 0x55);
  CHECK(client.retrieve(key, 65536, 0, whole).is_ok());
  CHECK(whole == longest_value);
  CHECK(client.retrieve(key, 65536, 24000, whole).is_ok());
  CHECK(std::equal(fabric.bytes(65536), fabric.bytes(65536 + longest_value), fabric.bytes(4)));
  CHECK(client.store(kv::Key::copy("empty", 5), 0, 0).is_ok());
  CHECK(told(client.store(kv::Key::copy("third", 5), 0, 1), Status::capacity, nvme::sc::capacity_exceeded));
  fabric.target.lost_key = "one";
  CHECK(told(client.retrieve(key, 65536, 300, whole), Status::read_error, nvme::sc::unrecovered_error));
  CHECK(client.queue.wait(client.queue.list({}, fabric.data.at(0, 64), soon()), soon()).is_ok());
  kv::KeyList names(static_cast<uint32_t*>(fabric.at(0)), 64);
  std::vector<kv::Key> found;
  for (kv::Key one; names.next(one);) found.push_back(one);
  CHECK(found == std::vector<kv::Key>{kv::Key::copy("empty", 5), key});
  CHECK(client.remove(key).is_ok());
  CHECK(told(client.exist(key), Status::unwritten, nvme::sc::key_does_not_exist));
  CHECK(client.queue.errors().count == 0);
  CHECK(fabric.target.malformed == 0);
}

TEMPLATE_LIST_TEST_CASE("fabric: waves share a queue, store, retrieve and delete values -> each its own", "", Some) {
  constexpr uint32_t waves = 4, lanes = 8, most = 128;
  constexpr uint64_t half = uint64_t{waves} * lanes * most;
  KeyFabric<TestType> fabric(2 * half);
  const auto run = [&] {
    typename KeyFabric<TestType>::template Keys<Sharing::grid, Notify> queue(fabric.handle);
    const uint32_t me = xio::arch::block_index() * lanes + xio::arch::thread_index();
    const uint32_t mine = 1 + me * 5 % most;
    unsigned char* const from = fabric.bytes(uint64_t{me} * most);
    for (uint32_t i = 0; i < mine; ++i) from[i] = static_cast<unsigned char>(mix(me, i));
    const kv::Key key = numbered(me);
    EXPECT(queue.wait(queue.exist(key, soon()), soon()) == Status::unwritten);
    EXPECT_OK(queue.wait(queue.store(key, fabric.data.at(uint64_t{me} * most, mine), soon()), soon()));
    EXPECT_OK(queue.wait(queue.exist(key, soon()), soon()));
    xio::KeptResult kept{};
    const auto to = fabric.data.at(half + uint64_t{me} * most, most);
    EXPECT_OK(queue.wait(queue.retrieve(key, to, soon(), xio::Options<>().keep(kept)), soon()));
    EXPECT(static_cast<uint32_t>(kept.result) == mine);
    EXPECT(std::memcmp(fabric.bytes(half + uint64_t{me} * most), from, mine) == 0);
    EXPECT_OK(queue.wait(queue.remove(key, soon()), soon()));
    EXPECT(queue.wait(queue.exist(key, soon()), soon()) == Status::unwritten);
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, lanes), run));
  fabric.rig.nic.stop();
  CHECK(fabric.target.malformed == 0);
  CHECK(fabric.rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("fabric: batches and transfers of values, with and without data -> each piece ends", "", Some) {
  constexpr uint32_t count = 50, each = 100;
  KeyFabric<TestType> fabric(2 * count * each);
  std::vector<kv::Piece> pieces, back;
  for (uint32_t i = 0; i < count; ++i) {
    pieces.push_back({numbered(i), fabric.data.base + i * each, each});
    back.push_back({numbered(i), fabric.data.base + (count + i) * each, each});
  }
  for (uint32_t i = 0; i < count * each; ++i) fabric.bytes()[i] = static_cast<unsigned char>(mix(3, i));
  Notification stored{}, fetched{}, asked{}, removed{};
  std::vector<Status> ends(6, Status::pending);
  const auto run = [&] {
    typename KeyFabric<TestType>::template Keys<Sharing::wave, Notify> queue(fabric.handle);
    const Status ended[] = {queue.wait_batch(queue.submit_batch(KvOpcode::store, pieces.data(), 20, soon()), soon()),
                            queue.wait_batch(queue.submit_batch(KvOpcode::exist, pieces.data(), 20, soon()), soon()),
                            queue.transfer(KvOpcode::store, pieces.data(), count, soon(), stored),
                            queue.transfer(KvOpcode::retrieve, back.data(), count, soon(), fetched),
                            queue.transfer(KvOpcode::remove, pieces.data(), count, soon(), removed),
                            queue.transfer(KvOpcode::exist, pieces.data(), 1, soon(), asked)};
    if (xio::arch::lane() == 0) std::copy(std::begin(ended), std::end(ended), ends.begin());
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 32), run));
  for (size_t i = 0; i + 1 < ends.size(); ++i) CHECK(ends[i].is_ok());
  CHECK(ends.back() == Status::unwritten);
  CHECK(fetched.done == count);
  CHECK(std::equal(fabric.bytes(), fabric.bytes(count * each), fabric.bytes(count * each)));
  CHECK(fabric.target.keys.values().empty());
  CHECK(fabric.target.malformed == 0);
}

TEMPLATE_LIST_TEST_CASE("fabric: the target of values goes -> every wait ends, and what was stored is there", "",
                        Some) {
  KeyFabric<TestType> fabric(4096);
  KeyClient<TestType> client(fabric);
  CHECK(client.store(numbered(1), 0, 64).is_ok());
  fabric.target.die();
  const Token lost = client.queue.store(numbered(2), fabric.data.at(0, 64), soon());
  uint32_t whole = 7;
  CHECK(client.queue.wait(lost, xio::deadline(2_ms), whole) == Status::timed_out);
  CHECK(whole == 0);
  const Token asked = client.queue.exist(numbered(1), soon());
  CHECK(client.queue.wait(asked, xio::deadline(2_ms)) == Status::timed_out);
  CHECK(fabric.target.keys.values().size() == 1);
  fabric.rig.near.model().fail();
  const Status status = client.queue.wait(lost, xio::deadline(100_ms));
  CHECK((status == Status::broken || status == Status::timed_out));
}
