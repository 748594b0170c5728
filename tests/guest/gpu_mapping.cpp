// SPDX-License-Identifier: MIT

/// @file
/// @brief Doorbell mappings on the registers of a real controller, with a runtime that is played: the probe, and I/O
/// through the proxy. Overwrites blocks of the controller that XIO_VFIO_TEST names; skipped where it names none.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <xio/device/nvme/queue.hpp>
#include <xio/host/memory/doorbell_mapping.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/idle_probe.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "catch.hpp"
#include "skip.hpp"
#include "unit/fake_gpu/support.hpp"

using namespace xio::host;
namespace nvme = xio::nvme;

namespace {

/// What the tests work on; empty where there is nothing.
std::string controller_spec() {
  const char* const spec = std::getenv("XIO_VFIO_TEST");
  if (spec == nullptr) xio_tests::skip("XIO_VFIO_TEST names no controller whose blocks may be overwritten");
  return spec == nullptr ? "" : spec;
}

/// A controller whose doorbells go where a mapping says.
class Mapped final : public NvmeTransport {
 public:
  Mapped(std::unique_ptr<VfioNvme> below, const std::shared_ptr<GpuRuntime>& gpu) : below_(std::move(below)) {
    IdleControllerProbe probe(*below_);
    mapping_.emplace(gpu, below_->registers(), DoorbellMapping::Words{0x1000, 64}, &probe);
  }

  uint32_t read32(uint64_t offset) override { return below_->read32(offset); }
  uint64_t read64(uint64_t offset) override { return below_->read64(offset); }
  void write32(uint64_t offset, uint32_t value) override { below_->write32(offset, value); }
  void write64(uint64_t offset, uint64_t value) override { below_->write64(offset, value); }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return below_->allocate(bytes, alignment); }
  uint32_t* doorbell_words() override { return mapping_->cpu_words(); }
  void open_doorbell(uint32_t index) override { mapping_->open(index); }
  void close_doorbell(uint32_t index) override { mapping_->close(index); }
  std::string description() const override { return below_->description(); }

  const DoorbellMapping& mapping() const { return *mapping_; }

 private:
  std::unique_ptr<VfioNvme> below_;
  std::optional<DoorbellMapping> mapping_;
};

xio::Status transfer(const NvmeQueue& from, const nvme::Command& command, uint64_t bus) {
  nvme::Queue<xio::Sharing::thread> queue(from.handle());
  const xio::Deadline until = xio::deadline(xio::Duration{20000000000});
  return queue.wait(queue.submit(command, nvme::ContiguousPages{bus}, until), until);
}

void write_and_read(NvmeController& controller) {
  const NvmeQueue queue = controller.create_queue();
  const uint32_t bytes = 1u << queue.handle().block_shift;
  const DmaBuffer out = controller.allocate(bytes);
  const DmaBuffer in = controller.allocate(bytes);
  // More than the ring holds.
  for (uint32_t i = 0; i < 300; ++i) {
    *out.as<uint32_t>(bytes - 4) = i + 1;
    REQUIRE(transfer(queue, nvme::write(i, 1), out.bus()).is_ok());
    REQUIRE(transfer(queue, nvme::read(i, 1), in.bus()).is_ok());
    REQUIRE(std::memcmp(out.data(), in.data(), bytes) == 0);
  }
}

}  // namespace

TEST_CASE("a probe's store arrives at the registers, and the controller works after it", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  const fake_gpu::Machine machine;
  auto transport = std::make_unique<Mapped>(std::make_unique<VfioNvme>(parse_vfio_spec(spec)), machine.hip());
  INFO(transport->mapping().report().text());
  CHECK(transport->mapping().path() == DoorbellPath::host_register);
  CHECK(transport->mapping().report().attempts.size() == 1);
  NvmeController controller(std::move(transport));
  write_and_read(controller);
}

TEST_CASE("where stores do not arrive, I/O goes through the proxy", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  const fake_gpu::Machine machine;
  machine->lose_stores = 1;
  auto transport = std::make_unique<Mapped>(std::make_unique<VfioNvme>(parse_vfio_spec(spec)), machine.hip());
  INFO(transport->mapping().report().text());
  CHECK(transport->mapping().path() == DoorbellPath::proxy);
  CHECK(transport->mapping().report().attempts.size() == 3);
  NvmeController controller(std::move(transport));
  write_and_read(controller);
}
