// SPDX-License-Identifier: MIT

/// @file
/// @brief Arbitrary identify data, and other answers of a controller, while it is set up: what comes of it is a queue
/// whose handle makes sense, or an Error.

#include <memory>

#include <xio/host/nvme/controller.hpp>

#include "fuzz/fuzz.hpp"
#include "unit/host_fake_controller.hpp"

namespace {

using namespace fuzz;
using namespace xio::host;

/// What the controller answers: pages of the fuzzer's over those of a controller that makes sense.
struct Answers {
  struct Patch {
    uint8_t page;
    uint16_t offset;
    std::vector<uint8_t> bytes;
  };
  std::vector<Patch> patches;

  explicit Answers(Input& input) {
    const uint32_t count = input.up_to<uint8_t>(12);
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t page = input.take();
      // Where the library looks, most of the time.
      const uint16_t known[] = {0, 4, 24, 25, 26, 29, 64, 77, 128, 130, 132, 256, 259, 516, 520, 525, 536};
      const uint16_t offset = (page & 0x80) != 0 ? input.take<uint16_t>() % 4096 : known[input.take() % 17];
      patches.push_back({static_cast<uint8_t>(page & 3), offset, input.bytes(1u + (input.take() & 7))});
    }
  }
  void apply(uint8_t* page, uint32_t cns) const {
    for (const Patch& patch : patches)
      if (patch.page == (cns & 3))
        for (size_t i = 0; i < patch.bytes.size() && patch.offset + i < 4096; ++i)
          page[patch.offset + i] = patch.bytes[i];
  }
};

/// Lets a transport answer and then changes what it wrote.
class Changed final : public NvmeTransport {
 public:
  Changed(std::shared_ptr<host_tests::FakeWorld> world, const Answers& answers)
      : fake_(std::move(world)), answers_(answers) {}
  uint32_t read32(uint64_t offset) override { return fake_.read32(offset); }
  uint64_t read64(uint64_t offset) override { return fake_.read64(offset); }
  void write32(uint64_t offset, uint32_t value) override {
    if (offset == xio::nvme::reg::aqa) entries_ = (value & 0xfff) + 1;
    fake_.write32(offset, value);
  }
  void write64(uint64_t offset, uint64_t value) override {
    if (offset == xio::nvme::reg::asq) asq_ = value;
    fake_.write64(offset, value);
  }
  void ring(uint64_t offset, uint32_t value) override {
    fake_.ring(offset, value);
    if (offset != 0x1000) return;
    // One command at a time: the last one before the tail.
    xio::nvme::Sqe entry;
    std::memcpy(&entry, fake_.at(asq_ + (value + entries_ - 1) % entries_ * sizeof entry, sizeof entry), sizeof entry);
    if ((entry.cdw0 & 0xff) == 0x06)
      answers_.apply(static_cast<uint8_t*>(fake_.at(entry.prp1, 4096)), entry.cdw10 & 0xff);
  }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return fake_.allocate(bytes, alignment); }
  uint32_t* doorbell_words() override { return fake_.doorbell_words(); }
  void open_doorbell(uint32_t index) override { fake_.open_doorbell(index); }
  void close_doorbell(uint32_t index) override { fake_.close_doorbell(index); }
  std::string description() const override { return "the changed fake"; }

 private:
  host_tests::FakeNvme fake_;
  const Answers& answers_;
  uint32_t entries_ = 1;
  uint64_t asq_ = 0;
};

void check_handle(const NvmeController& controller, const xio::nvme::QueueHandle& h, const QueueOptions& wanted) {
  const uint64_t page = uint64_t{1} << h.page_shift;
  expect(h.page_shift >= 12 && h.page_shift <= 27, "page size");
  expect(h.block_shift >= 9 && h.block_shift <= 31, "block size");
  expect(h.max_blocks >= 1 && h.max_blocks <= 65536, "blocks of one command");
  const uint64_t most = controller.info().max_transfer_bytes;
  expect(most == 0 || uint64_t{h.max_blocks} << h.block_shift <= most, "a command moves no more than MDTS");
  expect(uint64_t{h.max_blocks} << h.block_shift <= uint64_t{1} << 31, "a command moves no more than builders know");
  expect(h.depth >= 1 && h.depth <= wanted.depth && h.depth <= h.sq_mask && h.depth <= h.cq_mask, "depth");
  expect(((h.sq_mask + 1) & h.sq_mask) == 0 && h.sq_mask < controller.max_queue_entries(), "submission ring");
  expect(((h.cq_mask + 1) & h.cq_mask) == 0 && h.cq_mask < controller.max_queue_entries(), "completion ring");
  expect(((h.slot_mask + 1) & h.slot_mask) == 0 && h.slot_mask < 32768 && h.slot_mask + 1 >= 2 * h.depth, "slots");
  expect(h.list_bytes % 8 == 0, "list memory");
  // Wherever a buffer of the longest command starts, its list fits.
  const uint64_t longest = uint64_t{h.max_blocks} << h.block_shift;
  const uint64_t pages = longest / page + (longest % page != 0 ? 1 : 0);
  expect(pages <= 1 || h.list_bytes / 8 >= (pages > h.list_bytes / 8 ? ~uint64_t{0} : pages), "the list fits");
}

/// A text of so many bytes, each of which takes four when it is escaped.
bool can_be_shown(const std::string& text, size_t bytes) {
  for (const char one : text)
    if (one < ' ' || one > '~') return false;
  return text.size() <= 4 * bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  auto world = std::make_shared<host_tests::FakeWorld>();
  world->mqes = 1 + input.up_to<uint16_t>(4094);
  world->mpsmin = input.take() & 3;
  world->mpsmax = world->mpsmin + (input.take() & 3);
  world->mdts = input.take();
  world->granted = 1 + (input.take() & 63);
  world->css = 1 | (input.take() & 0xfe);
  const Answers answers(input);
  QueueOptions options;
  options.depth = 1 + input.take();
  options.nsid = input.flag() ? 1 : input.take<uint32_t>();
  try {
    NvmeController controller(std::make_unique<Changed>(world, answers));
    const ControllerInfo& info = controller.info();
    expect(can_be_shown(info.serial, 20) && can_be_shown(info.model, 40) && can_be_shown(info.firmware, 8), "texts");
    expect(info.max_events >= 1 && info.max_events <= 256, "events");
    expect(controller.granted_queues() >= 1 && controller.granted_queues() <= 65535, "queues");
    const NvmeQueue queue = controller.create_queue(options);
    check_handle(controller, queue.handle(), options);
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a refusal says why");
  }
  // Namespaces one by one, whatever the list says.
  try {
    NvmeController controller(std::make_unique<Changed>(world, answers));
    const std::vector<uint32_t> ids = controller.active_namespaces();
    for (size_t i = 1; i < ids.size(); ++i) expect(ids[i - 1] < ids[i], "active namespaces in order, each once");
    for (size_t i = 0; i < ids.size() && i < 4; ++i) {
      const NamespaceInfo one = controller.identify_namespace(ids[i]);
      expect(one.nsid == ids[i], "the namespace that was asked for");
      expect(one.block_bytes == 0 || one.block_bytes == uint64_t{1} << one.block_shift, "block size");
      expect(one.protection_type <= 7, "protection");
    }
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a refusal says why");
  }
  expect(world->live_sqs.empty() || !world->alive, "queues end with their controller");
  expect(world->memory.empty(), "all memory was given back");
  return 0;
}
