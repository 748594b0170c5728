// SPDX-License-Identifier: MIT
// Each thread of a kernel stores a value under a key, fetches it into another buffer and deletes it. The same source
// runs on the CPU and on GPUs. Usage: key_value [BYTES of a value]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/kv.hpp>

using namespace xio;

constexpr uint32_t threads = 64;

XIO_KERNEL void store_and_fetch(nvme::QueueHandle handle, Region from, Region to, uint32_t bytes, Status* status) {
  nvme::kv::Queue<Sharing::grid> queue(handle);  // all threads share it
  const uint32_t i = arch::block_index() * arch::block_size() + arch::thread_index();
  const nvme::kv::Key key = nvme::kv::Key::of(0x1000 + i);  // or 16 bytes of a hash
  const uint64_t mine = i * (from.length / threads);
  const Deadline until = queue.deadline(1_s);
  Status how = queue.wait(queue.store(key, from.at(mine, bytes), until), until);
  if (how.is_ok()) how = queue.wait(queue.retrieve(key, to.at(mine, bytes), until), until);
  if (how.is_ok()) how = queue.wait(queue.remove(key, until), until);
  if (how.is_ok()) how = queue.wait(queue.exist(key, until), until);
  status[i] = how;  // `unwritten`: there is no such key
}

int main(int argc, char** argv) try {
  const uint32_t bytes = argc > 1 ? static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 0)) : 1000;
  const size_t room = (size_t{bytes} + 7) / 8 * 8;
  emulation::NvmeConfig config;
  config.namespaces[0].key_values = true;
  auto drive = std::make_unique<emulation::NvmeController>(config);  // or host::VfioNvme
  host::ControllerOptions options;
  options.all_command_sets = true;
  host::NvmeController controller(std::move(drive), options);
  const host::Executor executor = host::default_executor();
  const host::NvmeQueue queue = controller.create_queue(on(executor));
  const host::DmaBuffer from = executor.share(controller.allocate(threads * room));
  const host::DmaBuffer to = executor.share(controller.allocate(threads * room));
  const host::DmaBuffer status = executor.share(controller.allocate(threads * sizeof(Status)));
  for (uint32_t i = 0; i < threads * room / 4; ++i) from.as<uint32_t>()[i] = i * 2654435761u;
  host::launch(executor, {2, threads / 2}, store_and_fetch, queue.handle(), from.region(), to.region(), bytes,
               executor.address(status.as<Status>()));
  for (uint32_t i = 0; i < threads; ++i) {
    const bool same = std::memcmp(from.as<char>() + i * room, to.as<char>() + i * room, bytes) == 0;
    if (status.span<Status>()[i] == Status::unwritten && same) continue;
    throw host::Error("thread " + std::to_string(i) + ": " + name(status.span<Status>()[i].code));
  }
  std::printf("%u values of %u bytes stored, fetched and deleted\n", threads, bytes);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
