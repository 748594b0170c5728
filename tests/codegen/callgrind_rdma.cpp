// SPDX-License-Identifier: MIT
// Posts and polls of RDMA queue pairs on plain memory, for callgrind_budget.sh to count: each call in a function that
// knows nothing of its callers, neither lengths nor bounds. An emulated NIC plays its part between the calls.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/host/emulation/rdma/nic.hpp>

#include "each_vendor.hpp"

using namespace xio;

namespace {

template <class Kit, class Policy>
using Pair = rdma::QueuePair<typename Kit::Vendor, Sharing::thread, Policy>;

// One write of one piece of memory. A caller keeps its queue object, and the memory handles where bounds are checked.
template <class Kit>
[[gnu::noipa]] Token post_unchecked(Pair<Kit, Unchecked>& queue, uint64_t to, uint64_t from, uint32_t bytes,
                                    uint32_t key) {
  return queue.put({to, bytes, key}, {from, bytes, key}, xio::Now{});
}
template <class Kit>
[[gnu::noipa]] Token post_checked(Pair<Kit, xio::Policy<>>& queue, const rdma::RemoteMemory& to, const Region& from,
                                  uint64_t offset, uint32_t bytes) {
  return queue.put(to.at(offset, bytes), from.at(offset, bytes), xio::Now{});
}
template <class Kit>
[[gnu::noipa]] uint32_t poll_one(Pair<Kit, Unchecked>& queue) {
  return queue.drain();
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::exit(1);
}

template <class Kit>
int run(const char* function, uint64_t calls) {
  alignas(64) static unsigned char data[2][4096];
  emulation::RdmaFabric fabric;
  const emulation::RdmaQueueConfig config = Kit::shortest(Kit::config());
  emulation::RdmaQueuePair<Kit> pair(fabric, config);
  pair.model().connect(config.qpn);  // to itself
  const uint32_t key = fabric.keys().add(data, sizeof data);
  const Region from{reinterpret_cast<uint64_t>(data[0]), sizeof data[0], key};
  const rdma::RemoteMemory to{reinterpret_cast<uint64_t>(data[1]), sizeof data[1], key};
  Pair<Kit, Unchecked> unchecked(pair.handle());
  Pair<Kit, xio::Policy<>> checked(pair.handle());
  for (uint64_t i = 0; i < calls; ++i) {
    const uint64_t offset = i % 64 * 64;
    Token token;
    if (std::strcmp(function, "post_checked") == 0) {
      token = post_checked<Kit>(checked, to, from, offset, 64);
    } else {
      token = post_unchecked<Kit>(unchecked, to.base + offset, from.base + offset, 64, key);
    }
    require(token.count == 1 && token.last == i, "token");
    data[0][offset] = static_cast<unsigned char>(i);
    pair.model().pass();
    require(data[1][offset] == static_cast<unsigned char>(i), "data");
    require(poll_one<Kit>(unchecked) == 1, "poll");
    require(pair.state().retired == i + 1, "progress");
  }
  require(pair.model().statistics().violations.empty(), "an entry");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s FUNCTION CALLS VENDOR\n", argv[0]);
    return 2;
  }
  const auto calls = std::strtoull(argv[2], nullptr, 10);
  const char* const vendor = argv[3];
#define RUN(name, Vendor) \
  if (std::strcmp(vendor, #name) == 0) return run<emulation::KitOf<Vendor>::type>(argv[1], calls);
  XIO_EACH_VENDOR(RUN)
  std::fprintf(stderr, "no vendor %s\n", vendor);
  return 2;
}
