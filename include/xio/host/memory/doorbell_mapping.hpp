// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How kernels access the doorbells of a device: through registers mapped for the GPU, or through a host thread.
/// Probing selects the path.

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/doorbell_probe.hpp>
#include <xio/host/memory/doorbell_proxy.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Paths from a kernel's store to a device register, best first.
enum class DoorbellPath {
  same_address,   ///< kernels run on the CPU, and use its mapping
  host_register,  ///< hipHostRegister() or cudaHostRegister() with the flag IoMemory
  lock_to_pool,   ///< hsa_amd_memory_lock_to_pool()
  proxy           ///< words in host memory that a host thread forwards
};

constexpr const char* name_of(DoorbellPath path) {
  switch (path) {
    case DoorbellPath::same_address: return "the CPU's mapping";
    case DoorbellPath::host_register: return "host register, I/O memory";
    case DoorbellPath::lock_to_pool: return "hsa_amd_memory_lock_to_pool";
    default: return "host proxy";
  }
}

/// Result of the path selection: each attempt with its outcome.
struct DoorbellReport {
  struct Attempt {
    DoorbellPath path;
    bool chosen;
    std::string outcome;  ///< why it was refused, or what proved that it works
  };

  std::string executor;  ///< the executor that rings the doorbells
  std::vector<Attempt> attempts;

  /// One line for each attempt.
  std::string text() const {
    std::string lines;
    for (const Attempt& one : attempts)
      lines += std::string(one.chosen ? "used     " : "refused  ") + name_of(one.path) + ": " + one.outcome + "\n";
    return lines;
  }
};

/// Doorbell words of a device for kernels. Destruction removes the mapping; no kernel may use it any more. Not movable.
class DoorbellMapping {
 public:
  /// Which register words are doorbells.
  struct Words {
    uint64_t offset = 0x1000;  ///< of the first doorbell from the start of the registers, bytes; NVMe: 0x1000
    size_t count = 1024;       ///< 32-bit words
  };
  struct Options {
    std::chrono::milliseconds patience{200};  ///< time limit for a probe's store to arrive
    bool proxy_only = false;
    /// Makes the GPU store a word, by a kernel; empty: through the runtime, which may reject addresses that it does not
    /// know.
    std::function<void(uint32_t* gpu, uint32_t value)> store;
    DoorbellProxy::Options proxy;
  };

  /// Selects a path; throws Error only if not even the proxy works.
  /// @param gpu        null: kernels run on the CPU
  /// @param registers  this process's mapping, in whole pages; must outlive the DoorbellMapping
  /// @param probe      null: there is no probe, and no path is used that has not been shown to work
  DoorbellMapping(std::shared_ptr<GpuRuntime> gpu, Span<unsigned char> registers, const Words& words,
                  DoorbellProbe* probe, const Options& options)
      : gpu_(std::move(gpu)), registers_(registers), words_(words) {
    if (words.offset % sizeof(uint32_t) != 0 || words.offset > registers.size() ||
        words.count > (registers.size() - words.offset) / sizeof(uint32_t))
      throw Error("doorbells: " + std::to_string(words.count) + " words do not fit into " +
                  std::to_string(registers.size()) + " bytes of registers");
    report_.executor = gpu_ ? gpu_->description() : "the CPU";
    if (!gpu_) {
      accept(DoorbellPath::same_address, registers.data(), "kernels run on the CPU");
      return;
    }
    if (!options.proxy_only && (try_mapping(DoorbellPath::host_register, probe, options) ||
                                try_mapping(DoorbellPath::lock_to_pool, probe, options)))
      return;
    start_proxy(options.proxy);
  }
  DoorbellMapping(std::shared_ptr<GpuRuntime> gpu, Span<unsigned char> registers, const Words& words,
                  DoorbellProbe* probe)
      : DoorbellMapping(std::move(gpu), registers, words, probe, Options{}) {}
  DoorbellMapping(const DoorbellMapping&) = delete;
  DoorbellMapping& operator=(const DoorbellMapping&) = delete;
  ~DoorbellMapping() {
    proxy_.reset();
    if (path_ == DoorbellPath::host_register || path_ == DoorbellPath::lock_to_pool)
      gpu_->unmap_registers(by(path_), registers_.data());
  }

  DoorbellPath path() const { return path_; }
  const DoorbellReport& report() const { return report_; }
  /// First doorbell word, as addressed by kernels and by the CPU.
  uint32_t* gpu_words() const { return gpu_words_; }
  uint32_t* cpu_words() const { return cpu_words_; }

