// SPDX-License-Identifier: MIT

/// @file
/// @brief The calls of xio_host.h: a library of this one source.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/c/xio_host.h>
#include <xio/device/nvme/queue.hpp>
#include <xio/host/c/objects.inc>
#include <xio/host/gpu/find.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/status_names.hpp>

using namespace xio;
using namespace xio::host_c;

namespace {

xio_queue make_queue(const std::shared_ptr<host::OpenedNvme>& drive, const host::Executor& executor, uint32_t depth,
                     uint32_t nsid) {
  host::QueueOptions options = host::on(executor);
  if (depth != 0) options.depth = depth;
  options.nsid = drive->namespace_or(nsid);
  xio_queue made{drive, options.nsid,
                 {},    std::make_unique<Notification>(),
                 false, drive->controller->create_queue(options),
                 {},    executor.gpu() == nullptr,
                 {}};
  made.handle = ForKernels<nvme::QueueHandle>(executor, made.queue.handle());
  return made;
}

xio_queue& cpu_queue(xio_queue* queue) {
  if (!given(queue, "queue").by_cpu)
    throw host::Error("this queue is for kernels of a GPU: xio_queue_create_for_cpu() creates one for the CPU");
  if (queue->timed_out) throw host::Error("an operation of this queue has timed out: close it, and create another");
  return *queue;
}

std::string text_of(Status status) {
  if (!status.from_device()) return name(status.code);
  const uint32_t field = status.vendor & 0x7ffu;
  return std::string(nvme::status_name(field)) + " (status " + host::to_hex(field, 3) + ", " + name(status.code) + ")";
}

Duration within(uint32_t milliseconds) { return Duration{std::min(milliseconds, 1000000000u) * uint64_t{1000000}}; }

/// The end of an operation of the CPU's.
int ended(xio_queue& queue, Status status, uint32_t milliseconds) {
  if (status.is_ok()) return XIO_HOST_OK;
  last_status = status;
  queue.timed_out = status == Status::timed_out;
  if (!queue.drive->controller->alive()) return fail(XIO_HOST_STATUS, queue.drive->loss());
  if (queue.timed_out)
    return fail(XIO_HOST_TIMED_OUT, "the drive has not answered within " + std::to_string(milliseconds) + " ms");
  return fail(XIO_HOST_STATUS, (status.from_device() ? "the drive reports: " : "refused: ") + text_of(status));
}

/// Moves pieces by a queue for the CPU, and waits for them.
int move_pieces(nvme::Opcode operation, xio_queue& queue, std::vector<nvme::Piece>& pieces, const xio_buffer& buffer,
                uint32_t milliseconds) {
  nvme::Queue<Sharing::thread, Policy<Notify>> calls(queue.handle.value());
  *queue.moved = {};
  const Status status = calls.transfer(operation, pieces.data(), static_cast<uint32_t>(pieces.size()),
                                       calls.deadline(within(milliseconds)), *queue.moved);
  if (status == Status::timed_out) queue.late.push_back(buffer.memory);
  return ended(queue, status, milliseconds);
}

void check_room(const xio_buffer& buffer, size_t offset, uint32_t blocks, uint64_t block_bytes) {
  const size_t size = buffer.memory->size();
  if (offset > size || blocks > (size - offset) / block_bytes)
    throw host::Error(std::to_string(blocks) + " blocks of " + std::to_string(block_bytes) + " bytes at " +
                      std::to_string(offset) + " do not fit into a buffer of " + std::to_string(size) + " bytes");
}

uint32_t blocks_of_a_command(const xio_queue& queue) {
  const uint32_t most = queue.handle.value().max_blocks;
  if (most == 0) throw host::Error("this namespace has metadata, which these calls do not move");
  return most;
}

int move_blocks(nvme::Opcode operation, xio_queue& queue, uint64_t lba, uint32_t blocks, const xio_buffer& buffer,
                size_t offset, uint32_t milliseconds) {
  const uint64_t block_bytes = uint64_t{1} << queue.handle.value().block_shift;
  if (buffer.drive != queue.drive) throw host::Error("the buffer is of another drive than the queue");
  check_room(buffer, offset, blocks, block_bytes);
  if (blocks == 0) return XIO_HOST_OK;
  const uint32_t most = blocks_of_a_command(queue);
  std::vector<nvme::Piece> pieces;
  for (uint32_t first = 0; first < blocks; first += pieces.back().blocks)
    pieces.push_back(
        {lba + first, buffer.memory->bus() + offset + first * block_bytes, std::min(blocks - first, most)});
  return move_pieces(operation, queue, pieces, buffer, milliseconds);
}

/// The queue of the CPU's of one drive of a set.
xio_queue& queue_of(xio_drive_set& set, size_t drive) {
  std::unique_ptr<xio_queue>& one = set.by_cpu.at(drive);
  if (one == nullptr || one->timed_out)
    one = std::make_unique<xio_queue>(make_queue(set.set->drives[drive], host::Executor(), 0, set.set->nsid));
  return *one;
}

/// One drive behind the other: for setting up and checking.
int move_striped(nvme::Opcode operation, xio_drive_set& set, uint64_t block, uint32_t blocks, const xio_buffer& buffer,
                 size_t offset, uint32_t milliseconds) {
  const nvme::DriveSetHandle& where = set.set->handle.value();
  const uint64_t block_bytes = set.set->queues.block_bytes();
  if (buffer.of_set == nullptr || buffer.of_set->set != set.set) throw host::Error("the buffer is not of this set");
  check_room(buffer, offset, blocks, block_bytes);
  if (block > set.set->queues.blocks() || blocks > set.set->queues.blocks() - block) {
    last_status = Status::out_of_range;
    return fail(XIO_HOST_STATUS, "refused: the set has " + std::to_string(set.set->queues.blocks()) + " blocks");
  }
  for (uint32_t drive = 0; drive < where.drives; ++drive) {
    std::vector<nvme::Piece> pieces;
    for (uint32_t first = 0, now = 0; first < blocks; first += now) {
      const uint64_t inside = (block + first) & ((uint64_t{1} << where.stripe_shift) - 1);
      now = static_cast<uint32_t>(std::min<uint64_t>(blocks - first, (uint64_t{1} << where.stripe_shift) - inside));
      const nvme::DriveAddress at = where.locate(block + first);
      if (at.drive != drive) continue;
      now = std::min(now, blocks_of_a_command(queue_of(set, drive)));
      pieces.push_back({at.lba, buffer.of_set->buffer.region(drive).base + offset + first * block_bytes, now});
    }
    if (pieces.empty()) continue;
    if (const int code = move_pieces(operation, queue_of(set, drive), pieces, buffer, milliseconds); code != 0)
      return code;
  }
  return XIO_HOST_OK;
}

int flush(xio_queue& queue, uint32_t milliseconds) {
  nvme::Queue<Sharing::thread> calls(queue.handle.value());
  const Deadline until = calls.deadline(within(milliseconds));
  return ended(queue, calls.wait(calls.submit(nvme::flush(), nvme::NoData{}, until), until), milliseconds);
}

std::shared_ptr<Set> make_set(const xio_drive* const* drives, uint32_t count, uint32_t depth, uint32_t queues_per_drive,
                              uint32_t stripe_blocks) {
  if (count == 0) throw host::Error("a drive set needs at least one drive");
  given(drives, "drives");
  const host::Executor& executor = given(drives[0], "drive").executor;
  std::vector<std::shared_ptr<host::OpenedNvme>> opened;
  std::vector<host::NvmeController*> controllers;
  host::DriveSetOptions options;
  options.queue.nsid = drives[0]->opened->namespace_or(0);
  for (uint32_t i = 0; i < count; ++i) {
    const xio_drive& one = given(drives[i], "drive");
    if ((one.executor.gpu() == nullptr) != (executor.gpu() == nullptr) ||
        (executor.gpu() != nullptr && one.executor.gpu()->description() != executor.gpu()->description()))
      throw host::Error("the drives of a set were opened for one GPU, and " + one.opened->spec + " for another");
    if (one.opened->namespace_or(0) != options.queue.nsid)
      throw host::Error("the drives of a set use namespaces of one number: " + one.opened->spec + " names another");
    opened.push_back(one.opened);
    controllers.push_back(one.opened->controller.get());
  }
  if (depth != 0) options.queue.depth = depth;
  if (queues_per_drive != 0) options.queues_per_drive = queues_per_drive;
  if (stripe_blocks != 0) options.stripe_blocks = stripe_blocks;
  auto set = std::make_shared<Set>(
      Set{std::move(opened), options.queue.nsid, host::make_drive_set(std::move(controllers), executor, options), {}});
  set->handle = ForKernels<nvme::DriveSetHandle>(executor, set->queues.handle());
  return set;
}

}  // namespace

