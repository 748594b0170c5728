// SPDX-License-Identifier: MIT
#include "tester/executor_memory.hpp"

#include <map>
#include <mutex>

#include <xio/device/arch.hpp>
#include <xio/host/gpu/reach.hpp>

namespace tester {

using xio::host::DmaBuffer;

/// Pieces by their address on the CPU.
struct ExecutorMemory::Addresses {
  struct Piece {
    size_t bytes;
    unsigned char* gpu;
  };
  explicit Addresses(std::shared_ptr<xio::host::GpuRuntime> gpu) : reach(std::move(gpu)) {}
  void add(void* cpu, size_t bytes, void* gpu) {
    const std::lock_guard<std::mutex> lock(mutex);
    pieces[static_cast<unsigned char*>(cpu)] = {bytes, static_cast<unsigned char*>(gpu)};
  }
  void remove(void* cpu) {
    const std::lock_guard<std::mutex> lock(mutex);
    pieces.erase(static_cast<unsigned char*>(cpu));
  }

  xio::host::GpuReach reach;
  std::mutex mutex;
  std::map<unsigned char*, Piece> pieces;
};

ExecutorMemory::ExecutorMemory(std::shared_ptr<xio::host::GpuRuntime> gpu)
    : gpu_(std::move(gpu)), clock_hz_(gpu_ ? gpu_->clock_hz() : xio::arch::clock_hz) {
  if (!gpu_) return;
  addresses_ = std::make_shared<Addresses>(gpu_);
  // HIP before 6 does not tell; all AMD GPUs that it knows count at this rate.
  if (clock_hz_ == 0) clock_hz_ = 100000000;
}

void* ExecutorMemory::address(void* cpu) const {
  if (!addresses_) return cpu;
  auto* const byte = static_cast<unsigned char*>(cpu);
  const std::lock_guard<std::mutex> lock(addresses_->mutex);
  auto piece = addresses_->pieces.upper_bound(byte);
  if (piece == addresses_->pieces.begin()) return cpu;
  --piece;
  const auto offset = static_cast<size_t>(byte - piece->first);
  return offset < piece->second.bytes ? piece->second.gpu + offset : cpu;
}

DmaBuffer ExecutorMemory::share(DmaBuffer buffer) const {
  if (!addresses_) return buffer;
  void* const cpu = buffer.data();
  const size_t bytes = buffer.size();
  const uint64_t bus = buffer.bus();
  addresses_->add(cpu, bytes, addresses_->reach.add_memory(cpu, bytes));
  auto kept = std::make_shared<DmaBuffer>(std::move(buffer));
  std::shared_ptr<void> owner(cpu, [addresses = addresses_, kept, bytes](void* data) {
    addresses->remove(data);
    addresses->reach.remove(data, bytes);
  });
  return {cpu, bus, bytes, std::move(owner)};
}

std::shared_ptr<void> ExecutorMemory::share_doorbells(void* page, size_t bytes, bool registers) const {
  if (!addresses_) return nullptr;
  void* const gpu =
      registers ? addresses_->reach.add_registers(page, bytes) : addresses_->reach.add_memory(page, bytes);
  addresses_->add(page, bytes, gpu);
  return {page, [addresses = addresses_, bytes](void* data) {
            addresses->remove(data);
            addresses->reach.remove(data, bytes);
          }};
}

}  // namespace tester
