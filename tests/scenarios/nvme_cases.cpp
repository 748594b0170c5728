// SPDX-License-Identifier: MIT

/// @file
/// @brief NVMe kernels against the in-process controller, which the machine steps.

#include <algorithm>
#include <memory>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/vendors/nvme/encode_kv.hpp>
#include <xio/vendors/nvme/status.hpp>

#include <scenarios/nvme_job.hpp>

#include "small_rings.hpp"

namespace scenarios {

uint64_t nvme_operations(const Case& one, uint32_t lanes, uint32_t waves) {
  const std::string& name = one.name;
  // Some kernels use that many lanes of each wave, if it has them.
  const auto some = [&](uint32_t most) { return uint64_t{waves} * std::min(most, lanes / waves); };
  const auto ends = [&](const char* what) { return name.find(what) != std::string::npos; };
  if (ends("keys")) return uint64_t{lanes} * one.rounds * key_operations;
  if (ends("tokens") || ends("by_lane") || ends("tail")) return uint64_t{lanes} * one.rounds * 3;
  if (ends("lost")) return lanes;
  if (ends("thread_every")) return uint64_t{lanes} * one.rounds * 8;
  if (ends("every")) return (uint64_t{lanes} * (ends("wave") ? 6 : 5) + uint64_t{waves} * 2) * one.rounds;
  if (ends("watched") || ends("taken")) return waves;
  if (ends("apart") || ends("mixed")) return uint64_t{lanes} * one.rounds * 3;
  if (ends("transfers_failing")) return uint64_t{lanes} + uint64_t{waves} * 2;
  if (ends("transfers")) return uint64_t{waves} * 2;
  if (ends("reads") || ends("notified") || ends("forgotten") || ends("answered") || ends("untold"))
    return uint64_t{lanes} * one.rounds;
  if (ends("processed")) return uint64_t{lanes} * (one.rounds * 2 + 8);
  if (ends("batches")) return uint64_t{one.rounds} * 2;
  if (ends("failing")) return some(failing_lanes) * one.rounds * 2;
  if (ends("others") || ends("handed") || ends("synced")) return some(comparing_lanes) * one.rounds * 2;
  if (ends("posts")) return some(posting_lanes) * one.rounds;
  return uint64_t{lanes} * one.rounds * 2;  // a write and a read, or a submission and its completion
}

namespace {

using xio::emulation::NvmeController;

/// Status of commands that are made to fail: internal error.
constexpr uint16_t made_to_fail = 0x06;

/// A controller with its memory in the arena.
class Drive {
 public:
  Drive(Arena& arena, const Case& one, MemoryKind kind, uint32_t queue_pairs, uint64_t seed) {
    xio::emulation::NvmeConfig config;
    config.execution = xio::emulation::NvmeExecution::stepped;
    config.queues = queue_pairs;
    config.poison_fetched_entries = true;
    config.namespaces[0].blocks = 1u << 16;
    if ((one.features & small_pages) != 0) config.mdts = 1;
    if ((one.features & keyed) != 0) {
      config.namespaces[0].key_values = true;
      config.namespaces[0].longest_key = longest_key;
      config.namespaces[0].longest_value = longest_value;
    }
    config.memory = arena.source(kind, "rings", told_memory(one));
    auto transport = std::make_unique<NvmeController>(std::move(config));
    model = transport.get();
    xio::host::ControllerOptions controller_options;
    controller_options.all_command_sets = (one.features & keyed) != 0;
    controller = std::make_unique<xio::host::NvmeController>(std::move(transport), controller_options);
    model->faults().seed(seed);
  }