extern "C" {

uint32_t xio_host_version(void) { return XIO_HOST_VERSION; }
uint32_t xio_host_abi(void) { return XIO_ABI_NUMBER; }
const char* xio_host_message(void) { return message.c_str(); }
uint32_t xio_host_status(void) { return last_status.pack(); }
const char* xio_status_name(uint32_t status) { return name(Status::unpack(status).code); }
const char* xio_status_text(uint32_t status) {
  message = text_of(Status::unpack(status));
  return message.c_str();
}

int xio_gpu_open(int device, xio_gpu** gpu) {
  return create(gpu, [&]() -> xio_gpu {
    const host::FoundGpu found = host::find_gpu(device);
    if (!found.runtime) throw host::Unavailable("no GPU " + std::to_string(device) + ": " + found.why_none);
    return {found.runtime, found.runtime->target()};
  });
}
void xio_gpu_close(xio_gpu* gpu) { delete gpu; }
const char* xio_gpu_target(const xio_gpu* gpu) { return gpu->target.c_str(); }
uint32_t xio_gpu_wave_size(const xio_gpu* gpu) { return gpu->runtime->wave_size(); }

int xio_drive_open(const char* spec, const xio_gpu* gpu, xio_drive** drive) {
  return create(drive, [&]() -> xio_drive {
    auto opened = std::make_shared<host::OpenedNvme>(host::open_nvme(&given(spec, "spec")));
    return {std::move(opened), host::Executor(gpu != nullptr ? gpu->runtime : nullptr)};
  });
}
int xio_drives_open(const char* const* specs, uint32_t count, const xio_gpu* gpu, xio_drive** drives) {
  return guarded([&] {
    if (count != 0) {
      given(drives, "drives");
      given(specs, "specs");
      std::fill(drives, drives + count, nullptr);
    }
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < count; ++i) texts.emplace_back(&given(specs[i], "spec"));
    const host::Executor executor(gpu != nullptr ? gpu->runtime : nullptr);
    std::vector<std::unique_ptr<xio_drive>> made;
    for (host::OpenedNvme& one : host::open_nvme_drives(texts))
      made.push_back(
          std::unique_ptr<xio_drive>(new xio_drive{std::make_shared<host::OpenedNvme>(std::move(one)), executor}));
    for (uint32_t i = 0; i < count; ++i) drives[i] = made[i].release();
    return int{XIO_HOST_OK};
  });
}
void xio_drive_close(xio_drive* drive) { delete drive; }

