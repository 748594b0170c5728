// SPDX-License-Identifier: MIT

/// @file
/// @brief NVMe kernels against targets over RDMA: emulated NICs and targets, which the machine steps.

#include <algorithm>
#include <memory>

#include <xio/host/emulation/rdma/kits.hpp>

#include <scenarios/fabric_target.hpp>
#include <scenarios/nvme_job.hpp>

namespace scenarios {
namespace {

/// Failures of the log, as set-up code gives.
constexpr uint32_t log_entries = 64;

/// Sizes of a queue: the smallest rings that it may have, unless no thread is to wait for room.
FabricSizes sizes_of(const Case& one, uint64_t blocks) {
  uint32_t entries = 8;
  while (entries <= one.depth) entries *= 2;
  return {one.depth, entries, 2 * entries, log_entries, blocks, 128};
}

template <class Kit>
xio::emulation::RdmaQueueConfig numbered(uint32_t entries, uint32_t qpn) {
  xio::emulation::RdmaQueueConfig config = roomy<Kit>(entries);
  config.qpn = qpn;
  if (config.handle != 0) config.handle = qpn + 0x1000;
  return config;
}

/// A queue with its target.
template <class Kit>
class Connection {
 public:
  Connection(Arena& arena, const Gpu& gpu, const Case& one, uint64_t seed, xio::emulation::RdmaFabric& fabric,
             uint32_t number, const FabricSizes& sizes, uint32_t data_key)
      : near(fabric, numbered<Kit>(sizes.entries, 2 * number + 0x101),
             arena.source(ring_kind(gpu, one, seed), "queue pair", told_memory(one))),
        far(fabric, numbered<Kit>(64, 2 * number + 0x102)),
        target(fabric, far, registered(fabric, far_memory_.data(), far_memory_.size()), sizes.blocks),
        link(arena.make<xio::nvme::FabricLink>(1, MemoryKind::local, "link")) {
    near.model().connect(far.config().qpn);
    far.model().connect(near.config().qpn);
    nic_.add(near.model());
    nic_.add(far.model());
    const size_t states = 1 + xio::link_bytes(sizes.entries) / sizeof(xio::QueueState);
    handle.state = arena.make<xio::QueueState>(states, MemoryKind::local, "queue state");
    handle.slots = arena.make<xio::nvme::CompletionSlot>(sizes.slots, MemoryKind::local, "completion table");
    handle.notifications = arena.make<xio::Notification*>(sizes.slots, MemoryKind::local, "notifications of slots");
    void* const failures = arena.allocate(xio::nvme::failure_log_bytes(log_entries), 64, MemoryKind::local, "log");
    handle.failures = static_cast<xio::nvme::FailureLog*>(failures);
    const size_t bytes = FabricSizes::ring_bytes(sizes.entries);
    void* const rings = arena.allocate(bytes, 4096, ring_kind(gpu, one, seed), "capsules and responses");
    join(handle, *link, near, sizes, registered(fabric, rings, bytes), data_key);
  }

  void map(machine::AddressSpace& space) {
    space.add(near.memory().sq_doorbell, 4096, MemoryKind::registers, "doorbells");
    space.add(&near.state(), near.state_bytes(), MemoryKind::local, "state of the queue pair");
  }

  /// Ends the connection, once the target has taken `capsules`. A peer that is there no more is found by a SEND, if one
  /// follows; the host, which asks, finds it later.
  void lose_after(uint64_t capsules, bool finds_peer) {
    loses_after_ = capsules;
    finds_peer_ = finds_peer;
  }

  bool step() {
    const bool worked = nic_.pass();
    if (target.capsules < loses_after_) return target.step() || worked;
    if (lost_++ == 0 && finds_peer_) far.model().fail();
    if (lost_ == (finds_peer_ ? 200 : 1)) near.model().fail();
    return worked;
  }
  bool lost() const { return lost_ != 0; }

 private:
  static xio::Region registered(xio::emulation::RdmaFabric& fabric, void* memory, size_t bytes) {
    return {reinterpret_cast<uint64_t>(memory), bytes, fabric.keys().add(memory, bytes)};
  }

