// SPDX-License-Identifier: MIT
#include <machine/runtime/device.hpp>

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <machine/core/load.hpp>
#include <machine/runtime/image.hpp>

namespace played {

using machine::MemoryKind;

namespace {

const char* told(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

// Programs.

Module::Module(std::unique_ptr<machine::Gpu> gpu) : gpu_(std::move(gpu)) {
  for (machine::KernelInfo& one : gpu_->kernels()) {
    std::string name = one.name;
    kernels_.emplace(std::move(name), Kernel{this, std::move(one)});
  }
}

Kernel* Module::find(const std::string& name) {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

// Streams.

Stream::Stream() : thread_([this] { run(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::add(std::function<Error()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

Error Stream::query() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return busy_ || !work_.empty() ? not_ready : error_;
}

Error Stream::synchronize() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !busy_ && work_.empty(); });
  return error_;
}

void Stream::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !work_.empty() || ending_; });
    if (work_.empty()) return;
    const std::function<Error()> one = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    const Error error = one();
    lock.lock();
    busy_ = false;
    // After a failure nothing more is executed, as on a GPU.
    if (error != success && error_ == success) error_ = error;
    if (error_ != success) work_.clear();
    changed_.notify_all();
  }
}

// The GPU.

Device::Device()
    : target_(told("XIO_PLAYED_GPU", "gfx942")),
      address_(told("XIO_PLAYED_ADDRESS", "0000:c1:00.0")),
      fault_(told("XIO_PLAYED_FAULT", "")),
      seed_(std::strtoull(told("XIO_PLAYED_SEED", "1"), nullptr, 0)),
      room_(std::strtoull(told("XIO_PLAYED_MEMORY", "1073741824"), nullptr, 0)) {
  if (target_ == "none") target_.clear();
  usual_ = add_stream();
}

Device& Device::get() {
  // Never destroyed: programs may end while kernels run.
  static Device& one = *new Device;
  return one;
}

Error Device::allocate(void** memory, size_t bytes, MemoryKind kind) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > room_) return out_of_memory;
  void* made = nullptr;
  if (::posix_memalign(&made, 65536, (bytes + 65535) / 65536 * 65536) != 0) return out_of_memory;
  std::memset(made, 0xa5, bytes);
  room_ -= bytes;
  pieces_[made] = {bytes, kind, true};
  *memory = made;
  return success;
}

Error Device::release(void* memory) {
  if (memory == nullptr) return success;
  synchronize();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pieces_.find(memory);
  if (found == pieces_.end() || !found->second.owned) return invalid_value;
  room_ += found->second.bytes;
  pieces_.erase(found);
  std::free(memory);
  return success;
}

Error Device::enter(void* memory, size_t bytes, MemoryKind kind) {
  if (fault_ == "register") return invalid_value;
  const std::lock_guard<std::mutex> lock(mutex_);
  return pieces_.emplace(memory, Piece{bytes, kind, false}).second ? success : invalid_value;
}

Error Device::leave(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pieces_.find(memory);
  if (found == pieces_.end() || found->second.owned) return invalid_value;
  pieces_.erase(found);
  return success;
}

Error Device::load(Module** module, const void* image) {
  if (const char* const other = std::getenv("XIO_PLAYED_IMAGE")) {
    *module = new Module(machine::load(other));
    return success;
  }
  const Image found = find_image(image, target_);
  if (found.bytes == 0) return found.recognised ? no_binary_for_gpu : invalid_image;
  char path[] = "/tmp/xio-played-XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) return invalid_value;
  const bool stored = ::write(fd, found.data, found.bytes) == static_cast<ssize_t>(found.bytes);
  ::close(fd);
  Error error = invalid_image;
  try {
    if (stored) {
      std::unique_ptr<machine::Gpu> gpu = machine::load(path);
      error = executes(target_, gpu->target()) || is_nvidia() ? success : no_binary_for_gpu;
      if (error == success) *module = new Module(std::move(gpu));
    }
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "played GPU: %s\n", reason.what());
  }
  ::unlink(path);
  return error;
}

void Device::unload(Module* module) {
  synchronize();
  delete module;
}

Error Device::launch(Kernel* kernel, const machine::Launch& launch, void** arguments, Stream* stream) {
  std::vector<unsigned char> bytes(kernel->info.argument_bytes);
  for (size_t i = 0; i < kernel->info.argument_offsets.size(); ++i)
    std::memcpy(bytes.data() + kernel->info.argument_offsets[i], arguments[i], kernel->info.argument_sizes[i]);
  (stream != nullptr ? stream : usual_)->add([this, kernel, launch, bytes] { return run(*kernel, launch, bytes); });
  return success;
}

Error Device::run(Kernel& kernel, const machine::Launch& launch, const std::vector<unsigned char>& arguments) {
  while (fault_ == "hang") std::this_thread::sleep_for(std::chrono::seconds(1));
  const std::lock_guard<std::mutex> one(executing_);
  machine::Gpu& gpu = kernel.module->gpu();
  gpu.memory.clear();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [memory, piece] : pieces_) gpu.memory.add(memory, piece.bytes, piece.kind, "memory of the GPU");
  }
  using Clock = std::chrono::steady_clock;
  gpu.nanoseconds = [] {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
  };
  // Devices are other threads and processes: they need processor time, and may change memory at any time.
  gpu.step_devices = [turn = 0u](machine::Random&) mutable {
    if (++turn % 64 == 0) ::sched_yield();
    return true;
  };
  gpu.limits.instructions = ~uint64_t{0};
  machine::Launch now = launch;
  now.arguments = arguments.data();
  now.argument_bytes = arguments.size();
  try {
    gpu.start(seed_++);
    gpu.run(kernel.info.name, now);
  } catch (const std::exception& fault) {
    const std::lock_guard<std::mutex> lock(mutex_);
    trouble_ = fault.what();
    std::fprintf(stderr, "played GPU: %s\n", fault.what());
    return launch_failed;
  }
  return success;
}

Error Device::synchronize() {
  std::vector<std::shared_ptr<Stream>> all;  // another thread may remove one meanwhile
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    all = streams_;
  }
  Error error = success;
  for (const std::shared_ptr<Stream>& stream : all) {
    const Error one = stream->synchronize();
    if (error == success) error = one;
  }
  return error;
}

Stream* Device::add_stream() {
  const std::lock_guard<std::mutex> lock(mutex_);
  streams_.push_back(std::make_shared<Stream>());
  return streams_.back().get();
}

void Device::remove(Stream* stream) {
  std::shared_ptr<Stream> removed;  // ends after the lock, which its work may take
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].get() != stream) continue;
    removed = std::move(streams_[i]);
    streams_.erase(streams_.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
}

std::string Device::trouble() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return trouble_;
}

}  // namespace played
