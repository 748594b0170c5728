// SPDX-License-Identifier: MIT

/// @file
/// @brief Queues with the policy InGpuMemory: refused, and nothing claimed, unless handle and region say that they lie
/// there. Host memory plays the GPU's.

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::InGpuMemory;
using xio::Memory;
namespace memory_mode = xio::memory_mode;

namespace {

constexpr uint32_t parts[] = {memory_mode::sq, memory_mode::cq, memory_mode::doorbell_record};

/// A region whose maker says that it lies there.
Region in_gpu(Region region) {
  region.memory = Memory::device;
  return region;
}

template <class Policy>
void check_queue_pair() {
  using Kit = xio::emulation::Mlx5Kit<>;
  RdmaRig<Kit> rig;
  rig.running();
  QueuePairHandle handle = rig.near.handle();
  CHECK(handle.gpu_memory == 0);
  for (const uint32_t part : parts) {
    handle.gpu_memory = memory_mode::queue & ~part;
    Sends<Kit, Sharing::grid, Policy> qp(handle);
    CHECK(qp.put(rig.remote.at(0, 8), in_gpu(rig.local).at(0, 8), soon()).status == Status::unsupported);
    CHECK(qp.put_signal(rig.remote.at(0, 8), in_gpu(rig.local).at(0, 8), rig.remote.at(8, 8), 1, soon()).status ==
          Status::unsupported);
    const xio::rdma::Piece piece{rig.remote.at(0, 8), in_gpu(rig.local).at(0, 8)};
    CHECK(qp.submit_batch(xio::rdma::Operation::put, &piece, 1, soon()).status == Status::unsupported);
    CHECK(rig.near.posted() == 0);
  }
  handle.gpu_memory = memory_mode::queue;
  Sends<Kit, Sharing::grid, Policy> qp(handle);
  CHECK(qp.wait(qp.put(rig.remote.at(0, 8), in_gpu(rig.local).at(0, 8), soon()), soon()).is_ok());
  CHECK(rig.near.posted() == 1);
  rig.nic.stop();
}

template <Sharing S, class Policy>
void check_queue() {
  Rig rig;
  const NvmeQueue made = rig.queue(8);
  QueueHandle handle = made.handle();
  CHECK(handle.gpu_memory == memory_mode::doorbell_record);  // it has none
  const Region data = in_gpu(rig.data.region());
  Notification progress{};
  const xio::nvme::Piece piece{0, rig.bus(), 1};
  for (const uint32_t part : parts) {
    handle.gpu_memory = memory_mode::queue & ~part;
    Queue<S, xio::Policy<Policy, Notify>> queue(handle);
    CHECK(queue.read(0, data.at(0, 512), soon()).status == Status::unsupported);
    CHECK(queue.submit_batch(xio::nvme::Opcode::read, &piece, 1, soon()).status == Status::unsupported);
    CHECK(queue.transfer(xio::nvme::Opcode::read, &piece, 1, soon(), progress) == Status::unsupported);
    CHECK(queue.flush_inbound(soon()) == Status::unsupported);
    CHECK(handle.state->reserved == 0);
  }
  handle.gpu_memory = memory_mode::queue;
  Queue<S, Policy> queue(handle);
  CHECK(queue.wait(queue.read(0, data.at(0, 512), soon()), soon()).is_ok());
}

}  // namespace

TEST_CASE("queues in host memory are refused with InGpuMemory, and claim nothing", "[H37]") {
  check_queue_pair<Policy<InGpuMemory>>();
  check_queue_pair<Policy<xio::Unchecked, InGpuMemory>>();
  check_queue<Sharing::thread, Policy<InGpuMemory>>();
  check_queue<Sharing::grid, Policy<InGpuMemory>>();
  check_queue<Sharing::wave, Policy<xio::Unchecked, InGpuMemory>>();

  using Kit = xio::emulation::Mlx5Kit<>;
  RdmaRig<Kit> rig;
  Receives<Kit, Sharing::grid, Policy<InGpuMemory>> receives(rig.far.receive_handle());
  CHECK(receives.post(in_gpu(rig.local).at(0, 8), soon()).status == Status::unsupported);
  CHECK(receives.handle().state->queue.reserved == 0);
}

