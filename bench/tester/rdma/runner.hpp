// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the RDMA workload on a link, once or several times, and sums the lanes' results.

#include <string>
#include <vector>

#include <xio/host/memory/allocator.hpp>

#include "tester/launch/memory.hpp"
#include "tester/measure/result.hpp"
#include "tester/measure/zeroed_array.hpp"
#include "tester/rdma/plan.hpp"

namespace tester {

/// One run of several.
struct RdmaRun {
  uint64_t seed = 0;
  uint64_t completed = 0;
  double seconds = 0;  ///< from the first submission to the last completion
  double per_second = 0;
  double megabytes_per_second = 0;
};

/// All runs with one transfer size.
struct RdmaResult : Result {
  RdmaPlan plan;
  std::vector<RdmaRun> runs;
  uint64_t batches = 0;
  uint64_t received = 0;
  uint64_t doorbells = 0;  ///< doorbells of the send queues
  RdmaSeen seen;
  std::vector<std::string> wrong;  ///< descriptions of wrong data; incomplete if there are many
  std::string lost;                ///< two nodes: why the other side was lost; empty if it was not

  double per_batch(uint64_t what) const { return share(static_cast<double>(what), batches); }
};

/// Data of one side, in host or GPU memory.
class RdmaData {
 public:
  /// @param executor  memory of the processor that runs the kernels
  /// @param gpu       null: host memory. Throws CannotRun if the CPU cannot access the GPU's memory.
  RdmaData(uint64_t bytes, const ExecutorMemory& executor, const std::shared_ptr<xio::host::GpuRuntime>& gpu);

  /// CPU address; null if there is no memory.
  uint8_t* data() const { return placed_ ? static_cast<uint8_t*>(placed_.cpu()) : host_.data(); }
  /// Address for kernels.
  uint8_t* executor() const { return on_gpu_ ? static_cast<uint8_t*>(placed_.gpu()) : data(); }
  RdmaKeys add_to(RdmaLink& link, uint64_t bytes) const {
    return in_gpu_ ? link.add_gpu_memory(placed_) : link.add_memory(data(), bytes);
  }

 private:
  ZeroedArray<uint8_t> host_;
  xio::host::MemoryBuffer placed_;
  bool in_gpu_ = false;  // the data is in GPU memory
  bool on_gpu_ = false;  // the kernels run on a GPU
};

/// Memory of the sides that this process runs; must outlive the link.
struct RdmaMemory {
  explicit RdmaMemory(const RdmaPlan& plan, RdmaSide side = RdmaSide::both,
                      const ExecutorMemory& with = ExecutorMemory(),
                      const std::shared_ptr<xio::host::GpuRuntime>& gpu = nullptr)
      : executor(with),
        near(side == RdmaSide::responder ? 0 : plan.near_bytes, with, gpu),
        far(side == RdmaSide::requester ? 0 : plan.far_bytes, with, gpu) {}
  ExecutorMemory executor;
  RdmaData near;
  RdmaData far;

  /// Registers the memory and stores its keys in `phase`. With two processes, `phase.remote` is then the value to send
  /// to the other one.
  void add_to(RdmaLink& link, const RdmaPlan& plan, RdmaPhase& phase) const;
};

class RdmaRunner {
 public:
  /// @param repeat  repeat operations until the time is up or a stop is requested
  /// @param memory  memory of the sides that this process runs; it is registered with the link
  RdmaRunner(const RdmaOptions& options, const RdmaPlan& plan, bool repeat, RdmaLink& link, const RdmaMemory& memory);

  /// One run, added to `result`. Must not be called again after a failure: the queue pairs are then in error.
  void run(RdmaResult& result) {
    prepare();
    execute(result);
  }
  /// First part of run(): prepares memory and lanes. Either side may start when both are prepared.
  void prepare();
  /// Second part of run().
  /// @param wait_for_requester  returns when the other side's kernel has ended; called by a responder that receives
  ///                            nothing, in place of a kernel
  void execute(RdmaResult& result, const std::function<void()>& wait_for_requester = [] {});

  /// Totals of the queue pairs in the last run.
  std::vector<RdmaTotals> totals() const;

  /// Parameters of the next run's kernel; tests modify them.
  RdmaPhase& phase() { return phase_; }

 private:
  void run_on_gpu(const std::function<uint64_t()>& done) const;
  void fill_places(const RdmaLane& lane) const;
  void collect(RdmaResult& result) const;

  const RdmaOptions& options_;
  const RdmaPlan& plan_;
  RdmaLink& link_;
  const RdmaMemory& memory_;
  double tick_ns_;
  uint32_t runs_ = 0;
  RdmaPhase phase_;
  MirroredArray<xio::rdma::QueuePairHandle> queues_;
  MirroredArray<xio::rdma::ReceiveQueueHandle> receivers_;
  MirroredArray<RdmaSlot> slots_;
  MirroredArray<Latency> latencies_;
  MirroredArray<RdmaWrong> wrong_;
  MirroredArray<RdmaLane> lanes_;
  SharedArray<uint64_t> progress_;  // per lane
  SharedArray<uint32_t> stop_;
};

/// Memory for the options of a run.
RdmaMemory memory_for(const RdmaOptions& options, const RdmaPlan& plan);

/// Side that the kernel of a process with this role runs.
RdmaSide side_of(RdmaRole role);

/// Runs with one transfer size, in one process; those of other measurements may lie between them.
class RdmaMeasurement {
 public:
  /// The arguments must outlive this object.
  RdmaMeasurement(const RdmaOptions& options, const RdmaProvider& provider, const RdmaPlan& plan, bool last);

  /// One more run. Returns whether another may follow.
  bool run();
  /// Stops the device until the next run.
  void pause();
  const RdmaResult& result() const { return result_; }

 private:
  RdmaResult result_;
  RdmaMemory memory_;
  std::unique_ptr<RdmaLink> link_;
  bool repeat_;
  RdmaRunner runner_;
  bool started_ = false;
};

/// All runs with one transfer size, in one process.
RdmaResult measure(const RdmaOptions& options, const RdmaProvider& provider, const RdmaPlan& plan, bool last);

/// "operation 7 holds the data of operation 3".
std::string describe(const RdmaWrong& wrong, const BlockContent& content);

}  // namespace tester
