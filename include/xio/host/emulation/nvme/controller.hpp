// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief In-process NVMe controller model: fetches SQEs, walks PRPs and SGLs, moves data and posts CQEs.
///
/// Implemented from the specification; shares only the entry layouts with the device code.

#include <sys/prctl.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/emulation/address_space.hpp>
#include <xio/host/emulation/nvme/config.hpp>
#include <xio/host/emulation/nvme/engine.hpp>
#include <xio/host/emulation/nvme/fault_plan.hpp>
#include <xio/host/emulation/nvme/medium.hpp>
#include <xio/host/emulation/nvme/registers.hpp>
#include <xio/host/emulation/nvme/statistics.hpp>
#include <xio/host/emulation/nvme/violations.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// In-process NVMe controller, and the transport to it. Thread-safe unless a function states otherwise.
///
/// Doorbells are words in memory, doorbell_words(), that kernels store to with release order and the controller polls
/// with acquire order. Unmapped memory: data, a PRP list or SGL segment ends a command with 004h, Data Transfer Error;
/// queue memory and shadow doorbells set CSTS.CFS. violations() records these and all other host errors.
/// @snippet emulation.cpp NvmeController
class NvmeController final : public host::NvmeTransport {
 public:
  explicit NvmeController(NvmeConfig config = {}) : config_((check(config), std::move(config))), registers_(config_) {
    if (!config_.memory.allocate) config_.memory = heap_memory();
    const MemorySource source = config_.memory;
    doorbell_bytes_ = (size_t{2} * (config_.queues + 1) * (size_t{4} << config_.dstrd) + 4095) / 4096 * 4096;
    doorbells_ = std::shared_ptr<void>(zeroed(source, doorbell_bytes_, 4096), source.release);
    space_ = std::make_shared<AddressSpace>(config_.bus_offset);
    counters_ = std::make_unique<detail::NvmeCounters>(size_t{config_.queues} + 1);
    engine_ =
        std::make_unique<Engine>(config_, *space_, faults_, *counters_, *violations_, registers_, doorbell_words());
    if (config_.execution == NvmeExecution::thread) worker_ = host::start_device_thread([this] { work(); });
  }

  /// Stops the controller. Memory from allocate() stays accessible to the CPU.
  ~NvmeController() override {
    stopping_.store(true);
    if (worker_.joinable()) worker_.join();
  }

  // Transport.

  uint32_t read32(uint64_t offset) override {
    if (!alive()) return ~uint32_t{0};
    if (stepped() && offset == spec::reg_csts) admin_pass();
    return registers_.read32(offset);
  }
  uint64_t read64(uint64_t offset) override {
    const uint64_t low = read32(offset);
    return low | uint64_t{read32(offset + 4)} << 32;
  }
  /// Writes a register or doorbell. Doorbells of queues beyond NvmeConfig::queues, and words between doorbells, count
  /// as stray doorbells.
  void write32(uint64_t offset, uint32_t value) override {
    if (!alive()) return;
    if (offset < spec::reg_doorbells) {
      if (const char* const wrong = registers_.write32(offset, value)) violations_->add(NvmeViolation::setup, 0, wrong);
      if (stepped()) admin_pass();
      return;
    }
    const uint64_t byte = offset - spec::reg_doorbells;
    const uint64_t stride = uint64_t{4} << config_.dstrd;
    if (byte % stride != 0 || byte / stride >= 2 * (uint64_t{config_.queues} + 1)) {
      strays_.fetch_add(1);
      return;
    }
    __atomic_store_n(doorbell_words() + byte / 4, value, __ATOMIC_RELEASE);
    if (stepped() && byte < 2 * stride) admin_pass();
  }
  void write64(uint64_t offset, uint64_t value) override {
    write32(offset, static_cast<uint32_t>(value));
    write32(offset + 4, static_cast<uint32_t>(value >> 32));
  }

  /// Allocates zeroed memory from NvmeConfig::memory. The controller can access exactly `bytes` bytes.
  /// @param bytes      at least 1
  /// @param alignment  in bytes: a power of two, at most 2 MiB
  host::DmaBuffer allocate(size_t bytes, size_t alignment) override {
    if (bytes == 0 || !host::is_power_of_two(alignment) || alignment > size_t{1} << 21)
      throw host::Error(
          "emulated NVMe controller: allocate needs at least 1 byte and an alignment that is a power of two "
          "up to 2 MiB");
    const MemorySource source = config_.memory;
    void* const memory = zeroed(source, bytes, alignment < 64 ? 64 : alignment);
    std::shared_ptr<void> owner(memory, source.release);
    const std::shared_ptr<AddressSpace> space = space_;
    const uint64_t bus = space->map(memory, bytes);
    std::shared_ptr<void> mapping(memory, [space, bus, owner](void*) { space->try_unmap(bus); });
    return host::DmaBuffer(memory, bus, bytes, std::move(mapping), source.memory);
  }