int xio_drive_describe(const xio_drive* drive, uint32_t nsid, xio_drive_info* info) {
  return guarded([&] {
    const host::OpenedNvme& opened = *given(drive, "drive").opened;
    const host::NamespaceInfo found = opened.identify(nsid);
    given(info, "info") = {found.blocks, opened.controller->info().max_transfer_bytes, found.block_bytes,
                           opened.namespace_or(nsid)};
    return int{XIO_HOST_OK};
  });
}

int xio_drive_may_write(const xio_drive* drive, uint32_t nsid) {
  return guarded([&] {
    const std::string why = given(drive, "drive").opened->why_read_only(nsid);
    return why.empty() ? int{XIO_HOST_OK} : fail(XIO_HOST_ERROR, why);
  });
}

int xio_drive_alive(const xio_drive* drive) {
  return guarded([&] {
    const host::OpenedNvme& opened = *given(drive, "drive").opened;
    return opened.controller->alive() ? int{XIO_HOST_OK} : fail(XIO_HOST_ERROR, opened.loss());
  });
}

int xio_queue_create(const xio_drive* drive, uint32_t depth, uint32_t nsid, xio_queue** queue) {
  return create(queue, [&] { return make_queue(given(drive, "drive").opened, drive->executor, depth, nsid); });
}
int xio_queue_create_for_cpu(const xio_drive* drive, uint32_t depth, uint32_t nsid, xio_queue** queue) {
  return create(queue, [&] { return make_queue(given(drive, "drive").opened, host::Executor(), depth, nsid); });
}
void xio_queue_close(xio_queue* queue) { delete queue; }
uint64_t xio_queue_address(const xio_queue* queue) { return queue->handle.address(); }

