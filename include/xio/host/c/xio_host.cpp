// SPDX-License-Identifier: MIT

/// @file
/// @brief The calls of xio_host.h: a library of this one source.

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <xio/host/c/xio_host.h>
#include <xio/host/gpu/device_abi.hpp>
#include <xio/host/gpu/find.hpp>
#include <xio/host/gpu/module.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/nvme/open.hpp>

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
  host::NvmeQueue queue;
  std::unique_ptr<nvme::QueueHandle> of_cpu;
  host::MemoryBuffer of_gpu;
};

struct xio_buffer {
  std::shared_ptr<host::OpenedNvme> drive;
  host::DmaBuffer memory;
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

}  // namespace

extern "C" {

uint32_t xio_host_version(void) { return XIO_HOST_VERSION; }
uint32_t xio_host_abi(void) { return XIO_ABI_NUMBER; }
const char* xio_host_message(void) { return message.c_str(); }

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
  return create(queue, [&]() -> xio_queue {
    const std::shared_ptr<host::OpenedNvme>& opened = given(drive, "drive").opened;
    host::QueueOptions options = host::on(drive->executor);
    if (depth != 0) options.depth = depth;
    options.nsid = opened->namespace_or(nsid);
    xio_queue made{opened, opened->controller->create_queue(options), nullptr, {}};
    made.of_cpu = std::make_unique<nvme::QueueHandle>(made.queue.handle());
    if (const std::shared_ptr<host::GpuRuntime>& gpu = drive->executor.gpu()) {
      made.of_gpu = host::MemoryAllocator(gpu).allocate(host::MemoryKind::vram_coarse, sizeof *made.of_cpu);
      gpu->copy(made.of_gpu.gpu(), made.of_cpu.get(), sizeof *made.of_cpu);
    }
    return made;
  });
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
    return {opened, std::move(memory), address};
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
    return {opened, std::move(memory), address};
  });
}
void xio_buffer_close(xio_buffer* buffer) { delete buffer; }
void* xio_buffer_data(const xio_buffer* buffer) { return buffer->memory.data(); }
uint64_t xio_buffer_address(const xio_buffer* buffer) { return buffer->address; }
uint64_t xio_buffer_bus(const xio_buffer* buffer) { return buffer->memory.bus(); }
size_t xio_buffer_bytes(const xio_buffer* buffer) { return buffer->memory.size(); }

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
