// SPDX-License-Identifier: MIT
#include "tester/launch/memory.hpp"

#include <xio/device/arch/arch.hpp>
#include <xio/host/rdma/gpu_reach.hpp>

namespace tester {

using xio::host::DmaBuffer;

/// The GPU's mappings, and what addresses became by them.
struct ExecutorMemory::Mappings {
  explicit Mappings(std::shared_ptr<xio::host::GpuRuntime> gpu) : reach(std::move(gpu)) {}
  void add(void* cpu, void* gpu, size_t bytes) { addresses.add(cpu, gpu, bytes); }
  void remove(void* cpu, size_t bytes) {
    addresses.remove(cpu);
    reach.remove(cpu, bytes);
  }

  xio::host::GpuReach reach;
  xio::host::ExecutorAddresses addresses;
};

ExecutorMemory::ExecutorMemory(std::shared_ptr<xio::host::GpuRuntime> gpu)
    : gpu_(std::move(gpu)), clock_hz_(gpu_ ? gpu_->clock_hz() : xio::arch::clock_hz) {
  if (!gpu_) return;
  mappings_ = std::make_shared<Mappings>(gpu_);
  // HIP before 6 does not tell; all AMD GPUs that it knows count at this rate.
  if (clock_hz_ == 0) clock_hz_ = 100000000;
}

void* ExecutorMemory::address(void* cpu) const { return mappings_ ? mappings_->addresses(cpu) : cpu; }

DmaBuffer ExecutorMemory::share(DmaBuffer buffer) const {
  if (!mappings_) return buffer;
  void* const cpu = buffer.data();
  const size_t bytes = buffer.size();
  const uint64_t bus = buffer.bus();
  mappings_->add(cpu, mappings_->reach.add_memory(cpu, bytes), bytes);
  auto kept = std::make_shared<DmaBuffer>(std::move(buffer));
  return {cpu, bus, bytes, {cpu, [mappings = mappings_, kept, bytes](void* data) { mappings->remove(data, bytes); }}};
}

void ExecutorMemory::add(const xio::host::MemoryBuffer& buffer) const {
  if (mappings_) mappings_->addresses.add(buffer);
}

std::shared_ptr<void> ExecutorMemory::share_doorbells(void* page, size_t bytes, bool registers) const {
  if (!mappings_) return nullptr;
  xio::host::GpuReach& reach = mappings_->reach;
  mappings_->add(page, registers ? reach.add_registers(page, bytes) : reach.add_memory(page, bytes), bytes);
  return {page, [mappings = mappings_, bytes](void* data) { mappings->remove(data, bytes); }};
}

}  // namespace tester