  host::DmaBuffer map_memory(void* data, size_t bytes, const std::shared_ptr<void>& owner) override {
    const std::shared_ptr<AddressSpace> space = space_;
    const uint64_t bus = space->map(data, bytes);
    std::shared_ptr<void> mapping(data, [space, bus, kept = owner](void*) { space->try_unmap(bus); });
    return host::DmaBuffer(data, bus, bytes, std::move(mapping));
  }

  /// Doorbell words, laid out like the registers: 2 * (queues + 1) doorbells at a stride of 4 << DSTRD bytes.
  uint32_t* doorbell_words() override { return static_cast<uint32_t*>(doorbells_.get()); }
  bool doorbells_are_registers() const override { return false; }
  size_t doorbell_bytes() const { return doorbell_bytes_; }  ///< size of the page of doorbells

  std::string description() const override {
    std::string text = "in-process NVMe model, not a drive (";
    for (const NvmeNamespaceConfig& one : config_.namespaces)
      text += one.key_values
                  ? std::to_string(one.blocks * one.block_bytes) + " bytes of values under keys, "
                  : std::to_string(one.blocks) + " blocks of " + std::to_string(one.block_bytes) + " bytes, ";
    return text + std::to_string(config_.queues) + " queues)";
  }
  bool alive() const override { return !faults_.controller_removed() && !broken_.load(); }

  // Caller-owned memory.

  /// Maps caller-owned memory for the controller. Returns its bus address; PRPs call for whole pages.
  /// @snippet emulation.cpp map
  uint64_t map(void* memory, size_t bytes) { return space_->map(memory, bytes); }
  /// Removes the mapping that begins at `bus`. After the return, the controller no longer accesses the memory.
  /// @snippet emulation.cpp map
  void unmap(uint64_t bus) { space_->unmap(bus); }

  // Faults and counters.

  FaultPlan& faults() { return faults_; }                              ///< what goes wrong, for the caller to set
  const NvmeConfig& config() const { return config_; }                 ///< as given to the constructor
  NvmeStatistics statistics() const { return counters_->snapshot(); }  ///< what it has done so far
  /// Resets the counters to zero, except for the current numbers in flight.
  /// @snippet emulation.cpp reset_statistics
  void reset_statistics() {
    perform([this](Engine&) { counters_->reset(); });
  }
  /// Restarts QueueStatistics::low_water of a queue: it is recorded once `filled` commands have been in flight.
  /// @param filled  at least 1
  ///
  /// @snippet emulation.cpp watch_in_flight
  void watch_in_flight(uint16_t qid, uint32_t filled) {
    if (qid > config_.queues || filled == 0)
      throw host::Error("emulated NVMe controller: watch_in_flight needs an existing queue and a count of at least 1");
    counters_->queue(qid).watch.store(uint64_t{watches_.fetch_add(1) + 1} << 32 | filled);
  }
  /// Violations of the specification by the host; none in a correct run. The object outlives the controller.
  /// @snippet emulation.cpp violations
  std::shared_ptr<NvmeViolations> violations() const { return violations_; }
  /// Sets the SMART critical warning (log 02h, byte 0); raises the events that Set Features 0Bh enabled.
  /// @snippet emulation.cpp set_critical_warning
  void set_critical_warning(uint8_t bits) {
    perform([bits](Engine& engine) { engine.admin().set_critical_warning(bits); });
  }

  // Access to the medium, between two commands.

  /// Copies blocks from the medium, without faults. Throws host::Error if the blocks do not exist or data is discarded.
  /// @snippet emulation.cpp read_blocks
  void read_blocks(uint32_t nsid, uint64_t lba, uint64_t count, void* to) {
    with_blocks(nsid, lba, count,
                [=](Medium& medium) { std::memcpy(to, medium.block(lba), count << medium.block_shift()); });
  }
  /// Stores blocks on the medium, without faults. Throws like read_blocks().
  /// @snippet emulation.cpp write_blocks
  void write_blocks(uint32_t nsid, uint64_t lba, uint64_t count, const void* from) {
    with_blocks(nsid, lba, count, [=](Medium& medium) {
      std::memcpy(medium.block(lba), from, count << medium.block_shift());
      medium.flush(lba, count);
    });
  }

