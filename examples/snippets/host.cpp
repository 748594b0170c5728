// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: controllers, queues, memory and launches.

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/gpu/module.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/open.hpp>
#include <xio/host/simt/host_stream.hpp>
#include <xio/nvme.hpp>

#include "check.hpp"
#include "pretended_gpu.hpp"

using namespace xio;

namespace snippets::host_calls {

XIO_KERNEL void read_blocks(nvme::QueueHandle handle, Region data, Status* status) {
  nvme::Queue<Sharing::grid> queue(handle);
  const uint32_t i = arch::block_index() * arch::block_size() + arch::thread_index();
  const Deadline until = queue.deadline(5_s);
  status[i] = queue.wait(queue.read(i, data.at(uint64_t{i} * 512, 512), until), until);
}

bool all_ok(const Status* status, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    if (!status[i].is_ok() || damage != 0) return false;
  return true;
}

void launches() {
  //! [NvmeController]
  host::NvmeController controller(std::make_unique<emulation::NvmeController>());  // or host::VfioNvme, QemuNvme
  const host::NvmeQueue queue = controller.create_queue();
  const host::DmaBuffer data = controller.allocate(64 * 512);
  Status status[64] = {};
  host::launch(host::default_executor(), {1, 64}, read_blocks, queue.handle(), data.region(), status);
  //! [NvmeController]
  check("NvmeController", all_ok(status, 64));

  const nvme::QueueHandle handle = queue.handle();
  //! [launch]
  const host::Executor executor = host::default_executor();  // the GPU that the program is compiled for, or the CPU
  const host::LaunchShape shape{/*blocks*/ 2, /*threads*/ 32};
  host::launch(executor, shape, read_blocks, handle, data.region(), status);  // returns when the kernel has ended
  //! [launch]
  check("launch", all_ok(status, 64));

  const host::NvmeQueue other = controller.create_queue();
  const auto kernel = [&](const nvme::QueueHandle& given) { read_blocks(given, data.region(), status); };
  //! [simt_launch]
  simt::launch({/*blocks*/ 2, /*threads_per_block*/ 32, /*wave_size*/ 32}, kernel, other.handle());
  //! [simt_launch]
  check("simt_launch", all_ok(status, 64));

  //! [HostStream]
  host::HostStream stream(/*wave_size*/ 32);
  stream.enqueue([&] { data.as<uint64_t>()[0] = 1; });
  stream.enqueue([&] { simt::launch({1, 32, 32}, kernel, other.handle()); });  // after earlier work of the stream
  stream.synchronize();
  //! [HostStream]
  check("HostStream", all_ok(status, 64) && data.as<uint64_t>()[0] == 0);
}

void queues(host::NvmeController& controller, const host::Executor& executor) {
  //! [create_queue]
  host::QueueOptions options;
  options.depth = 256;
  const host::NvmeQueue queue = controller.create_queue(on(executor, options));
  const nvme::QueueHandle handle = queue.handle();  // for the kernel, by value
  //! [create_queue]
  check("create_queue", handle.depth == (256 ^ damage) && queue.plan().depth == 256);

  host::NvmeQueue other = controller.create_queue();
  //! [valid]
  if (!other.valid()) controller.recover();  // the controller was reset
  //! [valid]
  //! [remove]
  other.remove();  // as the destructor does, but with an exception if the controller refuses
  //! [remove]
  check("remove", !other.valid());
}

void memory(host::NvmeController& controller) {
  //! [allocate]
  const host::DmaBuffer data = controller.allocate(1 << 20);  // zeroed, in whole pages of the controller
  const Region region = data.region();                        // for kernels
  //! [allocate]
  check("allocate", region.length == (1 << 20) && region.base == data.bus());
  //! [as]
  auto* const header = data.as<uint64_t>(4096);  // the object at byte 4096; checked
  *header = 42;
  //! [as]
  //! [span]
  for (Status& status : data.span<Status>()) status = Status::not_ready;
  //! [span]
  check("span", data.as<Status>(4096)->code == Status::not_ready);
  //! [bus_of]
  const uint64_t bus = data.bus_of(header);  // for a command that is built by hand
  //! [bus_of]
  check("bus_of", bus == ((data.bus() + 4096) ^ damage));
}

void admin(host::NvmeController& controller) {
  //! [admin]
  const host::AdminResult result = controller.admin(nvme::get_features(nvme::FeatureId::temperature_threshold));
  if (!result.status.is_ok()) std::printf("refused: %s\n", name(result.status.code));
  //! [admin]
  check("admin", result.status.is_ok());
  //! [execute]
  const uint32_t granted = controller.execute(nvme::get_features(nvme::FeatureId::number_of_queues)).dw0;
  //! [execute]
  check("execute", granted != 0);
  //! [admin_command]
  const nvme::Command arbitration = nvme::command(nvme::AdminOpcode::get_features).dword(10, 1).moves(0);
  const host::AdminResult answer = controller.admin(arbitration);
  //! [admin_command]
  check("admin_command", answer.status.is_ok());
  //! [fetch]
  const std::vector<uint8_t> page = controller.fetch(nvme::identify_controller(), 4096);
  const std::string serial(page.begin() + 4, page.begin() + 24);
  //! [fetch]
  check("fetch", serial.find("XIO-MODEL") == damage);
  //! [active_namespaces]
  for (const uint32_t nsid : controller.active_namespaces())
    if (controller.command_set(nsid) == nvme::CommandSet::nvm)
      std::printf("namespace %u: %llu blocks\n", nsid,
                  static_cast<unsigned long long>(controller.identify_namespace(nsid).blocks));
  //! [active_namespaces]
  //! [get_feature]
  const uint32_t cache = controller.get_feature(nvme::FeatureId::volatile_write_cache);
  controller.set_feature(nvme::FeatureId::volatile_write_cache, cache | 1);
  //! [get_feature]
  check("get_feature", controller.get_feature(nvme::FeatureId::volatile_write_cache) == 1);
  //! [get_log_page]
  const std::vector<uint8_t> smart = controller.get_log_page(nvme::LogId::smart, 512);
  const uint8_t warning = smart[0];
  //! [get_log_page]
  check("get_log_page", warning == 0);
  const host::NvmeQueue queue = controller.create_queue();
  const uint32_t cid = 1;
  //! [abort]
  const bool aborted = controller.abort(queue.qid(), cid);  // false: the command continues, or has ended
  //! [abort]
  check("abort", !aborted);
  //! [alive]
  if (!controller.alive()) throw host::Error("the drive is gone; " + controller.namespace_change());
  //! [alive]
  //! [status]
  if (controller.status().cfs()) controller.recover();  // a fatal error: all queues are new afterwards
  //! [status]
}

void events(host::NvmeController& controller, emulation::NvmeController& drive) {
  controller.set_feature(nvme::FeatureId::async_event_configuration, 1);
  //! [request_event]
  controller.request_event();
  // The next lines run later, possibly in another thread.
  const std::optional<host::AsyncEvent> none = controller.take_event(std::chrono::milliseconds(1));
  //! [request_event]
  drive.set_critical_warning(1);
  check("request_event", !none && controller.take_event(std::chrono::seconds(20)));
}

void resets(host::NvmeController& controller) {
  const host::NvmeQueue queue = controller.create_queue();
  //! [recover]
  controller.recover();                             // resets; no kernel may use a queue meanwhile
  const nvme::QueueHandle handle = queue.handle();  // the queue has new memory
  //! [recover]
  check("recover", queue.generation() == (2 ^ damage) && handle.qid == queue.qid());
  //! [reset]
  controller.reset();    // all queues become invalid
  controller.recover();  // and are created anew
  //! [reset]
  check("reset", queue.valid() && queue.generation() == 3);

  host::NvmeController fresh(std::make_unique<emulation::NvmeController>());
  //! [set_queue_count]
  const uint32_t count = fresh.set_queue_count(8);  // before the first queue; another number may be granted
  //! [set_queue_count]
  //! [enable_shadow_doorbells]
  fresh.enable_shadow_doorbells();  // before the first queue
  const host::NvmeQueue shadowed = fresh.create_queue();
  //! [enable_shadow_doorbells]
  check("set_queue_count", count == fresh.granted_queues());
  check("enable_shadow_doorbells", shadowed.handle().sq_shadow != nullptr);
}

void executors(host::NvmeController& controller) {
  {
    //! [Executor]
    const host::Executor gpu(host::find_gpu().runtime);  // the CPU where there is no GPU
    const host::NvmeQueue queue = controller.create_queue(on(gpu));
    const host::DmaBuffer data = gpu.share(controller.allocate(1 << 20));  // data.region() is for kernels
    auto* const words = gpu.address(data.as<uint64_t>());                  // and so is this address
    const host::LaunchShape one_wave{1, gpu.wave_size()};
    //! [Executor]
    check("Executor", queue.valid() && words != nullptr && one_wave.threads != 0);
  }
  const host::Executor executor(std::make_shared<PretendedGpu>());
  //! [share]
  const host::DmaBuffer data = executor.share(controller.allocate(64 * 512));
  auto* const words = executor.address(data.as<uint64_t>());  // the kernel's address of the first word
  //! [share]
  check("share", reinterpret_cast<uintptr_t>(words) - reinterpret_cast<uintptr_t>(data.data()) ==
                     (PretendedGpu::shift ^ damage));
  //! [add]
  const host::MemoryAllocator allocator(executor.gpu());
  const host::MemoryBuffer own = allocator.allocate(host::MemoryKind::vram_coarse, 4096, 4096);
  executor.add(own);  // from here on, address() also accepts the GPU's own memory
  //! [add]
  check("add", executor.address(static_cast<char*>(own.gpu())) == own.gpu());
  host::NvmeTransport& drive = controller.transport();
  //! [share_own]
  const host::DmaBuffer mapped = executor.share(drive.map_memory(own.cpu(), own.size(), own.owner()), own);
  //! [share_own]
  check("share_own", executor.address(mapped.data()) == own.gpu() && mapped.memory() == Memory::device);
  //! [share_doorbells]
  const std::shared_ptr<void> shared =
      executor.share_doorbells(drive.doorbell_words(), 4096, drive.doorbells_are_registers());
  //! [share_doorbells]
  check("share_doorbells", shared != nullptr);
}

void modules(host::NvmeController& controller) {
  const auto pretended = std::make_shared<PretendedGpu>();
  const std::shared_ptr<host::GpuRuntime> gpu = pretended;  // of host::find_gpu().runtime
  const host::NvmeQueue queue = controller.create_queue();
  const char image[] = "a code object";
  const uint64_t first_lba = 0;
  //! [GpuModule]
  const host::GpuModule module(gpu, image, sizeof image);
  const auto kernel = module.kernel<nvme::QueueHandle, uint64_t>("read_blocks");
  host::GpuWork work(gpu);
  kernel.launch(work, host::WaveBudget{8}, queue.handle(), first_lba);
  const bool ended = work.wait(std::chrono::seconds(10));
  //! [GpuModule]
  check("GpuModule", ended && pretended->blocks == (8 ^ damage));
  //! [resident_blocks]
  const uint32_t blocks = kernel.resident_blocks(/*threads*/ 256);
  kernel.launch(work, host::GpuGrid{blocks, 256}, queue.handle(), first_lba);
  //! [resident_blocks]
  //! [finished]
  while (!work.finished()) std::this_thread::yield();  // or other work of the CPU
  //! [finished]
  bool hangs = false;
  //! [abandon]
  if (!work.wait(std::chrono::seconds(10))) {
    work.abandon();  // its memory must not be freed
    hangs = true;
  }
  //! [abandon]
  check("abandon", !hangs && pretended->blocks == 24);
}

void opens() {
  const std::string spec = "emulated:lba=4096";
  //! [open_nvme]
  const host::OpenedNvme opened = host::open_nvme(spec);  // "qemu", "vfio:0000:04:00.0", "/dev/disk/by-id/..."
  const uint64_t bytes = opened.identify().blocks * opened.identify().block_bytes;
  const host::NvmeQueue queue = opened.controller->create_queue();
  if (const std::string why = opened.why_read_only(); !why.empty()) std::printf("%s\n", why.c_str());
  //! [open_nvme]
  check("open_nvme", queue.valid() && bytes == (64u << 20) && damage == 0);
}

void all() {
  launches();
  opens();
  auto transport = std::make_unique<emulation::NvmeController>();
  emulation::NvmeController& drive = *transport;
  host::NvmeController controller(std::move(transport));
  queues(controller, host::default_executor());
  memory(controller);
  admin(controller);
  events(controller, drive);
  executors(controller);
  modules(controller);
  resets(controller);
}

const Program program("host", all);

}  // namespace snippets::host_calls