  NvmeController* model;
  std::unique_ptr<xio::host::NvmeController> controller;
  std::vector<xio::host::NvmeQueue> queues;
};

void trouble(Drive& drive, Trouble what, xio::emulation::FaultRule& failing) {
  using xio::emulation::Match;
  if (what == Trouble::none) return;
  drive.model->faults().reorder(8);
  drive.model->faults().delay_steps(Match().each(3), 0, 40);
  if (what == Trouble::errors) failing = drive.model->faults().fail(Match().each(7), made_to_fail);
}

/// Sets up the drive's answers and failures for a case's features, on its first `blocks` blocks.
void prepare(Drive& drive, const Case& one, uint64_t seed, uint64_t blocks) {
  using xio::emulation::Match;
  xio::emulation::FaultPlan& plan = drive.model->faults();
  for (uint64_t lba = 0; lba < blocks; ++lba) {
    if ((one.features & answers) != 0) plan.answer(Match().with_lba(lba, lba), static_cast<uint32_t>(answer_of(lba)));
    const bool bad = (one.features & small_pages) != 0 ? lba % one.count == 0 : is_bad(lba);
    if ((one.features & bad_blocks) != 0 && bad) plan.fail(Match().with_lba(lba, lba), made_to_fail);
  }
  // Dwords 10 and 11 of a Retrieve: the size of the buffer, and of the key.
  constexpr uint64_t unreadable = unreadable_bytes | uint64_t{longest_key} << 32;
  if ((one.features & keyed) != 0)
    plan.fail(Match().with_opcode(static_cast<uint8_t>(xio::nvme::KvOpcode::retrieve)).with_lba(unreadable, unreadable),
              xio::nvme::sc::unrecovered_error);
  if ((one.features & twice) != 0) plan.duplicate(Match().at(seed % blocks));
}

/// Makes a queue of 32 slots one that has been used for long. The controller's rings, of 32 entries at most, start at
/// entry 0 with phase 1.
void begin_late(const xio::nvme::QueueHandle& queue, uint64_t seed) {
  constexpr uint32_t bits[] = {32, 16, 24, 33, 47};
  const uint64_t start = (uint64_t{1} << bits[seed % 5]) - 64;
  xio::protocol::begin_at(*queue.state, start);
  queue.state->acknowledged = start;
  for (uint32_t i = 0; i <= queue.slot_mask; ++i) queue.slots[i].word = start << 16;
}

/// Violations of the specification, and commands left over; empty if there are none.
std::string violations(const Case& one, NvmeController& model) {
  const std::string text = model.violations()->text();
  if (!text.empty()) return "against the specification: " + text.substr(0, text.find('\n'));
  const auto statistics = model.statistics();
  using xio::emulation::QueueStatistics;
  if (statistics.in_flight != 0) return std::to_string(statistics.in_flight) + " commands left in flight";
  if (statistics.total(&QueueStatistics::stale_fetches) != 0) return "entries fetched that had not been stored";
  if (statistics.total(&QueueStatistics::command_id_conflicts) != 0) return "command identifiers in use";
  // H10: a tail that goes back covers nearly a whole ring.
  if (statistics.total(&QueueStatistics::suspicious_tails) != 0) return "tails beyond what may be in flight";
  if (statistics.total(&QueueStatistics::suspicious_heads) != 0) return "heads beyond what has ended";
  // H24: completions are acknowledged before the ring is full. A release of the GPU's scope does not bring that head to
  // the device before a later doorbell: the controller waits for it.
  if ((one.features & on_gpu) == 0 && statistics.total(&QueueStatistics::cq_full_stalls) != 0)
    return "a full completion ring";
  if (!model.alive()) return "the controller has failed";
  return {};
}

/// The state of a queue, for failure reports.
std::string state_text(const xio::QueueState& state) {
  char text[160];
  std::snprintf(text, sizeof text, "; reserved %llu, tail %llu, retired %llx, unseen errors %u, broken %u",
                static_cast<unsigned long long>(state.reserved), static_cast<unsigned long long>(state.tail),
                static_cast<unsigned long long>(state.retired), state.error_count, state.broken);
  return text;
}

/// Error in what a kernel that does not wait for its operations leaves behind; empty if there is none.
std::string left_undone(const Case& one, const NvmeController& model, const xio::QueueState& state,
                        const Report& report, uint64_t operations) {
  using xio::emulation::QueueStatistics;
  const bool posts = one.name.find("posts") != std::string::npos;
  if (posts && model.statistics().total(&QueueStatistics::commands) != operations)
    return "operations that were not announced" + state_text(state);
  const bool gives_up = (one.features & own_queues) != 0 && one.name.find("gives_up") != std::string::npos;
  uint64_t flushes = 0;
  for (const QueueStatistics& queue : model.statistics().queues)
    flushes += queue.by_opcode[static_cast<size_t>(xio::nvme::Opcode::compare)];
  if (gives_up && flushes < operations / 2 * 3) return "inbound data that nobody flushed";
  const bool errors = (one.features & bad_blocks) != 0 && (one.features & small_pages) == 0;
  const bool asks_for_rest = one.name.find("batches") == std::string::npos;
  if (errors && ((asks_for_rest && report.told == 0) || state.error_count != 0))
    return "errors that nobody was told of" + state_text(state);
  return {};
}

/// Answers the operations of each thread that ended since its last answer, as far as the host sees them.
size_t answer_ends(const NvmeJob& job) {
  size_t done = 0;
  const auto seen = [](const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); };
  for (uint32_t i = 0; i < job.lanes; ++i) {
    Answer& answer = job.answers[i];
    const uint64_t round = answer.ends;
    if (round == job.rounds) continue;
    const xio::KeptResult& kept = job.kept[i * job.rounds + round];
    const xio::Notification& told = job.notifications[i];
    if (round % 2 != 0 ? seen(kept.ended) == 0 : seen(told.done) <= round / 2) continue;
    if (round % 2 != 0) {
      answer.value = kept.result;
    } else {
      answer.failed = told.failed;
    }
    __atomic_store_n(&answer.ends, round + 1, __ATOMIC_RELEASE);
    ++done;
  }
  return done;
}

/// Commands that belong to another drive: each lane gives a write and three reads in each round to its own.
std::string misdirected(const NvmeController& model, const Case& one, uint32_t lanes, ptrdiff_t drive) {
  uint64_t due = 0;
  for (auto lane = static_cast<uint32_t>(drive); lane < lanes; lane += one.count) due += uint64_t{one.rounds} * 4;
  const uint64_t got = model.statistics().total(&xio::emulation::QueueStatistics::commands);
  if (got == due) return {};
  return "drive " + std::to_string(drive) + " got " + std::to_string(got) + " commands, not " + std::to_string(due);
}

/// Blocks of a set of drives that lie elsewhere than at their place; empty if there are none.
std::string misplaced(NvmeController& model, const Case& one, uint32_t lanes, ptrdiff_t drive) {
  for (auto block = static_cast<uint64_t>(drive); block < uint64_t{lanes} * one.rounds; block += one.count) {
    uint64_t words[block_words];
    model.read_blocks(1, block / one.count, 1, words);
    if (!holds(words, block, 2)) return "block " + std::to_string(block) + " is not at its place";
  }
  return {};
}

Outcome run_nvme(Gpu& gpu, const Case& one, uint64_t seed) {
  const Shape shape(gpu, one);
  const uint32_t lanes = shape.lanes;
  const bool by_lane = one.name.find("by_lane") != std::string::npos;
  const bool striped = one.name.find("striped") != std::string::npos;
  const Trouble what = trouble_of(one, seed);
  const MemoryKind kind = data_kind(gpu, one, seed);

  Arena arena;
  gpu.memory.clear();
  std::vector<std::unique_ptr<Drive>> all;
  std::vector<xio::nvme::QueueHandle> handles;
  xio::emulation::FaultRule failing;
  const uint32_t controllers = (one.features & drives) != 0 ? one.count : 1;
  const uint32_t queues = (one.features & own_queues) != 0 ? lanes : 1;
  xio::host::DmaBuffer flushed;
  for (uint32_t i = 0; i < controllers; ++i) {
    all.push_back(std::make_unique<Drive>(arena, one, ring_kind(gpu, one, seed), queues, seed + i));
    Drive& drive = *all.back();
    xio::host::QueueOptions options;
    options.depth = one.depth;
    options.failures_on_record = 64;
    if ((one.features & bad_blocks) != 0) options.completion_slots = 32;
    if ((one.features & small_table) != 0) options.completion_slots = 2 * one.depth;
    options.shadow_doorbells = (one.features & shadow) != 0;
    if ((one.features & long_used) != 0) options.completion_slots = options.cq_entries = 32;
    if ((one.features & small_rings) != 0) options.cq_entries = one.depth + 1;
    xio_tests::keep_cq_small(options, drive.controller->max_queue_entries());
    if (!is_long(one)) options.list_bytes = 0;
    if ((one.features & inbound) != 0) {
      flushed = drive.controller->allocate(4096);
      options.flush_bus = flushed.bus();
    }
    options.allocate_state = [&](size_t bytes, size_t alignment) {
      void* const at = arena.allocate(bytes, alignment, MemoryKind::local, "queue state");
      return xio::host::DmaBuffer(at, 0, bytes, nullptr);
    };
    for (uint32_t q = 0; q < queues; ++q) {
      drive.queues.push_back(drive.controller->create_queue(options));
      handles.push_back(drive.queues.back().handle());
      if ((one.features & small_log) != 0) handles.back().failure_entries = 1;
      if ((one.features & long_used) != 0) begin_late(handles.back(), seed);
    }
    trouble(drive, what, failing);
    prepare(drive, one, seed, uint64_t{lanes} * std::max(one.rounds, one.count));
  }
  // Each controller maps the process's memory at the same bus address.
  const size_t bytes = data_bytes(one, lanes);
  auto* const data = static_cast<uint64_t*>(arena.allocate(bytes, 4096, kind, "data"));
  uint64_t bus = 0;
  for (const auto& drive : all) bus = drive->model->map(data, bytes);
  const NvmeJob job = nvme_job(arena, gpu, one, seed, shape, handles, data, bus);
  const Report* const report = job.report;
  const bool answers_ends = (one.features & watched) != 0;

  arena.map(gpu.memory);
  for (const auto& h : handles) {
    gpu.memory.add(h.sq_doorbell, 4, MemoryKind::registers, "SQ doorbell");
    gpu.memory.add(h.cq_doorbell, 4, MemoryKind::registers, "CQ doorbell");
  }
  gpu.step_devices = [&](Random& random) {
    size_t done = 0;
    for (const auto& drive : all) done += drive->model->step(random.one_in(2) ? 1 + random.below(3) : ~0u);
    if (answers_ends) done += answer_ends(job);
    return done != 0;
  };

  Outcome outcome = launch_case(gpu, one, seed, shape.threads, job, [&] {
    for (const auto& drive : all) {
      // Advances delayed commands, which need steps to complete.
      for (uint32_t i = 0; i < 100; ++i) drive->model->step(~0u);
      drive->model->run(100000);
    }
    const uint64_t operations = nvme_operations(one, lanes, shape.waves);
    // Where late data cannot be flushed, every wait must say so; so must it where a piece of each batch fails.
    const bool unable = one.name.find("unable") != std::string::npos;
    const bool all_fail = unable || one.name == "wave_batches_failing";
    const uint64_t failures = all_fail ? operations : what == Trouble::errors ? failing.hits() : 0;
    std::string error =
        ends_badly(one) ? complaint_of_bad_end(*report, operations) : complaint(*report, operations, failures);
    if (unable && (report->statuses & 0xffff) != xio::Status::unsupported)
      error = words_of(*report, operations, failures);
    if (!error.empty()) error += state_text(*handles[0].state);
    if (error.empty()) error = left_undone(one, *all[0]->model, *handles[0].state, *report, operations);
    for (const auto& drive : all) {
      if (error.empty()) error = violations(one, *drive->model);
      if (error.empty() && by_lane) error = misdirected(*drive->model, one, lanes, &drive - all.data());
      if (error.empty() && striped) error = misplaced(*drive->model, one, lanes, &drive - all.data());
    }
    return error;
  });
  for (const auto& drive : all)
    outcome.operations += drive->model->statistics().total(&xio::emulation::QueueStatistics::commands);
  return outcome;
}

}  // namespace