  std::vector<unsigned char> far_memory_ = std::vector<unsigned char>(FabricTarget<Kit>::bytes);
  xio::emulation::RdmaNic nic_;
  uint64_t loses_after_ = ~uint64_t{0};
  uint64_t lost_ = 0;
  bool finds_peer_ = false;

 public:
  xio::emulation::RdmaQueuePair<Kit> near;
  xio::emulation::RdmaQueuePair<Kit> far;
  FabricTarget<Kit> target;
  xio::nvme::FabricLink* link;
  xio::nvme::QueueHandle handle{};
};

/// Error in what a connection has seen; empty if there is none.
template <class Kit>
std::string complaint_of(Connection<Kit>& one) {
  for (xio::emulation::RdmaQueuePair<Kit>* pair : {&one.near, &one.far})
    for (const std::string& text : pair->model().statistics().violations) return "against the device's rules: " + text;
  const FabricTarget<Kit>& target = one.target;
  if (target.malformed != 0) return std::to_string(target.malformed) + " malformed capsules";
  if (target.most_unanswered > one.handle.depth) return "more capsules than may be in flight";
  const xio::Status cause = cause_of(*one.link);
  if (one.lost()) {
    // A queue that has failed knows why, if anybody used it afterwards.
    if (one.handle.state->broken != 0 && cause != xio::Status::flushed && cause != xio::Status::retry_exceeded)
      return std::string("a cause of ") + xio::name(cause.code);
    return {};
  }
  if (!target.failure().is_ok()) return std::string("a message of the target: ") + xio::name(target.failure().code);
  if (!cause.is_ok()) return std::string("a message failed: ") + xio::name(cause.code);
  if (target.unanswered() != 0) return std::to_string(target.unanswered()) + " capsules left";
  if (one.near.model().statistics().operations != target.capsules) return "messages that did not arrive";
  return {};
}

template <class Kit>
Outcome run_fabric(Gpu& gpu, const Case& one, uint64_t seed) {
  const Shape shape(gpu, one);
  Arena arena;
  gpu.memory.clear();
  xio::emulation::RdmaFabric fabric;
  const size_t bytes = data_bytes(one, shape.lanes);
  auto* const data = static_cast<uint64_t*>(arena.allocate(bytes, 4096, data_kind(gpu, one, seed), "data"));
  const uint32_t key = fabric.keys().add(data, bytes);
  const FabricSizes sizes = sizes_of(one, uint64_t{shape.lanes} * std::max({one.rounds, one.count, 4u}));
  std::vector<std::unique_ptr<Connection<Kit>>> all;
  std::vector<xio::nvme::QueueHandle> handles;
  const uint64_t operations = nvme_operations(one, shape.lanes, shape.waves);
  const Trouble what = trouble_of(one, seed);
  const uint32_t queues = (one.features & own_queues) != 0 ? shape.lanes : 1;
  for (uint32_t i = 0; i < queues; ++i) {
    all.push_back(std::make_unique<Connection<Kit>>(arena, gpu, one, seed, fabric, i, sizes, key));
    Connection<Kit>& connection = *all.back();
    handles.push_back(connection.handle);
    // A response finds its receive at once.
    connection.far.model().faults().wait_for_receives(1);
    if ((one.features & one_fails) != 0) connection.lose_after(seed * 7 % (operations / queues), seed % 2 == 0);
    if (what == Trouble::errors) connection.target.fail_each(7);
    if (what == Trouble::none) continue;
    connection.target.delay(seed, static_cast<uint32_t>(1 + seed % 40));
    connection.near.model().faults().delay(static_cast<uint32_t>(1 + seed % 20));
    connection.near.model().faults().one_a_pass(seed % 2 == 0);
    connection.far.model().faults().one_a_pass(seed % 4 == 1);
  }
  const NvmeJob job = nvme_job(arena, gpu, one, seed, shape, handles, data, reinterpret_cast<uint64_t>(data));

  arena.map(gpu.memory);
  for (const auto& connection : all) connection->map(gpu.memory);
  gpu.step_devices = [&all, &one](Random&) {
    bool worked = false;
    for (bool works = true; works; works = works && one.calm) {  // what is counted is answered at once
      works = false;
      for (const auto& connection : all) works |= connection->step();
      worked |= works;
    }
    return worked;
  };
  Outcome outcome = launch_case(gpu, one, seed, shape.threads, job, [&] {
    uint64_t failures = 0;
    uint64_t answers = 0;
    for (const auto& connection : all) {
      for (uint32_t i = 0; i < 1000; ++i) connection->step();
      failures += connection->target.failed;
      answers += connection->target.answers;
    }
    std::string error =
        ends_badly(one) ? complaint_of_bad_end(*job.report, operations) : complaint(*job.report, operations, failures);
    if (error.empty() && job.report->good > answers && one.name.find("_posts") == std::string::npos)
      error = std::to_string(job.report->good) + " operations without an error, of which " + std::to_string(answers) +
              " were answered";
    for (const auto& connection : all)
      if (error.empty()) error = complaint_of(*connection);
    return error;
  });
  for (const auto& connection : all) outcome.operations += connection->target.capsules;
  return outcome;
}

template <class Kit>
void add(std::vector<Case>& cases) {
  const std::string name = std::string("fabric_") + Kit::Vendor::name;
  cases.push_back({name + "_thread", run_fabric<Kit>, 1, 2, 2, 3, 6, 0, own_queues});
  cases.push_back({name + "_wave", run_fabric<Kit>, 1, 0, 0, 64, 2});
  cases.push_back({name + "_grid", run_fabric<Kit>, 2, 64, 0, 32, 1});
  // The target is there no more. A card that reports nothing of idle receives leaves waits to their deadlines.
  if (!Kit::Wire::flushes && !Kit::Wire::ends_receives) return;
  cases.push_back(
      {name + "_thread_gone", run_fabric<Kit>, 1, 2, 2, 3, 6, 0, own_queues | one_fails, 0b011, name + "_thread"});
  cases.push_back({name + "_wave_gone", run_fabric<Kit>, 1, 0, 0, 64, 2, 0, one_fails, 0b011, name + "_wave"});
  cases.push_back({name + "_grid_gone", run_fabric<Kit>, 2, 64, 0, 32, 1, 0, one_fails, 0b011, name + "_grid"});
}

/// Of one format whose entries show that they are new, and of one with an index.
template <class Kit>
void add_more(std::vector<Case>& cases) {
  constexpr uint32_t fair = 0b011;
  const std::string name = std::string("fabric_") + Kit::Vendor::name;
  cases.push_back({name + "_wave_batches", run_fabric<Kit>, 1, 0, 0, 64, 2, 40, pairs, fair});
  cases.push_back({name + "_grid_tokens", run_fabric<Kit>, 2, 0, 0, 32, 3});
  cases.push_back({name + "_grid_narrow", run_fabric<Kit>, 3, 0, 0, 7, 1, 0, 0, 0b111, name + "_grid"});
}

}  // namespace

std::vector<Case> fabric_cases() {
  using xio::emulation::Mlx5Kit;
  using xio::emulation::RxeKit;
  constexpr uint32_t fair = 0b011;
  std::vector<Case> cases;
  xio::emulation::for_each_kit([&cases](auto kit) { add<decltype(kit)>(cases); });
  add_more<Mlx5Kit<>>(cases);
  add_more<RxeKit<>>(cases);
  const auto mlx5 = run_fabric<Mlx5Kit<>>;
  cases.push_back({"fabric_mlx5_grid_others", mlx5, 2, 0, 0, 64, 3, 0, 0, fair});
  cases.push_back({"fabric_mlx5_block", mlx5, 1, 128, 0, 64, 1});
  cases.push_back({"fabric_mlx5_wave_session", mlx5, 1, 0, 0, 64, 2});
  cases.push_back({"fabric_mlx5_grid_posts", mlx5, 6, 0, 0, 64, 2, 0, 0, fair});
  cases.push_back({"fabric_mlx5_grid_deferred", mlx5, 2, 0, 0, 16, 1});
  cases.push_back({"fabric_mlx5_thread_reads", mlx5, 1, 0, 0, 8, 8, 0, own_queues | costs, fair});
  cases.push_back({"fabric_mlx5_wave_reads", mlx5, 1, 0, 0, 128, 8, 0, costs, fair});
  cases.push_back({"fabric_mlx5_grid_reads", mlx5, 4, 64, 0, 256, 8, 0, costs, fair});
  return cases;
}

}  // namespace scenarios