  /// Begins to keep a copy of what is permanent, if NvmeConfig::volatile_write_cache: the media as they are, and what
  /// is written later once a Flush has followed, or with FUA. write_blocks() is permanent at once.
  /// @snippet emulation.cpp cut_power
  void keep_flushed() {
    perform([](Engine& engine) {
      if (!engine.core().config.volatile_write_cache) return;
      for (Medium& medium : engine.core().media) medium.keep_flushed();
    });
  }
  /// Loses all that is not permanent, as a power cut may; needs keep_flushed() before. The controller itself goes on.
  /// @snippet emulation.cpp cut_power
  void cut_power() {
    perform([](Engine& engine) {
      for (Medium& medium : engine.core().media) medium.cut_power();
    });
  }

  // Stepping, with NvmeExecution::stepped only.

  /// Runs one pass: register changes, doorbells, at most `limit` commands from each I/O queue, and due delays.
  /// Returns the amount of work done; 0: idle.
  /// @snippet emulation.cpp step
  size_t step(uint32_t limit = ~uint32_t{0}) {
    if (!stepped()) throw host::Error("emulated NVMe controller: step() needs NvmeExecution::stepped");
    const std::lock_guard<std::mutex> lock(mutex_);
    return pass(limit, false);
  }
  /// Steps until a step does nothing, or `most` times. Returns the amount of work done.
  /// @snippet emulation.cpp run
  size_t run(size_t most = 1u << 20) {
    size_t work = 0;
    for (size_t i = 0; i < most; ++i) {
      const size_t done = step();
      if (done == 0) break;
      work += done;
    }
    return work;
  }

 private:
  using Task = std::function<void(Engine&)>;

  static void* zeroed(const MemorySource& source, size_t bytes, size_t alignment) {
    void* const memory = source.allocate(bytes, alignment);
    if (!memory)
      throw host::Error("emulated NVMe controller: no memory for " + std::to_string(bytes) +
                        " bytes; allocate less or raise the limit");
    std::memset(memory, 0, bytes);
    return memory;
  }

  bool stepped() const { return config_.execution == NvmeExecution::stepped; }

  void admin_pass() {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (pass(0, true) != 0) {
    }
  }

  size_t pass(uint32_t limit, bool admin_only) {
    for (uint64_t strays = strays_.exchange(0); strays != 0; --strays) engine_->stray_doorbell();
    return engine_->pass(limit, admin_only);
  }

  /// Runs a task between two passes, on the controller's thread if it has one.
  void perform(Task task) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (stepped()) return task(*engine_);
    bool done = false;
    tasks_.push_back([&](Engine& engine) {
      task(engine);
      done = true;
    });
    pending_.store(true);
    performed_.wait(lock, [&] { return done; });
  }

  template <class Body>
  void with_blocks(uint32_t nsid, uint64_t lba, uint64_t count, Body body) {
    bool found = false;
    perform([&](Engine& engine) {
      Medium* const medium = engine.core().medium(nsid);
      if (!medium || !medium->contains(lba, count) || count == 0 || !medium->block(lba)) return;
      body(*medium);
      found = true;
    });
    if (!found) throw host::Error("emulated NVMe controller: these blocks do not exist or are not stored");
  }

  void perform_tasks() {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_.store(false);
    for (; !tasks_.empty(); tasks_.pop_front()) tasks_.front()(*engine_);
    performed_.notify_all();
  }

  void work() {
    // The default timer slack would extend short sleeps by 50 microseconds.
    ::prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
    host::Backoff backoff(std::chrono::microseconds(2000), std::chrono::microseconds(100));
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (pending_.load(std::memory_order_acquire)) perform_tasks();
      size_t done = 0;
      try {
        if (!broken_.load(std::memory_order_relaxed)) done = pass(config_.burst, false);
      } catch (...) {
        broken_.store(true);  // out of memory: the controller is dead
      }
      if (done != 0 || engine_->waits()) backoff.reset();
      if (done == 0) backoff.pause();
    }
    perform_tasks();
  }

  NvmeConfig config_;
  Registers registers_;
  FaultPlan faults_;
  std::shared_ptr<AddressSpace> space_;
  std::shared_ptr<void> doorbells_;
  size_t doorbell_bytes_ = 0;
  std::unique_ptr<detail::NvmeCounters> counters_;
  std::shared_ptr<NvmeViolations> violations_ = std::make_shared<NvmeViolations>();
  std::unique_ptr<Engine> engine_;
  std::mutex mutex_;  // guards the engine if stepped, the tasks if there is a thread
  std::condition_variable performed_;
  std::deque<Task> tasks_;
  std::atomic<bool> pending_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> broken_{false};
  std::atomic<uint64_t> strays_{0};
  std::atomic<uint32_t> watches_{0};
  host::ServiceThread worker_;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
