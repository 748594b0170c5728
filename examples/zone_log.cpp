// SPDX-License-Identifier: MIT
// Threads of a kernel append records to a zoned namespace, which tells each one where its record is; zone after zone is
// filled. Usage: zone_log [CONTROLLER]; QEMU's by default
#include <cstdio>
#include <set>
#include <string>

#include <xio/device/nvme/zone_writer.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/open.hpp>

using namespace xio;

constexpr uint32_t threads = 64, rounds = 8, record = 4096, zone_bytes = 1 << 20;

struct Log {
  nvme::ZoneRange zones;
  Status status[threads];
  KeptResult kept[threads];
  uint64_t lba[threads * rounds];
};

XIO_KERNEL void append(nvme::QueueHandle handle, Region data, Log* log) {
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  nvme::ZoneWriter writer(log->zones);
  const uint32_t i = arch::block_index() * arch::block_size() + arch::thread_index();
  for (uint32_t n = 0; n < rounds && log->status[i].is_ok(); ++n) {
    const Deadline until = queue.deadline(10_s);
    log->status[i] = writer.append(queue, data.at(i * record, record), until, log->kept[i], log->lba[i * rounds + n]);
  }
}

int main(int argc, char** argv) try {
  host::ControllerOptions options;
  options.all_command_sets = true;
  const host::OpenedNvme drive = host::open_nvme(argc > 1 ? argv[1] : "qemu:lba=4096,zoned=1M", options);
  const host::NamespaceInfo blocks = drive.identify();
  const host::Executor executor = host::default_executor();
  const host::NvmeQueue queue = drive.controller->create_queue(on(executor));
  const host::DmaBuffer data = executor.share(drive.controller->allocate(threads * record));
  const host::DmaBuffer memory = executor.share(drive.controller->allocate(sizeof(Log)));
  Log& log = *new (memory.data()) Log{};
  const uint64_t zone_blocks = zone_bytes / blocks.block_bytes;
  log.zones = {0, zone_blocks, static_cast<uint32_t>(blocks.blocks / zone_blocks), 0};
  host::launch(executor, {threads / 32, 32}, append, queue.handle(), data.region(), executor.address(&log));
  for (const Status& status : log.status)
    if (!status.is_ok()) throw host::Error(std::string("an append failed: ") + name(status.code));
  const std::set<uint64_t> places(log.lba, log.lba + threads * rounds);
  if (places.size() != threads * rounds) throw host::Error("two records are in one place");
  std::printf("%zu records in %u zones, blocks %llu to %llu\n", places.size(), log.zones.current + 1,
              static_cast<unsigned long long>(*places.begin()), static_cast<unsigned long long>(*places.rbegin()));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
