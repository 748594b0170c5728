// SPDX-License-Identifier: MIT

/// @file
/// @brief Custom controllers: derive from NvmeTransport. This one prints the 32-bit register writes of the set-up
/// and forwards all accesses to another controller.
///
/// Usage: custom_controller [emulated | qemu[:key=value,...]]

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/qemu.hpp>

using namespace xio::host;

class Tracing final : public NvmeTransport {
 public:
  explicit Tracing(std::unique_ptr<NvmeTransport> below) : below_(std::move(below)) {}

  uint32_t read32(uint64_t offset) override { return below_->read32(offset); }
  uint64_t read64(uint64_t offset) override { return below_->read64(offset); }
  void write32(uint64_t offset, uint32_t value) override {
    std::printf("register %#4llx = %#x\n", static_cast<unsigned long long>(offset), value);
    below_->write32(offset, value);
  }
  void write64(uint64_t offset, uint64_t value) override { below_->write64(offset, value); }
  void ring(uint64_t offset, uint32_t value) override { below_->ring(offset, value); }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return below_->allocate(bytes, alignment); }
  uint32_t* doorbell_words() override { return below_->doorbell_words(); }
  bool doorbells_are_registers() const override { return below_->doorbells_are_registers(); }
  void open_doorbell(uint32_t index) override { below_->open_doorbell(index); }
  void close_doorbell(uint32_t index) override { below_->close_doorbell(index); }
  std::string description() const override { return "traced " + below_->description(); }
  bool alive() const override { return below_->alive(); }

 private:
  std::unique_ptr<NvmeTransport> below_;
};

int main(int argc, char** argv) try {
  const std::string which = argc > 1 ? argv[1] : "emulated";
  std::unique_ptr<NvmeTransport> below;
  if (which == "emulated") {
    below = std::make_unique<xio::emulation::NvmeController>();
  } else {
    below = std::make_unique<QemuNvme>(parse_qemu_spec(which));
  }
  NvmeController controller(std::make_unique<Tracing>(std::move(below)));
  const NvmeQueue queue = controller.create_queue();
  std::printf("%s: %s, queue %u of depth %u\n", controller.transport().description().c_str(),
              controller.info().model.c_str(), queue.qid(), queue.plan().depth);
} catch (const Error& error) {
  std::fprintf(stderr, "custom_controller: %s\n", error.what());
  return 1;
}