int xio_buffer_create(const xio_drive* drive, size_t bytes, xio_buffer** buffer) {
  return create(buffer, [&]() -> xio_buffer {
    const std::shared_ptr<host::OpenedNvme>& opened = given(drive, "drive").opened;
    host::DmaBuffer memory = drive->executor.share(opened->controller->allocate(bytes));
    const auto address = reinterpret_cast<uint64_t>(drive->executor.address(memory.as<char>()));
    return {opened, nullptr, std::make_shared<host::DmaBuffer>(std::move(memory)), address};
  });
}
int xio_buffer_map(const xio_drive* drive, void* data, size_t bytes, xio_buffer** buffer) {
  return create(buffer, [&]() -> xio_buffer {
    const std::shared_ptr<host::OpenedNvme>& opened = given(drive, "drive").opened;
    const size_t page = host::PageMap::page_bytes();
    if (data == nullptr || bytes == 0 || reinterpret_cast<uintptr_t>(data) % page != 0 || bytes % page != 0)
      throw host::Error("memory to map begins and ends at multiples of " + std::to_string(page) + " bytes");
    host::DmaBuffer memory = drive->executor.share(opened->controller->transport().map_memory(data, bytes, nullptr));
    const auto address = reinterpret_cast<uint64_t>(drive->executor.address(memory.as<char>()));
    return {opened, nullptr, std::make_shared<host::DmaBuffer>(std::move(memory)), address};
  });
}
void xio_buffer_close(xio_buffer* buffer) { delete buffer; }
void* xio_buffer_data(const xio_buffer* buffer) { return buffer->memory->data(); }
uint64_t xio_buffer_address(const xio_buffer* buffer) { return buffer->address; }
uint64_t xio_buffer_bus(const xio_buffer* buffer) { return buffer->memory->bus(); }
size_t xio_buffer_bytes(const xio_buffer* buffer) { return buffer->memory->size(); }

int xio_queue_read(xio_queue* queue, uint64_t lba, uint32_t blocks, const xio_buffer* buffer, size_t offset,
                   uint32_t milliseconds) {
  return guarded([&] {
    return move_blocks(nvme::Opcode::read, cpu_queue(queue), lba, blocks, given(buffer, "buffer"), offset,
                       milliseconds);
  });
}
int xio_queue_write(xio_queue* queue, uint64_t lba, uint32_t blocks, const xio_buffer* buffer, size_t offset,
                    uint32_t milliseconds) {
  return guarded([&] {
    xio_queue& used = cpu_queue(queue);
    if (const std::string& why = used.why_read_only(); !why.empty()) return fail(XIO_HOST_ERROR, why);
    return move_blocks(nvme::Opcode::write, used, lba, blocks, given(buffer, "buffer"), offset, milliseconds);
  });
}
int xio_queue_flush(xio_queue* queue, uint32_t milliseconds) {
  return guarded([&] { return flush(cpu_queue(queue), milliseconds); });
}

int xio_drive_set_create(const xio_drive* const* drives, uint32_t count, uint32_t depth, uint32_t queues_per_drive,
                         uint32_t stripe_blocks, xio_drive_set** set) {
  return create(set, [&]() -> xio_drive_set {
    return {make_set(drives, count, depth, queues_per_drive, stripe_blocks),
            std::vector<std::unique_ptr<xio_queue>>(count)};
  });
}
void xio_drive_set_close(xio_drive_set* set) { delete set; }
uint64_t xio_drive_set_address(const xio_drive_set* set) { return set->set->handle.address(); }
uint64_t xio_drive_set_queue(const xio_drive_set* set, uint32_t drive, uint32_t number) {
  const nvme::DriveSetHandle& all = set->set->handle.value();
  if (drive >= all.drives || number >= all.queues_per_drive) return 0;
  return reinterpret_cast<uint64_t>(all.queues + drive * all.queues_per_drive + number);
}
uint64_t xio_drive_set_blocks(const xio_drive_set* set) { return set->set->queues.blocks(); }
uint32_t xio_drive_set_block_bytes(const xio_drive_set* set) { return set->set->queues.block_bytes(); }

