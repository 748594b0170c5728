// SPDX-License-Identifier: MIT

/// @file
/// @brief The calls of xio_host.h: a library of this one source.

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/c/xio_host.h>
#include <xio/device/nvme/queue.hpp>
#include <xio/host/gpu/device_abi.hpp>
#include <xio/host/gpu/find.hpp>
#include <xio/host/gpu/module.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/nvme/open.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/status_names.hpp>

using namespace xio;

struct xio_gpu {
  std::shared_ptr<host::GpuRuntime> runtime;
  std::string target;
};

struct xio_drive {
  std::shared_ptr<host::OpenedNvme> opened;
  host::Executor executor;
};

// What is created last is destroyed first, and the drive at the end.
struct xio_queue {
  std::shared_ptr<host::OpenedNvme> drive;
  uint32_t nsid;
  // What operations that have not ended in time still change: released behind the queue.
  std::vector<std::shared_ptr<host::DmaBuffer>> late;
  std::unique_ptr<Notification> moved;
  bool timed_out;
  host::NvmeQueue queue;
  std::unique_ptr<nvme::QueueHandle> of_cpu;
  host::MemoryBuffer of_gpu;
};

struct xio_buffer {
  std::shared_ptr<host::OpenedNvme> drive;
  std::shared_ptr<host::DmaBuffer> memory;
  uint64_t address;
};

namespace {

/// A module whose kernels take what they are given.
class Program {
 public:
  Program(std::shared_ptr<host::GpuRuntime> gpu, const void* image, size_t bytes) : gpu_(std::move(gpu)) {
    host::check_device_abi(image, bytes);
    module_ = gpu_->load_module(image, bytes);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (module_ != nullptr) gpu_->unload_module(module_);
  }

  const std::shared_ptr<host::GpuRuntime>& gpu() const { return gpu_; }
  void launch(const char* kernel, const host::GpuGrid& grid, void** arguments, host::GpuWork& work) const {
    gpu_->launch(gpu_->find_kernel(module_, kernel), grid, arguments, work.stream());
  }

 private:
  std::shared_ptr<host::GpuRuntime> gpu_;
  void* module_ = nullptr;
};

}  // namespace

struct xio_module {
  std::shared_ptr<Program> program;
};

struct xio_work {
  std::shared_ptr<Program> program;
  host::GpuWork work;
};

