// SPDX-License-Identifier: MIT

/// @file
/// @brief Hands an ordinary ibv_qp of a ConnectX, connected to itself, to a kernel that writes memory of this machine.
/// Usage: adopt_queue_pair [bytes for each thread]. Exits with 77 if there is no ConnectX.

#include <xio/host/rdma/mlx5.hpp>
#include <xio/host/rdma/queue_pair.hpp>
#include <xio/host/simt/simt.hpp>

#include <algorithm>
#include <vector>

#include "common.hpp"
#include "kernels/put_and_wait.hpp"

namespace {

namespace host = xio::host;

/// The first device that libmlx5 supports; empty if there is none.
std::string first_connectx() try {
  for (const std::string& name : host::rdma_device_names())
    if (name.compare(0, 5, "mlx5_") == 0) return name;
  return {};
} catch (const host::Error&) {
  return {};  // no libibverbs, or no RDMA in this kernel
}

bool put_with(const std::string& name, uint32_t bytes) {
  const host::RdmaDevice device({name, 1, {}});
  const host::ProtectionDomain domain(device);
  const host::CompletionQueue sends(device, 256);
  const host::CompletionQueue receives(device, 64);
  host::VerbsQueuePair queue(device, domain, sends, receives);  // or a queue pair of your program
  queue.connect_to_itself();
  std::vector<unsigned char> memory(size_t{2} * 65536);
  for (size_t i = 0; i < 65536; ++i) memory[i] = static_cast<unsigned char>(i * 7);
  const host::MemoryRegion region(domain, memory.data(), memory.size());
  const auto first = reinterpret_cast<uintptr_t>(memory.data());

  const auto adopted = host::adopt_mlx5<>(queue.get());
  std::vector<xio::Status> results(64);
  xio::simt::launch(xio::simt::Grid::of_waves(2, 1, 32), put_and_wait<xio::mlx5::Vendor<>>, adopted.handle(),
                    xio::rdma::RemoteMemory{first + 65536, 65536, region.rkey()},
                    xio::Region{first, 65536, region.lkey()}, bytes, results.data());
  const auto good = std::count_if(results.begin(), results.end(), [](xio::Status s) { return s.is_ok(); });
  std::printf("%s: %d of 64 writes\n", name.c_str(), static_cast<int>(good));
  return good == 64 && std::equal(memory.begin(), memory.begin() + 65536, memory.begin() + 65536);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = first_connectx();
  if (name.empty()) return std::puts("skipped: no ConnectX"), 77;
  return example::run(
      [&] { return put_with(name, static_cast<uint32_t>(std::stoul(example::argument(argc, argv, 1, "1024")))); });
}