  /// Opens a doorbell before its queue is created, as NvmeTransport::open_doorbell().
  void open(uint32_t index) {
    if (proxy_) proxy_->watch(index);
  }
  /// Closes a doorbell before its queue is deleted.
  void close(uint32_t index) {
    if (proxy_) proxy_->unwatch(index);
  }

 private:
  static RegisterMapping by(DoorbellPath path) {
    return path == DoorbellPath::lock_to_pool ? RegisterMapping::lock_to_pool : RegisterMapping::host_register;
  }
  static uint32_t* word_at(void* base, uint64_t offset) {
    return reinterpret_cast<uint32_t*>(static_cast<unsigned char*>(base) + offset);
  }

  void accept(DoorbellPath path, void* base, const std::string& why) {
    path_ = path;
    gpu_words_ = word_at(base, words_.offset);
    cpu_words_ = word_at(registers_.data(), words_.offset);
    report_.attempts.push_back({path, true, why});
  }

  bool try_mapping(DoorbellPath path, DoorbellProbe* probe, const Options& options) {
    const auto refuse = [&](const std::string& why) {
      report_.attempts.push_back({path, false, why});
      return false;
    };
    if (probe == nullptr) return refuse("the device has no register that can be written without side effects");
    void* base = nullptr;
    try {
      base = gpu_->map_registers(by(path), registers_.data(), registers_.size());
    } catch (const Error& reason) {
      return refuse(reason.what());
    }
    const std::string failure = probe_failure(base, *probe, options);
    if (failure.empty()) {
      accept(path, base, "a store by the GPU arrived at the device");
      return true;
    }
    gpu_->unmap_registers(by(path), registers_.data());
    return refuse(failure);
  }

  /// Returns an empty string if the GPU's store arrives, else the reason.
  std::string probe_failure(void* base, DoorbellProbe& probe, const Options& options) {
    // Each attempt stores a distinct value: a late store is not taken for that of the next attempt.
    const uint32_t value = probe.value(static_cast<uint32_t>(report_.attempts.size()));
    std::string failure;
    try {
      uint32_t* const word = word_at(base, probe.offset());
      if (options.store)
        options.store(word, value);
      else
        gpu_->store(word, value);
      if (!arrives(probe, value, options.patience))
        failure =
            "mapped, but a store by the GPU did not arrive within " + std::to_string(options.patience.count()) + " ms";
    } catch (const Error& reason) {
      failure = std::string("mapped, but a store by the GPU failed: ") + reason.what();
    }
    try {
      probe.restore();
    } catch (const Error& reason) {
      failure = std::string("mapped, but the device no longer responds: ") + reason.what();
    }
    return failure;
  }

  static bool arrives(DoorbellProbe& probe, uint32_t value, std::chrono::milliseconds patience) {
    const Timeout deadline(patience);
    Backoff backoff;
    for (;;) {
      const bool late = deadline.passed();
      if (probe.read() == value) return true;
      if (late) return false;
      backoff.pause();
    }
  }

  void start_proxy(const DoorbellProxy::Options& options) {
    memory_ = MemoryAllocator(gpu_).allocate(MemoryKind::host_coherent, words_.count * sizeof(uint32_t));
    cpu_words_ = static_cast<uint32_t*>(memory_.cpu());
    gpu_words_ = static_cast<uint32_t*>(memory_.gpu());
    path_ = DoorbellPath::proxy;
    uint32_t* const target = word_at(registers_.data(), words_.offset);
    proxy_.emplace(
        cpu_words_, words_.count,
        [target](const DoorbellChange* changes, size_t count) {
          // The load of the word acquired the kernel's earlier stores; release them to the device, too.
          for (size_t i = 0; i < count; ++i)
            __atomic_store_n(target + changes[i].index, changes[i].value, __ATOMIC_RELEASE);
        },
        options);
    report_.attempts.push_back({path_, true, "a thread of this process forwards doorbells from host memory"});
  }

  std::shared_ptr<GpuRuntime> gpu_;
  Span<unsigned char> registers_;
  Words words_;
  DoorbellPath path_ = DoorbellPath::same_address;
  uint32_t* gpu_words_ = nullptr;
  uint32_t* cpu_words_ = nullptr;
  DoorbellReport report_;
  MemoryBuffer memory_;
  std::optional<DoorbellProxy> proxy_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