std::vector<Case> nvme_cases() {
  constexpr uint32_t fair = 0b011;  // without errors: a failure would end what the kernel tests
  // H10, H17, H22, H38: every sharing mode moves blocks, with completions late and in any order.
  return {
      {"thread", run_nvme, 1, 4, 4, 3, 3, 0, own_queues},
      {"thread_deferred", run_nvme, 1, 4, 4, 8, 3, 0, own_queues},
      {"thread_session", run_nvme, 1, 4, 4, 3, 3, 0, own_queues},
      {"thread_processed", run_nvme, 1, 4, 4, 4, 8, 0, own_queues},
      {"thread_unwaited", run_nvme, 1, 4, 4, 3, 3, 0, own_queues | answers, fair},
      {"thread_reads", run_nvme, 1, 0, 0, 8, 8, 0, own_queues | costs, fair},
      {"wave_reads", run_nvme, 1, 0, 0, 128, 8, 0, costs, fair},
      {"grid_reads", run_nvme, 4, 64, 0, 256, 8, 0, costs, fair},
      {"wave", run_nvme, 1, 0, 0, 64, 2},
      {"wave_in_part", run_nvme, 1, 0, 7, 5, 2, 0, 0, 0b111, "wave"},
      {"wave_in_part_deep", run_nvme, 1, 0, 7, 64, 2, 0, 0, 0b111, "wave"},
      {"wave_tokens_in_part", run_nvme, 1, 0, 7, 32, 3, 0, 0, 0b111, "wave_tokens"},
      {"wave_tail", run_nvme, 1, 0, 7, 5, 2, 0, 0, fair},
      {"wave_tail_deep", run_nvme, 1, 0, 7, 64, 2, 0, 0, fair, "wave_tail"},
      wide({"wave_tail_behind", run_nvme, 1, 0, 7, 5, 2, 3, 0, fair, "wave_tail"}),
      wide({"wave_tail_behind_deep", run_nvme, 1, 0, 7, 64, 2, 3, 0, fair, "wave_tail"}),
      // H23: lanes of which only the upper half, or the last one, takes part.
      wide({"wave_tail_upper", run_nvme, 1, 0, 32, 5, 2, 32, 0, fair, "wave_tail"}, 64),
      wide({"wave_tail_last", run_nvme, 1, 0, 1, 3, 2, 63, 0, fair, "wave_tail"}, 64),
      {"wave_through", run_nvme, 1, 0, 0, 64, 2, 0, through},
      {"wave_shadow", run_nvme, 1, 0, 0, 64, 2, 0, shadow},
      {"wave_apart", run_nvme, 1, 0, 0, 16, 2, 0, 0, fair},
      {"wave_apart_often", run_nvme, 1, 0, 0, 16, 12, 0, 0, fair, "wave_apart"},
      {"wave_apart_batches", run_nvme, 1, 0, 0, 16, 2, 8, pairs, fair, "wave_apart"},
      {"grid_apart", run_nvme, 2, 0, 0, 16, 2, 0, 0, fair},
      {"wave_placed", run_nvme, 1, 0, 0, 64, 1, 0, inbound, fair},
      {"thread_gives_up", run_nvme, 1, 4, 4, 3, 2, 0, own_queues | inbound, fair},
      {"wave_gives_up", run_nvme, 1, 0, 0, 64, 2, 0, inbound, fair},
      {"grid_gives_up", run_nvme, 2, 4, 0, 16, 2, 0, inbound, fair},
      {"wave_placed_unable", run_nvme, 1, 0, 0, 64, 1, 0, 0, fair, "wave_placed"},
      {"wave_session", run_nvme, 1, 0, 0, 64, 2},
      {"wave_tokens", run_nvme, 1, 0, 0, 64, 3},
      {"wave_batches", run_nvme, 1, 0, 0, 64, 2, 40, pairs, fair},
      {"wave_batches_failing", run_nvme, 1, 0, 0, 16, 2, 14, pairs | bad_blocks, fair, "wave_batches"},
      {"wave_batches_through", run_nvme, 1, 0, 0, 64, 2, 40, pairs | through, fair},
      {"block", run_nvme, 1, 128, 0, 64, 1},
      {"grid", run_nvme, 2, 64, 0, 32, 1},
      {"grid_narrow", run_nvme, 3, 0, 0, 7, 1, 0, 0, 0b111, "grid"},
      {"grid_deferred", run_nvme, 2, 0, 0, 16, 1},
      {"grid_parts", run_nvme, 2, 64, 0, 128, 1},
      {"grid_on_gpu", run_nvme, 2, 0, 0, 32, 1, 0, on_gpu},
      {"grid_through", run_nvme, 2, 0, 0, 32, 1, 0, through},
      // Failures that were waited for leave the log in turn, whichever wave takes completions.
      {"grid_small_table", run_nvme, 3, 0, 0, 8, 1, 0, through | small_table, 0b111, "grid_through"},
      {"grid_shadow", run_nvme, 2, 0, 0, 32, 1, 0, shadow},
      {"grid_tokens", run_nvme, 2, 0, 0, 32, 3},
      wide({"grid_transfers", run_nvme, 3, 0, 0, 16, 1, 30, 0, fair}),
      {"grid_transfers_failing", run_nvme, 2, 0, 0, 16, 1, 14, bad_blocks, fair},
      {"grid_unwaited", run_nvme, 2, 0, 0, 32, 1, 0, answers, fair},
      {"grid_posts", run_nvme, 6, 0, 0, 64, 2, 0, 0, fair},
      {"grid_deferred_posts", run_nvme, 6, 0, 0, 64, 2, 0, 0, fair},
      {"grid_hasty_posts", run_nvme, 6, 0, 0, 64, 2, 0, 0, fair},
      {"grid_shadow_posts", run_nvme, 4, 0, 0, 128, 6, 0, shadow, fair},
      wide({"block_hasty_posts", run_nvme, 1, 256, 0, 64, 2, 0, 0, fair}),
      wide({"block_posts", run_nvme, 1, 256, 0, 64, 2, 0, 0, fair}),
      {"grid_notified", run_nvme, 2, 0, 0, 64, 2},
      {"thread_notified", run_nvme, 1, 0, 0, 3, 2, 0, own_queues},
      {"thread_answered", run_nvme, 1, 4, 4, 3, 4, 0, own_queues | answers | watched},
      {"grid_answered", run_nvme, 2, 0, 0, 32, 2, 0, answers | watched},
      {"grid_forgotten", run_nvme, 4, 16, 0, 16, 5, 0, bad_blocks, fair},
      {"grid_failing", run_nvme, 4, 2, 0, 2, 6, 0, answers | bad_blocks | small_table | small_log, fair},
      {"block_failing", run_nvme, 1, 128, 0, 2, 6, 0, answers | bad_blocks | small_table | small_log, fair},
      {"block_others", run_nvme, 1, 128, 0, 64, 3, 0, 0, fair},
      {"grid_others", run_nvme, 2, 0, 0, 64, 3, 0, 0, fair},
      {"grid_lost", run_nvme, 6, 2, 0, 2, 8, 0, bad_blocks | small_table | small_log, fair},
      {"grid_watched", run_nvme, 3, 0, 0, 2, 1, 64, bad_blocks | small_table, fair},
      {"grid_watched_full", run_nvme, 3, 0, 0, 2, 1, 0, bad_blocks | small_table | small_log, fair, "grid_watched"},
      {"block_watched", run_nvme, 1, 192, 0, 2, 1, 64, bad_blocks | small_table, fair},
      {"block_watched_full", run_nvme, 1, 192, 0, 2, 1, 0, bad_blocks | small_table | small_log, fair, "block_watched"},
      {"grid_taken", run_nvme, 3, 0, 0, 2, 1, 0, bad_blocks | small_table | small_log, fair},
      {"wave_broken", run_nvme, 1, 0, 7, 5, 2, 0, twice, fair, "wave"},
      {"grid_broken", run_nvme, 2, 64, 0, 32, 1, 0, twice, fair, "grid"},
      {"grid_broken_deferred", run_nvme, 2, 0, 0, 16, 1, 0, twice, fair, "grid_deferred"},
      {"grid_long", run_nvme, 1, 4, 4, 4, 1, 40, small_pages, fair},
      {"grid_long_through", run_nvme, 1, 4, 4, 4, 1, 40, small_pages | through, fair},
      {"grid_long_failing", run_nvme, 2, 2, 0, 2, 1, 40, small_pages | bad_blocks, fair},
      {"block_long_failing", run_nvme, 1, 128, 0, 2, 1, 40, small_pages | bad_blocks, fair},
      {"grid_kept_failing", run_nvme, 3, 2, 0, 8, 2, 40, small_pages | bad_blocks, fair},
      // H25: commands in flight at the same time have page lists of their own.
      {"grid_lists", run_nvme, 2, 4, 0, 16, 2, 41, page_lists, fair, "grid_long"},
      // H24: no completion finds its ring full.
      {"wave_small_rings", run_nvme, 1, 0, 7, 15, 3, 0, small_rings, 0b111, "wave"},
      {"grid_small_rings", run_nvme, 2, 4, 0, 3, 3, 0, small_rings, 0b111, "grid_deferred"},
      // H2: counters exceed the bits of every shorter type.
      {"thread_long_used", run_nvme, 1, 2, 2, 13, 36, 0, own_queues | long_used, 0b111, "thread"},
      {"wave_long_used", run_nvme, 1, 0, 7, 13, 5, 0, long_used, 0b111, "wave"},
      {"grid_long_used", run_nvme, 2, 4, 0, 13, 5, 0, long_used, 0b111, "grid_deferred"},
      {"grid_striped", run_nvme, 2, 0, 0, 16, 1, 3, drives, fair},
      {"block_striped", run_nvme, 1, 64, 0, 16, 1, 3, drives, fair},
      {"thread_every_call", run_nvme, 1, 4, 4, 4, 1, 16, own_queues | pairs | small_table, fair},
      {"wave_every_call", run_nvme, 1, 0, 0, 256, 1, 72, pairs, fair},
      {"block_every_call", run_nvme, 1, 64, 0, 256, 1, 80, pairs, fair},
      {"grid_every_call", run_nvme, 2, 0, 0, 512, 1, 144, pairs, fair},
      {"wave_by_lane", run_nvme, 1, 0, 0, 64, 2, 3, drives, fair},
      {"block_by_lane", run_nvme, 1, 128, 0, 16, 1, 3, drives, fair},
      {"grid_by_lane", run_nvme, 2, 0, 0, 64, 1, 3, drives, fair},
      {"grid_by_lane_narrow", run_nvme, 2, 0, 0, 5, 1, 2, drives, fair, "grid_by_lane"},
      {"grid_by_lane_deferred", run_nvme, 2, 0, 0, 32, 1, 3, drives, fair},
      {"thread_mixed", run_nvme, 1, 4, 4, 2, 6, 0, own_queues | small_table, fair},
      {"thread_untold", run_nvme, 1, 4, 4, 3, 2, 0, own_queues, fair},
      {"grid_untold", run_nvme, 2, 0, 0, 256, 2, 0, 0, fair},
      {"grid_called", run_nvme, 2, 64, 0, 32, 1},
      {"block_handed", run_nvme, 1, 192, 0, 64, 2, 0, filled, fair},
      {"block_handed_through", run_nvme, 1, 192, 0, 64, 2, 0, filled | through, fair},
      {"block_synced", run_nvme, 1, 192, 0, 64, 2, 0, filled, fair},
      {"thread_loaded", run_nvme, 1, 8, 8, 4, 1, 0, own_queues | filled, fair},
      {"thread_loaded_through", run_nvme, 1, 8, 8, 4, 1, 0, own_queues | filled | through, fair},
      {"grid_zeroed", run_nvme, 2, 0, 0, 32, 1, 0, 0, fair},
      {"grid_zeroed_through", run_nvme, 2, 0, 0, 32, 1, 0, through, fair},
  };
}

std::vector<Case> key_value_cases() {
  constexpr uint32_t fair = 0b011;
  return {
      {"keys_thread", run_nvme, 1, 4, 4, 3, 2, 0, own_queues | keyed, fair},
      {"keys_wave", run_nvme, 1, 0, 0, 64, 1, 0, keyed, fair},
      {"keys_wave_in_part", run_nvme, 1, 0, 7, 5, 2, 0, keyed, fair, "keys_wave"},
      {"keys_block", run_nvme, 1, 128, 0, 32, 1, 0, keyed, fair},
      {"keys_grid", run_nvme, 2, 64, 0, 32, 1, 0, keyed, fair},
      {"keys_grid_narrow", run_nvme, 3, 0, 0, 7, 1, 0, keyed, fair, "keys_grid"},
      {"keys_grid_through", run_nvme, 2, 0, 0, 32, 1, 0, keyed | through, fair},
  };
}

}  // namespace scenarios
