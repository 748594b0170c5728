// SPDX-License-Identifier: MIT

/// @file
/// @brief RDMA kernels against emulated NICs, which the machine steps.

#include <cstring>
#include <vector>

#include <xio/host/emulation/rdma/nic.hpp>

#include <scenarios/arena.hpp>
#include <scenarios/launch.hpp>

namespace scenarios {

uint64_t rdma_operations(const Case& one, uint32_t lanes, uint32_t waves, bool atomics) {
  const uint64_t turns = uint64_t{lanes} * one.rounds;
  if (one.name.find("others") != std::string::npos) return uint64_t{waves} * comparing_lanes * one.rounds * 2;
  if (one.name.find("every") != std::string::npos)
    return turns * 5 + uint64_t{one.name.find("thread") != std::string::npos ? lanes : waves} * one.rounds;
  if (one.count != 0) return uint64_t{2} * one.blocks * one.rounds;  // one wave per batch
  if (one.name.find("posts") != std::string::npos) return uint64_t{waves} * posting_lanes * one.rounds;
  if (one.name.find("by_lane") != std::string::npos) return turns * 4;
  for (const char* const alone : {"messages", "quiet", "puts", "signals", "receives"})
    if (one.name.find(alone) != std::string::npos) return turns;
  if (one.name.find("several") != std::string::npos) return turns * 4;
  for (const char* const pairs : {"apart", "sessions", "loaded", "zeroed", "flushed"})
    if (one.name.find(pairs) != std::string::npos) return turns * 2;
  return turns * (atomics ? 3 : 2);
}

namespace {

using xio::emulation::RdmaQueueConfig;

template <class Kit>
RdmaQueueConfig numbered(const Case& one, uint32_t qpn) {
  RdmaQueueConfig config = Kit::config();
  if ((one.features & costs) != 0) {
    // No thread waits for space.
    config.sq_units *= 16;
    config.cq_entries *= 16;
    config.side_entries *= 16;
  }
  if ((one.features & short_entries) != 0) config = Kit::shortest(config);
  if ((one.features & small_rings) != 0) {
    config.sq_units = 16;
    if (config.side_entries != 0) config.side_entries = 16;
    config.cq_entries = 32;
    config.rq_entries = 16;
    config.receive_cq_entries = 32;
  }
  config.qpn = qpn;
  if (config.handle != 0) config.handle = qpn + 0x1000;
  return config;
}

/// Sends a message for each receive that the device sees. Returns whether there was one.
bool send_to_each(xio::emulation::RdmaFabric& fabric, uint32_t qpn, const RdmaJob& job, uint64_t& sent) {
  const uint64_t before = sent;
  for (; sent < uint64_t{job.lanes} * job.rounds; ++sent) {
    std::vector<uint8_t> data(job.words * 8);
    const uint64_t stamp = sent % job.lanes << 32 | sent / job.lanes;
    for (uint32_t i = 0; i < job.words; ++i) {
      const uint64_t word = word_of(stamp, i);
      std::memcpy(&data[i * 8], &word, 8);
    }
    xio::emulation::RdmaRequest request;
    request.operation = xio::emulation::RdmaOperation::send_immediate;
    request.immediate = static_cast<uint32_t>(sent);
    request.data = &data;
    if (fabric.send(qpn, request) != xio::emulation::RdmaOutcome::ok) break;
  }
  return sent != before;
}

template <class Kit>
Outcome run_rdma(Gpu& gpu, const Case& one, uint64_t seed) {
  using Pair = xio::emulation::RdmaQueuePair<Kit>;
  constexpr bool atomics = has_atomics<typename Kit::Vendor>;
  const uint32_t threads = one.threads != 0 ? one.threads : gpu.wave_size();
  const uint32_t lanes = one.lanes != 0 ? one.lanes : one.blocks * threads;
  const uint32_t waves = one.blocks * ((threads + gpu.wave_size() - 1) / gpu.wave_size());

  Arena arena;
  gpu.memory.clear();
  const MemoryKind kind = data_kind(gpu, one, seed);
  const xio::Memory told = told_memory(one);
  const MemoryKind rings = ring_kind(gpu, one, seed);
  xio::emulation::RdmaFabric fabric;
  Pair near(fabric, numbered<Kit>(one, 0x101), arena.source(rings, "queue pair", told));
  Pair far(fabric, numbered<Kit>(one, 0x202), arena.source(rings, "peer's queue pair", told));
  near.model().connect(far.config().qpn);
  far.model().connect(near.config().qpn);
  xio::emulation::RdmaNic nic;
  nic.add(near.model());
  nic.add(far.model());
  if (trouble_of(one, seed) != Trouble::none) {
    near.model().faults().delay(static_cast<uint32_t>(1 + seed % 20));
    near.model().faults().one_a_pass(seed % 2 == 0);
    far.model().faults().one_a_pass(seed % 4 == 1);
  }
  const uint64_t turns = uint64_t{lanes} * one.rounds;
  const bool messages = one.name.find("messages") != std::string::npos;
  if ((one.features & one_fails) != 0 && !messages)
    near.model().faults().fail(seed % turns, xio::emulation::RdmaOutcome::remote_operation);
  near.model().faults().hold_inbound((one.features & inbound) != 0);
  // Not every operation is signalled, so every completion from here on is misnamed.
  for (uint64_t i = seed % turns; (one.features & stray) != 0 && i < 4 * turns; ++i) {
    if (messages) {
      far.model().faults().misname_receive(i / 2);
    } else {
      near.model().faults().misname(i);
    }
  }

  const size_t bytes = lanes * thread_bytes;
  auto* const data = static_cast<uint64_t*>(arena.allocate(bytes, 4096, kind, "data"));
  auto* const remote = static_cast<uint64_t*>(arena.allocate(bytes + 8, 4096, kind, "remote data"));
  if ((one.features & filled) != 0) fill_blocks(data, lanes);
  const uint32_t key = fabric.keys().add(data, bytes);
  const uint32_t rkey = fabric.keys().add(remote, bytes + 8);
  auto* const report = arena.make<Report>(1, MemoryKind::local, "report");

  RdmaJob job{};
  job.handle = near.handle();
  if ((one.features & requested) != 0) {
    constexpr bool sequenced = Kit::Vendor::has_side_table;
    (sequenced ? job.handle.send->claims : near.state().reserved) |= xio::protocol::reservation_bit;
    near.state().reservation = seed % 2 == 0 ? 0 : uint64_t{1} << 16 | 4;
  }
  job.receive = far.receive_handle();
  job.peer = far.handle();
  job.peers_messages = near.receive_handle();
  job.remote = {reinterpret_cast<uint64_t>(remote), bytes + 8, rkey};
  if ((one.features & inbound) != 0)
    job.handle.flush = {reinterpret_cast<uint64_t>(data) + bytes - 1, job.remote.base + thread_bytes - 1, key, rkey};
  job.local = {reinterpret_cast<uint64_t>(data), bytes, key, told};
  job.data = data;
  job.inbox = {reinterpret_cast<uint64_t>(remote), bytes + 8, rkey, told};
  job.inbox_data = remote;
  job.report = report;
  job.turns = arena.make<Turn>(lanes, MemoryKind::local, "turns");
  if (one.count != 0) {
    auto* const list = arena.make<xio::rdma::Piece>(2 * waves * one.count, MemoryKind::local, "pieces");
    for (uint32_t i = 0; i < waves * one.count; ++i) {
      const uint32_t owner = i / one.count * gpu.wave_size() + i % one.count % gpu.wave_size();
      const uint64_t at = owner * thread_bytes + uint64_t{i % one.count / gpu.wave_size()} * 32;
      list[i] = {job.remote.at(at, 32), job.local.at(at, 32)};
      list[waves * one.count + i] = {job.remote.at(at, 32), job.local.at(at + thread_bytes / 2, 32)};
    }
    job.pieces = list;
    job.count = one.count;
  }
  const bool from_host = one.name.find("receives") != std::string::npos;
  job.lanes = lanes;
  job.senders = from_host ? 0 : lanes / 2;
  job.rounds = one.rounds;
  job.words = 4;
  job.patience_ns = gpu.patience_ns();

  arena.map(gpu.memory);
  for (Pair* pair : {&near, &far}) {
    const xio::emulation::RdmaQueueMemory m = pair->memory();
    gpu.memory.add(m.sq_doorbell, 4096, MemoryKind::registers, "doorbells");
    // Memory that only the kernels use.
    gpu.memory.add(&pair->state(), pair->state_bytes(), MemoryKind::local, "queue state");
  }
  const bool dies = (one.features & one_fails) != 0 && messages;
  const bool strays = (one.features & stray) != 0 && messages;
  if ((one.features & rings_early) != 0)
    gpu.write_register = [record = near.memory().sq_record](uint64_t address, uint64_t value, uint32_t) {
      const uint32_t last = (xio::byte_swap(__atomic_load_n(record, __ATOMIC_ACQUIRE)) - 1) & 0xffff;
      __atomic_store_n(reinterpret_cast<uint64_t*>(address), (value >> 32 << 32) | xio::byte_swap(last << 8),
                       __ATOMIC_RELEASE);
    };
  uint64_t sent = 0;
  gpu.step_devices = [&, passes = uint64_t{0}](Random&) mutable {
    const bool took = from_host && send_to_each(fabric, far.config().qpn, job, sent);
    // At some time, or with a message just taken.
    if (dies && (seed % 4 == 0 ? ++passes == 1 + seed * 7 % 100
                               : far.model().statistics().receive_completions > seed % (lanes / 2)))
      far.model().fail();
    // A broken receive queue refuses receives: their messages fail.
    if (strays && far.model().statistics().receive_completions > seed % turns / 2)
      near.model().faults().wait_for_receives(1000);
    return nic.pass() || took;
  };

  Outcome outcome = launch_case(gpu, one, seed, threads, job, [&] {
    for (uint32_t i = 0; i < 1000; ++i) nic.pass();
    const uint64_t operations = rdma_operations(one, lanes, waves, atomics);
    std::string error = ends_badly(one) ? complaint_of_bad_end(*report, operations) : complaint(*report, operations);
    for (Pair* pair : {&near, &far})
      for (const std::string& text : pair->model().statistics().violations)
        if (error.empty()) error = "against the device's rules: " + text;
    // The operation at this position failed, and all later ones were flushed. A fence does not report that.
    const bool asks_each = !messages && one.name.find("quiet") == std::string::npos;
    if (error.empty() && (one.features & one_fails) != 0 && asks_each && report->good > seed % turns)
      error = std::to_string(report->good) + " operations reported as successful, of which " +
              std::to_string(seed % turns) + " were";
    // Each message that the device took ended a send and a receive, however the queue ended.
    const uint64_t taken = far.model().statistics().receive_completions;
    if (error.empty() && dies && Kit::Wire::ends_receives && report->good != 2 * taken)
      error = std::to_string(report->good) + " sends and receives of " + std::to_string(taken) + " messages";
    if (error.empty() && one.name.find("quiet_failing") != std::string::npos && report->told == 0)
      error = "an error that nobody was told of";
    const bool posts = one.name.find("posts") != std::string::npos;
    if (error.empty() && posts && near.model().statistics().operations != operations)
      error = "operations that were not announced";
    const bool counted = atomics && operations == 3 * turns && !ends_badly(one);
    if (error.empty() && counted && remote[bytes / 8] != turns)
      error = "the peer's word counts " + std::to_string(remote[bytes / 8]);
    return error;
  });
  gpu.write_register = nullptr;
  outcome.operations = near.model().statistics().operations;
  return outcome;
}

template <class Kit>
void add(std::vector<Case>& cases) {
  const std::string vendor = Kit::Vendor::name;
  constexpr uint32_t late = 0b011;
  cases.push_back({vendor + "_thread", run_rdma<Kit>, 1, 1, 1, 64, 4, 0, 0, late});
  cases.push_back({vendor + "_wave", run_rdma<Kit>, 1, 0, 0, 64, 1, 0, 0, late});
  // Workgroups of several waves; one wave suffices where only formats differ.
  const uint32_t threads = vendor == "mlx5" || vendor == "bnxt" ? 64 : 0;
  cases.push_back({vendor + "_grid", run_rdma<Kit>, 2, threads, 0, 64, 1, 0, 0, late});
  cases.push_back({vendor + "_grid_puts", run_rdma<Kit>, 4, 64, 0, 64, 8, 0, costs, late});
  cases.push_back({vendor + "_quiet", run_rdma<Kit>, 2, 0, 0, 64, 2, 0, 0, late});
  cases.push_back({vendor + "_messages", run_rdma<Kit>, 2, 8, 0, 64, 1, 0, 0, late});
  // Kernels that encounter an error.
  for (const auto& [name, feature] : {std::pair{"_failing", one_fails}, std::pair{"_stray", stray}}) {
    if (feature == stray || Kit::Wire::flushes || Kit::Wire::ends_receives) {
      const std::string kernel = vendor + "_messages";
      cases.push_back({kernel + name, run_rdma<Kit>, 2, 8, 0, 64, 1, 0, feature, late, kernel});
    }
    cases.push_back({vendor + "_thread" + name, run_rdma<Kit>, 1, 1, 1, 64, 4, 0, feature, late, vendor + "_thread"});
    cases.push_back({vendor + "_grid" + name, run_rdma<Kit>, 2, 0, 0, 64, 1, 0, feature, late, vendor + "_grid"});
  }
  cases.push_back({vendor + "_quiet_failing", run_rdma<Kit>, 2, 0, 0, 64, 2, 0, one_fails, late, vendor + "_quiet"});
  cases.push_back({vendor + "_grid_small", run_rdma<Kit>, 2, 0, 0, 16, 1, 0, small_rings, late, vendor + "_grid"});
  cases.push_back({vendor + "_thread_small", run_rdma<Kit>, 1, 1, 1, 16, 16, 0, small_rings, late, vendor + "_thread"});
}

}  // namespace

std::vector<Case> rdma_cases() {
  std::vector<Case> cases;
  xio::emulation::for_each_kit([&cases](auto kit) { add<decltype(kit)>(cases); });
  cases.push_back({"mlx5_thread_puts", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 1, 1, 64, 64, 0, costs});
  cases.push_back({"mlx5_wave_puts", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 8, 0, costs});
  // Announced at the scope of the GPU, on NVIDIA.
  cases.push_back({"mlx5_grid_on_gpu", run_rdma<xio::emulation::Mlx5Kit<>>, 3, 0, 0, 64, 2, 0, on_gpu, 0b011});
  cases.push_back({"mlx5_wave_on_gpu", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 2, 0, on_gpu, 0b011});
  cases.push_back({"mlx5_wave_apart", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 24, 0, 0, 0b011});
  // Two waves receive, and take completions for each other.
  cases.push_back(
      {"mlx5_messages_shared", run_rdma<xio::emulation::Mlx5Kit<>>, 4, 8, 0, 64, 1, 0, 0, 0b011, "mlx5_messages"});
  cases.push_back({"mlx5_messages_polled", run_rdma<xio::emulation::Mlx5Kit<>>, 4, 8, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"bnxt_messages_polled_failing", run_rdma<xio::emulation::BnxtKit<>>, 6, 4, 0, 64, 1, 0, one_fails,
                   0b011, "bnxt_messages_polled"});
  cases.push_back(
      {"mlx5_receives", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 4, 0, 16, 3, 0, small_rings, 0b011, "mlx5_messages"});
  cases.push_back({"mlx5_receives_late", run_rdma<xio::emulation::Mlx5Kit<>>, 4, 0, 16, 16, 12, 0, small_rings, 0b011});
  cases.push_back(
      {"mlx5_block_receives_late", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 256, 16, 16, 12, 0, small_rings, 0b011});
  cases.push_back({"mlx5_messages_small", run_rdma<xio::emulation::Mlx5Kit<>>, 6, 4, 0, 16, 6, 0, small_rings, 0b011,
                   "mlx5_messages"});
  cases.push_back({"mlx5_signals", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 0, 0, 64, 2, 0, 0, 0b011});
  // So few lanes that no operation of theirs must be signalled.
  cases.push_back({"mlx5_quiet_unsignaled", run_rdma<xio::emulation::Mlx5Kit<>>, 3, 3, 0, 64, 4, 0, 0, 0b011});
  cases.push_back({"bnxt_quiet_unsignaled", run_rdma<xio::emulation::BnxtKit<>>, 3, 3, 0, 64, 4, 0, 0, 0b011});
  // More operations than the ring holds.
  cases.push_back({"bnxt_quiet_unsignaled_small", run_rdma<xio::emulation::BnxtKit<>>, 6, 8, 0, 64, 4, 0, small_rings,
                   0b011, "bnxt_quiet_unsignaled"});
  for (const std::string kernel : {"mlx5_quiet_unsignaled", "bnxt_quiet_unsignaled"}) {
    const auto run = kernel[0] == 'm' ? run_rdma<xio::emulation::Mlx5Kit<>> : run_rdma<xio::emulation::BnxtKit<>>;
    cases.push_back({"reservation_" + kernel, run, 3, 3, 0, 64, 4, 0, requested, 0b011, kernel});
  }
  cases.push_back({"mlx5_block_others", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 128, 0, 64, 3, 0, 0, 0b011});
  cases.push_back({"mlx5_grid_others", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 0, 0, 64, 3, 0, 0, 0b011});
  cases.push_back({"ionic_grid_others_failing", run_rdma<xio::emulation::IonicKit<>>, 4, 0, 0, 64, 3, 0, one_fails,
                   0b011, "ionic_grid_others"});
  cases.push_back({"mlx5_posts", run_rdma<xio::emulation::Mlx5Kit<>>, 6, 0, 0, 64, 2});
  cases.push_back({"mlx5_deferred_posts", run_rdma<xio::emulation::Mlx5Kit<>>, 6, 0, 0, 64, 2});
  cases.push_back({"mlx5_wave_deferred", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"bnxt_block", run_rdma<xio::emulation::BnxtKit<>>, 1, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"bnxt_messages_shared_failing", run_rdma<xio::emulation::BnxtKit<>>, 6, 4, 0, 64, 1, 0, one_fails,
                   0b011, "bnxt_messages"});
  cases.push_back({"bnxt_block_messages", run_rdma<xio::emulation::BnxtKit<>>, 1, 128, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"bnxt_block_messages_polled", run_rdma<xio::emulation::BnxtKit<>>, 1, 128, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"bnxt_block_messages_failing", run_rdma<xio::emulation::BnxtKit<>>, 1, 128, 0, 64, 1, 0, one_fails,
                   0b011, "bnxt_block_messages"});
  // More entries than the ring holds, so that the waves wait for space.
  cases.push_back({"bnxt_batches", run_rdma<xio::emulation::BnxtKit<>>, 2, 0, 0, 64, 1, 96, 0, 0b011});
  cases.push_back({"ionic_grid_deferred", run_rdma<xio::emulation::IonicKit<>>, 1, 0, 0, 64, 1, 0, 0, 0b011});
  using Mlx5 = xio::emulation::Mlx5Kit<Mlx5Collapsed>;
  using Ionic = xio::emulation::IonicKit<IonicCollapsed>;
  cases.push_back({"mlx5_collapsed_thread", run_rdma<Mlx5>, 1, 1, 1, 64, 4, 0, 0, 0b011});
  cases.push_back(
      {"mlx5_collapsed_thread_failing", run_rdma<Mlx5>, 1, 1, 1, 64, 4, 0, one_fails, 0b011, "mlx5_collapsed_thread"});
  cases.push_back({"mlx5_collapsed_wave", run_rdma<Mlx5>, 1, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"mlx5_collapsed_grid", run_rdma<Mlx5>, 3, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"ionic_collapsed_wave", run_rdma<Ionic>, 1, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"ionic_collapsed_grid", run_rdma<Ionic>, 3, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back(
      {"mlx5_collapsed_grid_failing", run_rdma<Mlx5>, 3, 0, 0, 64, 1, 0, one_fails, 0b011, "mlx5_collapsed_grid"});
  cases.push_back(
      {"ionic_collapsed_grid_failing", run_rdma<Ionic>, 3, 0, 0, 64, 1, 0, one_fails, 0b011, "ionic_collapsed_grid"});
  cases.push_back({"ernic_signals", run_rdma<xio::emulation::ErnicKit>, 2, 0, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"rxe_grid_through", run_rdma<xio::emulation::RxeKit<>>, 1, 0, 0, 64, 1, 0, through, 0b011});
  // One wave or one thread receives.
  cases.push_back({"mlx5_wave_messages", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 0, 0, 64, 4, 0, 0, 0b011});
  cases.push_back({"mlx5_wave_messages_failing", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 0, 0, 64, 4, 0, one_fails,
                   0b011, "mlx5_wave_messages"});
  cases.push_back({"mlx5_wave_messages_stray", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 0, 0, 64, 4, 0, stray, 0b011,
                   "mlx5_wave_messages"});
  cases.push_back({"bnxt_thread_messages", run_rdma<xio::emulation::BnxtKit<>>, 2, 1, 2, 64, 8, 0, 0, 0b011});
  cases.push_back({"bnxt_thread_messages_failing", run_rdma<xio::emulation::BnxtKit<>>, 2, 1, 2, 64, 8, 0, one_fails,
                   0b011, "bnxt_thread_messages"});
  cases.push_back({"rxe_wave_messages_polled", run_rdma<xio::emulation::RxeKit<>>, 2, 0, 0, 64, 4, 0, 0, 0b011});
  cases.push_back({"ionic_thread_messages_polled", run_rdma<xio::emulation::IonicKit<>>, 2, 1, 2, 64, 8, 0, 0, 0b011});
  cases.push_back({"mlx5_several", run_rdma<xio::emulation::Mlx5Kit<>>, 3, 8, 0, 16, 2, 0, small_rings, 0b011});
  cases.push_back({"mlx5_several_failing", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 8, 0, 64, 2, 0, one_fails, 0b011,
                   "mlx5_several"});
  cases.push_back({"bnxt_several", run_rdma<xio::emulation::BnxtKit<>>, 1, 64, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"rxe_several", run_rdma<xio::emulation::RxeKit<>>, 1, 0, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"bnxt_sessions", run_rdma<xio::emulation::BnxtKit<>>, 1, 1, 1, 64, 32, 0, 0, 0b011});
  cases.push_back({"ionic_sessions", run_rdma<xio::emulation::IonicKit<>>, 1, 0, 0, 64, 2, 0, 0, 0b011});
  cases.push_back(
      {"mlx5_messages_immediate", run_rdma<xio::emulation::Mlx5Kit<>>, 4, 8, 0, 16, 6, 0, small_rings, 0b011});
  cases.push_back({"ernic_messages_immediate", run_rdma<xio::emulation::ErnicKit>, 2, 8, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"mlx5_thread_messages_immediate", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 1, 2, 64, 8, 0, 0, 0b011});
  cases.push_back({"bnxt_wave_messages_immediate", run_rdma<xio::emulation::BnxtKit<>>, 2, 8, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"mlx5_block_messages_immediate", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 8, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"mlx5_thread_every_call", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 1, 1, 64, 4, 1, 0, 0b011});
  cases.push_back({"mlx5_wave_every_call", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 1, 8, 0, 0b011});
  cases.push_back({"bnxt_block_every_call", run_rdma<xio::emulation::BnxtKit<>>, 1, 64, 0, 64, 1, 8, 0, 0b011});
  cases.push_back({"ionic_grid_every_call", run_rdma<xio::emulation::IonicKit<>>, 2, 0, 0, 64, 1, 8, 0, 0b011});
  cases.push_back({"bnxt_thread_loaded", run_rdma<xio::emulation::BnxtKit<>>, 1, 1, 1, 64, 1, 0, filled, 0b011});
  cases.push_back(
      {"bnxt_thread_loaded_through", run_rdma<xio::emulation::BnxtKit<>>, 1, 1, 1, 64, 1, 0, filled | through, 0b011});
  cases.push_back({"rxe_grid_zeroed_through", run_rdma<xio::emulation::RxeKit<>>, 2, 8, 0, 64, 2, 0, through, 0b011});
  // The other lanes have ended.
  cases.push_back({"mlx5_wave_in_part", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 7, 64, 2, 0, 0, 0b011, "mlx5_wave"});
  cases.push_back(wide(
      {"bnxt_wave_in_part", run_rdma<xio::emulation::BnxtKit<>>, 1, 0, 23, 16, 2, 0, small_rings, 0b011, "bnxt_wave"}));
  // Every second lane uses the peer's queues.
  cases.push_back({"mlx5_wave_by_lane", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 2, 0, 0, 0b011});
  cases.push_back({"mlx5_grid_by_lane", run_rdma<xio::emulation::Mlx5Kit<>>, 2, 0, 0, 64, 1, 0, 0, 0b011});
  cases.push_back({"bnxt_block_by_lane", run_rdma<xio::emulation::BnxtKit<>>, 1, 128, 0, 64, 1, 0, 0, 0b011});
  // The devices deliver data after its completion.
  cases.push_back({"mlx5_wave_placed", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 1, 0, inbound, 0b011});
  cases.push_back({"mlx5_thread_flushed", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 1, 1, 64, 4, 0, inbound, 0b011});
  cases.push_back({"mlx5_wave_placed_quiet", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 2, 0, inbound, 0b011});
  cases.push_back({"bnxt_grid_placed_quiet", run_rdma<xio::emulation::BnxtKit<>>, 2, 8, 0, 64, 2, 0, inbound, 0b011});
  // There is nothing to flush with.
  cases.push_back({"mlx5_wave_placed_quiet_unable", run_rdma<xio::emulation::Mlx5Kit<>>, 1, 0, 0, 64, 2, 0, 0, 0b011,
                   "mlx5_wave_placed_quiet"});
  cases.push_back({"rxe_grid_placed", run_rdma<xio::emulation::RxeKit<>>, 2, 8, 0, 64, 1, 0, inbound, 0b011});
  return cases;
}

namespace {

struct IonicSecond : xio::ionic::Options {
  static constexpr xio::ionic::Version version = xio::ionic::Version::v2;
};

}  // namespace

std::vector<Case> peer_cases() {
  using xio::emulation::IonicKit;
  using xio::emulation::Mlx5Kit;
  std::vector<Case> cases;
  // One wave. So many rounds that what a kernel does once hardly counts, and so few that no ring wraps: others tell the
  // devices nothing of the completions that they have taken, and number their entries without end.
  const auto add_peer = [&cases](const std::string& kernel, Outcome (*run)(Gpu&, const Case&, uint64_t),
                                 uint32_t features = 0) {
    cases.push_back({kernel, run, 1, 0, 0, 64, 32, 0, costs | features, 0b001});
  };
  for (const std::string sharing : {"_wave_puts", "_grid_puts"}) {
    add_peer("mlx5" + sharing, run_rdma<Mlx5Kit<>>);
    add_peer("bnxt" + sharing, run_rdma<xio::emulation::BnxtKit<>>);
    add_peer("ionic" + sharing, run_rdma<IonicKit<>>, short_entries);
  }
  add_peer("gpunetio_warp_puts", run_rdma<Mlx5Kit<>>, rings_early);
  add_peer("gpunetio_thread_puts", run_rdma<Mlx5Kit<>>, rings_early);
  add_peer("mori_mlx5_puts", run_rdma<Mlx5Kit<Mlx5Collapsed>>);
  add_peer("mori_ionic_puts", run_rdma<IonicKit<IonicSecond>>, short_entries);
  return cases;
}

}  // namespace scenarios