TEST_CASE("data in host memory is refused with InGpuMemory, and nothing is claimed", "[H37]") {
  using Kit = xio::emulation::Mlx5Kit<>;
  RdmaRig<Kit> rig;
  rig.running();
  QueuePairHandle handle = rig.near.handle();
  handle.gpu_memory = memory_mode::queue;
  Sends<Kit, Sharing::grid, Policy<InGpuMemory>> qp(handle);
  const Region there = in_gpu(rig.local);
  const Region here = rig.local;
  CHECK(here.memory == Memory::host);
  CHECK(qp.put(rig.remote.at(0, 8), here.at(0, 8), soon()).status == Status::unsupported);
  CHECK(qp.get(here.at(0, 8), rig.remote.at(0, 8), soon()).status == Status::unsupported);
  CHECK(qp.fetch_add(rig.remote.at(0, 8), 1, here.at(0, 8), soon()).status == Status::unsupported);
  CHECK(qp.put_signal(rig.remote.at(0, 8), here.at(0, 8), rig.remote.at(8, 8), 1, soon()).status ==
        Status::unsupported);
  CHECK(qp.put_signal(rig.remote.at(0, 8), there.at(0, 8), rig.remote.at(8, 8), here.at(0, 8), soon()).status ==
        Status::unsupported);
  const xio::rdma::Piece pieces[] = {{rig.remote.at(0, 8), there.at(0, 8)}, {rig.remote.at(8, 8), here.at(8, 8)}};
  CHECK(qp.submit_batch(xio::rdma::Operation::put, pieces, 2, soon()).status == Status::unsupported);
  CHECK(rig.near.posted() == 0);

  xio::rdma::ReceiveQueueHandle receiving = rig.far.receive_handle();
  receiving.gpu_memory = memory_mode::queue;
  Receives<Kit, Sharing::grid, Policy<InGpuMemory>> receives(receiving);
  CHECK(receives.post(here.at(0, 8), soon()).status == Status::unsupported);
  CHECK(receives.post(there.at(0, 8), soon()).submitted());
  rig.nic.stop();

  Rig drive;
  const NvmeQueue made = drive.queue(8);
  QueueHandle queues = made.handle();
  queues.gpu_memory = memory_mode::queue;
  const Region data = drive.data.region();
  Queue<Sharing::thread, Policy<InGpuMemory>> alone(queues);
  CHECK(alone.read(0, data.at(0, 512), soon()).status == Status::unsupported);
  Queue<Sharing::grid, Policy<InGpuMemory>> queue(queues);
  CHECK(queue.read(0, data.at(0, 512), soon()).status == Status::unsupported);
  CHECK(queue.submit(xio::nvme::read(0, 1), xio::nvme::as_sgl(data.at(0, 512)), soon()).status == Status::unsupported);
  const auto pieces_of = [](const Region& memory) {
    return [=](uint32_t i) { return xio::nvme::PieceOf<xio::RegionSpan>{i, memory.at(512 * i, 512), 1}; };
  };
  CHECK(queue.submit_batch(xio::nvme::Opcode::read, pieces_of(data), 2, soon()).status == Status::unsupported);
  CHECK(queues.state->reserved == 0);
  CHECK(queue.wait_batch(queue.submit_batch(xio::nvme::Opcode::read, pieces_of(in_gpu(data)), 2, soon()), soon())
            .is_ok());
  CHECK(queue.wait(queue.read(0, in_gpu(data).at(0, 512), soon()), soon()).is_ok());
}

TEST_CASE("handles and regions say where the host has allocated", "") {
  xio::emulation::NvmeConfig config;
  config.memory = xio::emulation::heap_memory();
  config.memory.memory = Memory::device;
  Rig drive(std::move(config));
  CHECK(drive.data.region().at(0, 8).memory == Memory::device);
  CHECK(drive.queue(8).handle().gpu_memory == memory_mode::queue);
  const auto on_host = [&](size_t bytes, size_t alignment) {
    const auto buffer = std::make_shared<DmaBuffer>(drive.model.allocate(bytes, alignment));
    return DmaBuffer(buffer->data(), buffer->bus(), bytes, buffer);
  };
  CHECK(drive.queue(8, [&](QueueOptions& options) { options.allocate_sq = on_host; }).handle().gpu_memory ==
        (memory_mode::cq | memory_mode::doorbell_record));
  CHECK(drive.queue(8, [&](QueueOptions& options) { options.allocate_cq = on_host; }).handle().gpu_memory ==
        (memory_mode::sq | memory_mode::doorbell_record));
  CHECK(drive
            .queue(8,
                   [&](QueueOptions& options) {
                     options.allocate_rings = on_host;  // and lists
                     options.allocate_sq = [&](size_t bytes, size_t align) {
                       return drive.model.allocate(bytes, align);
                     };
                   })
            .handle()
            .gpu_memory == memory_mode::doorbell_record);

  using Kit = xio::emulation::Mlx5Kit<>;
  RdmaFabric fabric;
  xio::emulation::MemorySource source = xio::emulation::heap_memory();
  source.memory = Memory::device;
  RdmaQueuePair<Kit> pair(fabric, Kit::config(), source);
  CHECK(pair.handle().gpu_memory == memory_mode::queue);
  CHECK(pair.receive_handle().gpu_memory == memory_mode::queue);
}
