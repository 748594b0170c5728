// SPDX-License-Identifier: MIT
/// @file
/// @brief Operation costs, counted during execution.

#include "vendors/measurements.hpp"
#include "vendors/rig.hpp"

#include <xio/host/simt/simt.hpp>

#if !XIO_COUNT_OPERATIONS
#error "this source counts operations"
#endif

namespace vendors {

double pcie_bytes(const CountedPosts& posts, double entry_stores, double narrow_stores, uint32_t completion_bytes) {
  const double wide = entry_stores - narrow_stores;
  return (16 * wide + 8 * narrow_stores + 4 * posts.stores4 + posts.doorbells * posts.doorbell_bytes +
          posts.completions * completion_bytes + posts.acknowledged_bytes) /
         posts.operations;
}

namespace {

using xio::Sharing;
using xio::arch::OperationCounts;

constexpr uint32_t rounds = 1024;  // some laps of each completion queue
constexpr xio::Duration patience{10000000000};

/// Sums of the operations of the calling thread, including its waves, in one phase over all rounds.
struct Phase {
  OperationCounts sum;

  template <class Body>
  void run(Body body) {
    const OperationCounts before = xio::arch::operation_counts;
    body();
    sum += xio::arch::operation_counts - before;
  }
};

/// Averages per round. `lanes` lanes store their entries and release together, and one instruction of the wave counts
/// once per lane: these counts are divided by `lanes`. Instructions of the first lane alone are not.
CountedPosts averages(const OperationCounts& post, const OperationCounts& take, uint64_t completions, uint32_t lanes,
                      uint32_t completion_bytes) {
  const auto per_round = [](uint64_t sum) { return static_cast<double>(sum) / rounds; };
  CountedPosts counted;
  counted.operations = lanes;
  counted.stores16 = per_round(post.wide_entry_stores) / lanes;
  counted.stores8 = per_round(post.narrow_entry_stores) / lanes;
  counted.stores4 = per_round(post.word_stores);
  counted.releases = per_round(post.releases) / lanes;
  counted.store_waits = per_round(post.store_waits);
  counted.atomics = per_round(post.atomics + take.atomics);
  counted.doorbells = per_round(post.mmio_stores);
  counted.doorbell_bytes =
      post.mmio_stores == 0 ? 0 : static_cast<double>(post.mmio_bytes) / static_cast<double>(post.mmio_stores);
  counted.completions = per_round(completions);
  counted.acknowledgements = per_round(take.mmio_stores + take.word_stores);
  counted.acknowledged_bytes = per_round(take.mmio_bytes + take.word_stores * sizeof(uint32_t));
  counted.bytes_per_operation =
      pcie_bytes(counted, per_round(post.entry_stores()), per_round(post.narrow_entry_stores), completion_bytes);
  return counted;
}

template <class Rig>
CountedPosts count_single() {
  Rig rig;
  typename Rig::template Queue<Sharing::thread, xio::Policy<>> queue(rig.handle());
  const auto data = rig.data();
  Phase post, take;
  for (uint32_t i = 0; i < rounds; ++i) {
    xio::Token token;
    post.run([&] { token = Rig::post(queue, data, queue.deadline(patience)); });
    rig.execute();
    take.run([&] { require_ok(Rig::name, queue.wait(token, queue.deadline(patience))); });
  }
  rig.require_peace();
  return averages(post.sum, take.sum, rig.completions(), 1, Rig::completion_bytes);
}

template <class Rig>
using WaveQueue = typename Rig::template Queue<Sharing::wave, xio::Policy<>>;

template <class Rig, class Handle>
void post_lane(const Handle& handle, const typename Rig::Data& data, xio::Token* tokens) {
  WaveQueue<Rig> queue(handle);
  tokens[xio::arch::lane()] = Rig::post(queue, data, queue.deadline(patience));
}
template <class Rig, class Handle>
void wait_lane(const Handle& handle, const xio::Token* tokens) {
  WaveQueue<Rig> queue(handle);
  require_ok(Rig::name, queue.wait(tokens[xio::arch::lane()], queue.deadline(patience)));
}

template <class Rig>
CountedPosts count_batch() {
  Rig rig;
  const auto handle = rig.handle();
  const auto grid = xio::simt::Grid::of_waves(1, 1, batch_size);
  xio::Token tokens[batch_size];
  Phase post, take;
  for (uint32_t i = 0; i < rounds; ++i) {
    post.run([&] { xio::simt::launch(grid, post_lane<Rig, decltype(rig.handle())>, handle, rig.data(), tokens); });
    rig.execute();
    take.run([&] { xio::simt::launch(grid, wait_lane<Rig, decltype(rig.handle())>, handle, tokens); });
  }
  rig.require_peace();
  return averages(post.sum, take.sum, rig.completions(), batch_size, Rig::completion_bytes);
}

struct CountKind {
  std::vector<Counted>& all;

  template <class Rig>
  void run() {
    Counted counted;
    counted.name = Rig::name;
    counted.is_rdma = Rig::is_rdma;
    counted.slot_bytes = Rig().slot_bytes();
    counted.completion_bytes = Rig::completion_bytes;
    counted.single = count_single<Rig>();
    counted.batch = count_batch<Rig>();
    counted.entry_bytes = Rig::entry_bytes(counted.single.stores16, counted.single.stores8);
    all.push_back(counted);
  }
};

}  // namespace

std::vector<Counted> count_all() {
  std::vector<Counted> all;
  for_each_kind(CountKind{all});
  return all;
}

}  // namespace vendors
