// SPDX-License-Identifier: MIT

/// @file
/// @brief The NVMe scenarios' kernels as programs for the explorer, with a tiny device that moves their data.

#include <scenarios/kernels/nvme_small.hip>

#include <algorithm>

#include <executors/explorer.hpp>
#include <model/device.hpp>
#include <scenarios/launch.hpp>

namespace executors {

namespace {

using namespace scenarios;
using xio::nvme::Sqe;

constexpr uint32_t words = 2;  ///< of a block that are filled and compared
constexpr uint32_t most_blocks = 32;
constexpr uint64_t data_bus = 0x100000;

struct KernelMemory {
  uint64_t data[most_threads * thread_bytes / 8];
  uint64_t medium[most_blocks][words];
  /// A command in flight, by its identifier.
  struct Command {
    uint64_t opcode, block, bus;
  } commands[model::most_entries];
  Report report;
  xio::Notification told[most_threads];
  xio::KeptResult kept[most_threads * 3];
  Turn turns[most_threads];
};

/// Each wave of a row runs its kernel.
class Kernel final : public model::QueueProgramWith<KernelMemory> {
 public:
  Kernel(model::Explorer& explorer, const Small& small)
      : QueueProgramWith(explorer, sizes(small.row.depth), small.waves()), small_(small) {
    const auto found = kernels<NvmeJob>().find(small.row.kernel_name());
    explorer.require(found != kernels<NvmeJob>().end(), "there is no such kernel");
    kernel_ = found->second;
    shadow_ = has(shadow);
    handle_ = handle();
    if (has(small_log)) handle_.failure_entries = 1;
    job_.queues = &handle_;
    job_.bus = data_bus;
    job_.data = memory_.data;
    job_.report = &memory_.report;
    job_.notifications = memory_.told;
    job_.kept = memory_.kept;
    job_.turns = memory_.turns;
    job_.lanes = small.lanes();
    job_.rounds = small.row.rounds;
    job_.words = words;
    job_.patience_ns = 1'000'000;
    job_.pieces = pieces_;
    job_.count = small.row.count;
    if (has(filled)) fill_blocks(memory_.data, job_.lanes);
    const bool all_calls = small.row.name.find("every") != std::string::npos;
    // So that a list of pieces has more of them than the queue has entries, or each caller has one.
    if (job_.count != 0) job_.count = all_calls ? job_.lanes + callers() : 3;
    const uint32_t lists = has(pairs) ? 1 : waves_;
    for (uint32_t i = 0; i < job_.count * lists && i < most_pieces / 2; ++i) {
      const uint64_t bus = data_bus + i % job_.lanes * thread_bytes;
      pieces_[i] = {i, bus, 1};
      pieces_[job_.count * lists + i] = {i, bus + thread_bytes / 2, 1};
    }
  }

  bool unmarked() const override { return true; }
  model::WavePlace place(uint32_t actor) const override {
    return actor < waves_ ? small_.place(actor) : Program::place(actor);
  }

 private:
  static constexpr uint32_t most_pieces = 32;

  static model::Sizes sizes(uint32_t depth) {
    return depth < 4 ? model::Sizes{4, 4, 4, depth} : model::Sizes{8, 8, 4, depth};
  }
  bool has(uint32_t feature) const { return (small_.row.features & feature) != 0; }
  void wave(uint32_t) override { kernel_(job_); }
  /// How many call together, in a kernel that makes every call.
  uint32_t callers() const { return has(own_queues) ? job_.lanes : waves_; }
  uint32_t runs() const override { return small_.threads(); }
  uint32_t accepted() const override { return static_cast<uint32_t>(xio::protocol::tickets(memory_.state.reserved)); }

  void look_at(const Sqe& entry) override {
    const uint64_t bus = entry.prp1;
    explorer_.require(entry.cdw10 < most_blocks && entry.cdw11 == 0, "a block that the medium does not have");
    explorer_.require((entry.cdw12 & 0xffff) == 0, "a command of several blocks");
    explorer_.require(bus >= data_bus && bus % block_bytes == 0 && bus - data_bus < sizeof memory_.data,
                      "data that is not the kernel's");
    memory_.commands[slot_of(entry.cdw0 >> 16)] = {entry.cdw0 & 0xff, entry.cdw10, bus};
  }

  uint16_t execute(const model::Live& live) override {
    KernelMemory::Command& command = memory_.commands[slot_of(live.cid)];
    uint64_t* const data = memory_.data + (command.bus - data_bus) / 8;
    uint64_t* const medium = memory_.medium[command.block];
    const auto opcode = static_cast<xio::nvme::Opcode>(command.opcode);
    const uint64_t block = command.block;
    command = {};
    if (has(bad_blocks) && is_bad(block)) return 0x06;
    switch (opcode) {
      case xio::nvme::Opcode::write: std::copy_n(data, words, medium); return 0;
      case xio::nvme::Opcode::read: std::copy_n(medium, words, data); return 0;
      case xio::nvme::Opcode::compare: return std::equal(data, data + words, medium) ? 0 : 0x285;
      default: explorer_.fail("an opcode that the device does not have");
    }
  }
  uint32_t result_of(uint64_t block) const override {
    return has(answers) ? static_cast<uint32_t>(answer_of(block)) : 0;
  }

  std::string verdict() override {
    return complaint(memory_.report, nvme_operations(small_.row, small_.lanes(), small_.waves()));
  }

  static uint32_t slot_of(uint32_t cid) { return (cid & ~xio::nvme::detail::notified_bit) % model::most_entries; }

  const Small small_;
  void (*kernel_)(const NvmeJob&);
  xio::nvme::QueueHandle handle_;
  xio::nvme::Piece pieces_[most_pieces]{};
  NvmeJob job_{};
};

}  // namespace

bool has_kernel(const std::string& name) { return kernels<NvmeJob>().count(name) != 0; }

model::Result explore_nvme(const Small& small, const model::Limits& limits) { return explore<Kernel>(small, limits); }

}  // namespace executors