int xio_drive_set_buffer(const xio_drive_set* set, size_t bytes, xio_buffer** buffer) {
  return create(buffer, [&]() -> xio_buffer {
    const std::shared_ptr<Set>& all = given(set, "set").set;
    auto memory = std::make_shared<SetMemory>(SetMemory{all, all->queues.allocate(bytes), {}});
    memory->region = ForKernels<nvme::DriveRegion>(all->queues.executor(), memory->buffer.region());
    const std::shared_ptr<void> owner(memory, memory->buffer.data());
    const uint64_t bus = memory->buffer.region(0).base;
    const auto address = reinterpret_cast<uint64_t>(all->queues.executor().address(memory->buffer.as<char>()));
    return {nullptr, memory, std::make_shared<host::DmaBuffer>(owner.get(), bus, bytes, owner), address};
  });
}
uint64_t xio_buffer_region(const xio_buffer* buffer) {
  return buffer->of_set != nullptr ? buffer->of_set->region.address() : 0;
}
uint64_t xio_buffer_bus_of(const xio_buffer* buffer, uint32_t drive) {
  const SetMemory* const memory = buffer->of_set.get();
  return memory != nullptr && drive < memory->set->drives.size() ? memory->buffer.region(drive).base : 0;
}

int xio_drive_set_read(xio_drive_set* set, uint64_t block, uint32_t blocks, const xio_buffer* buffer, size_t offset,
                       uint32_t milliseconds) {
  return guarded([&] {
    return move_striped(nvme::Opcode::read, given(set, "set"), block, blocks, given(buffer, "buffer"), offset,
                        milliseconds);
  });
}
int xio_drive_set_write(xio_drive_set* set, uint64_t block, uint32_t blocks, const xio_buffer* buffer, size_t offset,
                        uint32_t milliseconds) {
  return guarded([&] {
    for (size_t i = 0; i < given(set, "set").by_cpu.size(); ++i)
      if (const std::string& why = queue_of(*set, i).why_read_only(); !why.empty()) return fail(XIO_HOST_ERROR, why);
    return move_striped(nvme::Opcode::write, *set, block, blocks, given(buffer, "buffer"), offset, milliseconds);
  });
}
int xio_drive_set_flush(xio_drive_set* set, uint32_t milliseconds) {
  return guarded([&] {
    for (size_t i = 0; i < given(set, "set").by_cpu.size(); ++i)
      if (const int code = flush(queue_of(*set, i), milliseconds); code != XIO_HOST_OK) return code;
    return int{XIO_HOST_OK};
  });
}

int xio_module_load(const xio_gpu* gpu, const void* image, size_t bytes, xio_module** module) {
  return create(module, [&]() -> xio_module {
    given(static_cast<const char*>(image), "image");
    return {std::make_shared<Program>(given(gpu, "GPU").runtime, image, bytes)};
  });
}
void xio_module_close(xio_module* module) { delete module; }

int xio_kernel_launch(const xio_module* module, const char* kernel, uint32_t blocks, uint32_t threads, size_t lds,
                      void** arguments, xio_work** work) {
  return guarded([&] {
    if (work == nullptr) return fail(XIO_HOST_ERROR, "no place for what is created: a null pointer");
    *work = nullptr;
    const std::shared_ptr<Program>& program = given(module, "module").program;
    auto made = std::unique_ptr<xio_work>(new xio_work{program, host::GpuWork(program->gpu())});
    program->launch(&given(kernel, "kernel"), host::GpuGrid{blocks, threads, lds}, arguments, made->work.stream());
    *work = made.release();
    return int{XIO_HOST_OK};
  });
}
int xio_kernel_enqueue(const xio_module* module, const char* kernel, uint32_t blocks, uint32_t threads, size_t lds,
                       void** arguments, void* stream) {
  return guarded([&] {
    given(module, "module")
        .program->launch(&given(kernel, "kernel"), host::GpuGrid{blocks, threads, lds}, arguments, stream);
    return int{XIO_HOST_OK};
  });
}
int xio_work_wait(xio_work* work, uint32_t milliseconds) {
  return guarded([&] {
    if (given(work, "work").work.wait(std::chrono::milliseconds(milliseconds))) return int{XIO_HOST_OK};
    return fail(XIO_HOST_TIMED_OUT, "the kernel is still running after " + std::to_string(milliseconds) + " ms");
  });
}
void xio_work_close(xio_work* work) { delete work; }

}  // extern "C"