namespace {

thread_local std::string message;
thread_local Status last_status;

int fail(int code, const std::string& why) {
  message = why;
  return code;
}

/// Runs a call: exceptions end at the border of the language.
template <class Body>
int guarded(Body body) noexcept {
  try {
    return body();
  } catch (const host::Unavailable& reason) {
    return fail(XIO_HOST_UNAVAILABLE, reason.what());
  } catch (const std::bad_alloc&) {
    return fail(XIO_HOST_NO_MEMORY, "out of memory");
  } catch (const std::exception& reason) {
    return fail(XIO_HOST_ERROR, reason.what());
  }
}

/// Runs a call that creates something.
template <class T, class Make>
int create(T** to, Make make) noexcept {
  return guarded([&] {
    if (to == nullptr) return fail(XIO_HOST_ERROR, "no place for what is created: a null pointer");
    *to = nullptr;
    *to = new T(make());
    return int{XIO_HOST_OK};
  });
}

template <class T>
T& given(T* object, const char* what) {
  if (object == nullptr) throw host::Error(std::string("no ") + what + ": a null pointer");
  return *object;
}

xio_queue make_queue(const xio_drive& drive, const host::Executor& executor, uint32_t depth, uint32_t nsid) {
  host::QueueOptions options = host::on(executor);
  if (depth != 0) options.depth = depth;
  options.nsid = drive.opened->namespace_or(nsid);
  xio_queue made{drive.opened, options.nsid,
                 {},           std::make_unique<Notification>(),
                 false,        drive.opened->controller->create_queue(options),
                 nullptr,      {}};
  made.of_cpu = std::make_unique<nvme::QueueHandle>(made.queue.handle());
  if (const std::shared_ptr<host::GpuRuntime>& gpu = executor.gpu()) {
    made.of_gpu = host::MemoryAllocator(gpu).allocate(host::MemoryKind::vram_coarse, sizeof *made.of_cpu);
    gpu->copy(made.of_gpu.gpu(), made.of_cpu.get(), sizeof *made.of_cpu);
  }
  return made;
}

xio_queue& cpu_queue(xio_queue* queue) {
  if (given(queue, "queue").of_gpu)
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

int move_blocks(nvme::Opcode operation, xio_queue& queue, uint64_t lba, uint32_t blocks, const xio_buffer& buffer,
                size_t offset, uint32_t milliseconds) {
  const nvme::QueueHandle& handle = *queue.of_cpu;
  const uint64_t block_bytes = uint64_t{1} << handle.block_shift;
  const size_t size = buffer.memory->size();
  if (buffer.drive != queue.drive) throw host::Error("the buffer is of another drive than the queue");
  if (offset > size || blocks > (size - offset) / block_bytes)
    throw host::Error(std::to_string(blocks) + " blocks of " + std::to_string(block_bytes) + " bytes at " +
                      std::to_string(offset) + " do not fit into a buffer of " + std::to_string(size) + " bytes");
  if (blocks == 0) return XIO_HOST_OK;
  if (handle.max_blocks == 0) throw host::Error("this namespace has metadata, which these calls do not move");
  std::vector<nvme::Piece> pieces;
  for (uint32_t first = 0; first < blocks; first += pieces.back().blocks)
    pieces.push_back({lba + first, buffer.memory->bus() + offset + first * block_bytes,
                      std::min(blocks - first, handle.max_blocks)});
  nvme::Queue<Sharing::thread, Policy<Notify>> calls(handle);
  *queue.moved = {};
  const Status status = calls.transfer(operation, pieces.data(), static_cast<uint32_t>(pieces.size()),
                                       calls.deadline(within(milliseconds)), *queue.moved);
  if (status == Status::timed_out) queue.late.push_back(buffer.memory);
  return ended(queue, status, milliseconds);
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
  return create(queue, [&] { return make_queue(given(drive, "drive"), drive->executor, depth, nsid); });
}
int xio_queue_create_for_cpu(const xio_drive* drive, uint32_t depth, uint32_t nsid, xio_queue** queue) {
  return create(queue, [&] { return make_queue(given(drive, "drive"), host::Executor(), depth, nsid); });
}
void xio_queue_close(xio_queue* queue) { delete queue; }
uint64_t xio_queue_address(const xio_queue* queue) {
  return reinterpret_cast<uint64_t>(queue->of_gpu ? queue->of_gpu.gpu() : queue->of_cpu.get());
}

int xio_buffer_create(const xio_drive* drive, size_t bytes, xio_buffer** buffer) {
  return create(buffer, [&]() -> xio_buffer {
    const std::shared_ptr<host::OpenedNvme>& opened = given(drive, "drive").opened;
    host::DmaBuffer memory = drive->executor.share(opened->controller->allocate(bytes));
    const auto address = reinterpret_cast<uint64_t>(drive->executor.address(memory.as<char>()));
    return {opened, std::make_shared<host::DmaBuffer>(std::move(memory)), address};
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
    return {opened, std::make_shared<host::DmaBuffer>(std::move(memory)), address};
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
    if (const std::string why = used.drive->why_read_only(used.nsid); !why.empty()) return fail(XIO_HOST_ERROR, why);
    return move_blocks(nvme::Opcode::write, used, lba, blocks, given(buffer, "buffer"), offset, milliseconds);
  });
}
int xio_queue_flush(xio_queue* queue, uint32_t milliseconds) {
  return guarded([&] {
    nvme::Queue<Sharing::thread> calls(*cpu_queue(queue).of_cpu);
    const Deadline until = calls.deadline(within(milliseconds));
    return ended(*queue, calls.wait(calls.submit(nvme::flush(), nvme::NoData{}, until), until), milliseconds);
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
    program->launch(&given(kernel, "kernel"), host::GpuGrid{blocks, threads, lds}, arguments, made->work);
    *work = made.release();
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
