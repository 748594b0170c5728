// SPDX-License-Identifier: MIT

/// @file
/// @brief The doorbell proxy forwards every change once, in order, and nothing else.

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <xio/host/memory/doorbell_proxy.hpp>
#include <xio/host/wait.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;

namespace {

constexpr size_t word_count = 130;  // more than two groups of 64, the last one partly used

/// Collects what a proxy forwards.
class Collector {
 public:
  void take(const DoorbellChange* changes, size_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < count; ++i) seen_[changes[i].index].push_back(changes[i].value);
    ++messages_;
  }
  DoorbellProxy::Forward forward() {
    return [this](const DoorbellChange* changes, size_t count) { take(changes, count); };
  }
  std::vector<uint32_t> values(uint32_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return seen_[index];
  }
  size_t messages() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return messages_;
  }
  bool wait_for(uint32_t index, uint32_t value) {
    return host_tests::eventually([&] {
      const std::vector<uint32_t> all = values(index);
      return !all.empty() && all.back() == value;
    });
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::vector<uint32_t>> seen_;
  size_t messages_ = 0;
};

void store(uint32_t& word, uint32_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

}  // namespace

TEST_CASE("only changes of watched words are forwarded", "[host][proxy]") {
  std::vector<uint32_t> words(word_count, 7);
  Collector collector;
  DoorbellProxy proxy(words.data(), words.size(), collector.forward());

  store(words[2], 5);  // not watched
  for (const uint32_t index : {0u, 63u, 64u, 129u}) {
    proxy.watch(index);
    CHECK(__atomic_load_n(&words[index], __ATOMIC_ACQUIRE) == 0);
    store(words[index], index + 1);
    REQUIRE(collector.wait_for(index, index + 1));
  }
  // Zero is where a watched word begins, so it is no change.
  for (const uint32_t index : {0u, 63u, 64u, 129u}) CHECK(collector.values(index) == std::vector<uint32_t>{index + 1});
  CHECK(collector.values(2).empty());
  proxy.stop();
  CHECK(proxy.statistics().words == 4);
  CHECK(proxy.statistics().messages == collector.messages());
  CHECK(proxy.statistics().looks > 0);
  CHECK_FALSE(proxy.failed());
  CHECK(proxy.error().empty());
}

TEST_CASE("a word that is watched again starts at zero", "[host][proxy][H34]") {
  std::vector<uint32_t> words(word_count);
  Collector collector;
  DoorbellProxy proxy(words.data(), words.size(), collector.forward());
  for (int round = 0; round < 50; ++round) {
    proxy.watch(4);
    REQUIRE(__atomic_load_n(&words[4], __ATOMIC_ACQUIRE) == 0);
    // The first doorbell of every life of the queue has the same value: it must not be taken for the old one.
    store(words[4], 1);
    REQUIRE(host_tests::eventually([&] { return collector.values(4).size() == static_cast<size_t>(round) + 1; }));
    if (round % 2 == 0) proxy.unwatch(4);  // watching twice is allowed too
  }
}

TEST_CASE("nothing is forwarded once a word is not watched any more", "[host][proxy]") {
  std::vector<uint32_t> words(word_count);
  Collector collector;
  DoorbellProxy proxy(words.data(), words.size(), collector.forward());
  for (uint32_t round = 1; round < 200; ++round) {
    proxy.watch(5);
    store(words[5], round);
    proxy.unwatch(5);
    const size_t before = collector.values(5).size();
    store(words[5], round + 1000);
    proxy.watch(6);
    store(words[6], round);
    REQUIRE(collector.wait_for(6, round));
    proxy.unwatch(6);
    REQUIRE(collector.values(5).size() == before);
  }
}

TEST_CASE("ending the watch waits for the look that is under way", "[host][proxy]") {
  std::vector<uint32_t> words(word_count);
  std::atomic<bool> forwarding{false};
  std::atomic<bool> go_on{false};
  std::atomic<bool> unwatched{false};
  DoorbellProxy proxy(words.data(), words.size(), [&](const DoorbellChange*, size_t) {
    forwarding.store(true);
    while (!go_on.load()) std::this_thread::yield();
  });
  proxy.watch(5);
  store(words[5], 1);
  REQUIRE(host_tests::eventually([&] { return forwarding.load(); }));
  std::thread closer([&] {
    proxy.unwatch(5);
    unwatched.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(unwatched.load());
  go_on.store(true);
  closer.join();
  CHECK(unwatched.load());
}

TEST_CASE("the same value rung again is forwarded again", "[host][proxy]") {
  std::vector<uint32_t> words(word_count);
  std::atomic<uint32_t> calls{0};
  DoorbellProxy proxy(words.data(), words.size(), [&](const DoorbellChange* changes, size_t count) {
    for (size_t i = 0; i < count; ++i) calls.fetch_add(changes[i].value == 7);
  });
  proxy.watch(5);
  for (uint32_t round = 1; round <= 3; ++round) {
    store(words[5], 7);
    REQUIRE(host_tests::eventually([&] { return calls.load() == round; }));
  }
}

TEST_CASE("values of many writers arrive in order, and the last one always does", "[host][proxy]") {
  std::vector<uint32_t> words(word_count);
  Collector collector;
  DoorbellProxy proxy(words.data(), words.size(), collector.forward());
  constexpr uint32_t writers = 4;
  constexpr uint32_t last = 20000;
  for (uint32_t i = 0; i < writers; ++i) proxy.watch(i * 40);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < writers; ++i)
    threads.emplace_back([&words, i] {
      for (uint32_t value = 1; value <= last; ++value) store(words[i * 40], value);
    });
  for (std::thread& thread : threads) thread.join();
  for (uint32_t i = 0; i < writers; ++i) {
    REQUIRE(collector.wait_for(i * 40, last));
    const std::vector<uint32_t> values = collector.values(i * 40);
    for (size_t k = 1; k < values.size(); ++k) REQUIRE(values[k - 1] < values[k]);
  }
}

TEST_CASE("stopping forwards what was stored before", "[host][proxy]") {
  for (int round = 0; round < 20; ++round) {
    std::vector<uint32_t> words(word_count);
    Collector collector;
    DoorbellProxy proxy(words.data(), words.size(), collector.forward());
    proxy.watch(1);
    store(words[1], 9);
    proxy.stop();
    REQUIRE(collector.values(1) == std::vector<uint32_t>{9});
    proxy.unwatch(1);  // must not wait for a thread that has ended
    proxy.stop();
  }
}

TEST_CASE("changes of one look go out in one call", "[host][proxy]") {
  std::vector<uint32_t> words(word_count);
  std::atomic<bool> first_call{false};
  std::atomic<bool> go_on{false};
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> calls;
  DoorbellProxy proxy(words.data(), words.size(), [&](const DoorbellChange* changes, size_t count) {
    calls.emplace_back();
    for (size_t i = 0; i < count; ++i) calls.back().emplace_back(changes[i].index, changes[i].value);
    first_call.store(true);
    while (!go_on.load()) std::this_thread::yield();
  });
  for (const uint32_t index : {2u, 3u, 100u}) proxy.watch(index);
  store(words[2], 1);
  while (!first_call.load()) std::this_thread::yield();
  // While the proxy is busy, doorbells pile up, and only the newest values count.
  store(words[2], 2);
  store(words[3], 1);
  store(words[2], 3);
  store(words[100], 4);
  go_on.store(true);
  proxy.stop();
  using Call = std::vector<std::pair<uint32_t, uint32_t>>;
  REQUIRE(calls.size() == 2);
  CHECK(calls[0] == Call{{2, 1}});
  CHECK(calls[1] == Call{{2, 3}, {3, 1}, {100, 4}});
}

TEST_CASE("an error of the callback is kept, and ends the forwarding", "[host][proxy]") {
  std::vector<uint32_t> words(word_count);
  DoorbellProxy proxy(words.data(), words.size(),
                      [](const DoorbellChange*, size_t) { throw Error("the device is gone"); });
  proxy.watch(1);
  store(words[1], 1);
  REQUIRE(host_tests::eventually([&] { return proxy.failed(); }));
  CHECK(proxy.error() == "the device is gone");
  proxy.unwatch(1);  // returns although nobody looks any more
  proxy.watch(1);
  CHECK(proxy.statistics().words == 0);
}

TEST_CASE("a word outside of the page is refused", "[host][proxy]") {
  std::vector<uint32_t> words(8);
  Collector collector;
  DoorbellProxy proxy(words.data(), words.size(), collector.forward());
  CHECK_THROWS_AS(proxy.watch(8), Error);
  CHECK_THROWS_AS(proxy.unwatch(8), Error);
}
