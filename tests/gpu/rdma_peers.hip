// SPDX-License-Identifier: MIT
// Writes on a ConnectX queue pair that all threads of a grid share, against a NIC on the GPU that completes them at
// once: xio, and beside it NVIDIA's DOCA GPUNetIO, whose device functions are in NCCL's headers (scripts/peers-env
// fetches them). Each thread posts a write and waits for its completion, in turn. The NIC is one wave, or several that
// share its work.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gpu/null_nic.hpp>
#include <gpu/runtime.hpp>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/vendors/mlx5/traits.hpp>

#if defined(__CUDACC__) && __has_include(<nccl_device/gin/gdaki/doca_gpunetio/doca_gpunetio_device.h>)
#include <peers/gpunetio.hpp>
#define XIO_TEST_GPUNETIO 1
#endif

namespace {

using namespace xio;

constexpr uint32_t qpn = 0x1234;
constexpr uint32_t entries = 1024;

struct Outcome {
  unsigned long long passed;
  unsigned long long failed;
};

struct Row {
  std::string submitter;
  uint32_t nic_waves;
  uint32_t threads;
  uint64_t operations;
  std::vector<double> seconds;
  bool right;
  double rate() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return static_cast<double>(operations) / sorted[sorted.size() / 2];
  }
};

/// What a launch is given, all in GPU memory.
struct Run {
  rdma::QueuePairHandle handle;
  gpu::NullNic nic;
  gpu::NullNicTurn* turn;
  Outcome* outcome;
  uint32_t* finished;  ///< waves
  uint32_t* stop;
  uint32_t nic_waves;
  uint32_t waves;
  uint32_t rounds;
};

/// The first blocks are the NIC, until the last of the other waves has ended: one launch, since not every GPU runs two
/// kernels at the same time. `puts` returns how often it succeeded.
template <class Puts>
XIO_DEVICE void run_wave(const Run& run, Puts puts) {
  if (arch::block_index() < run.nic_waves) {
    if (run.nic_waves == 1) return gpu::serve_null_nic(run.nic, run.stop);
    return gpu::serve_null_nic_together(run.nic, run.turn, arch::block_index(), run.nic_waves, run.stop);
  }
  const uint32_t thread = (arch::block_index() - run.nic_waves) * arch::block_size() + arch::thread_index();
  const uint32_t right = puts(uint64_t{thread} * 64);
  arch::fetch_add<arch::Scope::system>(&run.outcome->passed, static_cast<unsigned long long>(right));
  arch::converge(arch::together(0));
  if (arch::lane() != 0) return;
  const uint32_t ended = arch::fetch_add<arch::Scope::system>(run.finished, 1u) + 1;
  if (ended == run.waves) arch::store<arch::Scope::system>(run.stop, 1u);
}

/// The threads of a wave that are here together post with one claim; each waits for its own write.
__global__ void xio_puts(Run run) {
  run_wave(run, [&run](uint64_t at) {
    rdma::QueuePair<mlx5::Vendor<>, Sharing::grid> qp(run.handle);
    const rdma::RemoteMemory remote{0x20000000, uint64_t{1} << 32, 0x77};
    const Region local{0x10000000, uint64_t{1} << 32, 0x55};
    uint32_t right = 0;
    for (uint32_t round = 0; round < run.rounds; ++round) {
      const Deadline until = qp.deadline(5_s);
      const Token token = qp.put(remote.at(at, 64), local.at(at, 64), until);
      if (!qp.wait(token, until).is_ok()) break;
      ++right;
    }
    return right;
  });
}

#if XIO_TEST_GPUNETIO
/// Each thread posts for itself, or (`Scope`) the 32 of a warp together.
template <doca_gpu_dev_verbs_exec_scope Scope>
__global__ void gpunetio_puts(Run run) {
  run_wave(run, [&run](uint64_t at) {
    const rdma::RemoteMemory remote{0x20000000, uint64_t{1} << 32, 0x77};
    const Region local{0x10000000, uint64_t{1} << 32, 0x55};
    return peers::gpunetio_puts<Scope>(run.handle, remote, local, at, 64, run.rounds);
  });
}
#endif

/// One queue pair in GPU memory, and its NIC.
struct DeviceQueuePair {
  explicit DeviceQueuePair(uint32_t cq_entries_)
      : cq_entries(cq_entries_),
        sq(gpu::allocate_device<mlx5::ControlSegment>(4 * entries)),
        cq(gpu::allocate_device<mlx5::Cqe>(cq_entries)),
        words(gpu::allocate_device<uint32_t>(96)),
        states(gpu::allocate_device<char>(sizeof(QueueState) + rdma::send_link_bytes(entries) +
                                          sizeof(rdma::SendState) + 64)) {
    gpu::check(XIO_GPU(Memset)(cq, mlx5::initial_opcode_owner, cq_entries * sizeof(mlx5::Cqe)), "completion queue");
  }
  ~DeviceQueuePair() {
    for (void* memory :
         {static_cast<void*>(sq), static_cast<void*>(cq), static_cast<void*>(words), static_cast<void*>(states)})
      gpu::free_device(memory);
  }
  DeviceQueuePair(const DeviceQueuePair&) = delete;
  DeviceQueuePair& operator=(const DeviceQueuePair&) = delete;

  gpu::NullNic nic() const { return {sq, cq, words, entries, cq_entries, qpn, words + 32}; }
  rdma::QueuePairHandle handle() const {
    rdma::QueuePairHandle h{};
    h.state = reinterpret_cast<QueueState*>(states);
    h.send = reinterpret_cast<rdma::SendState*>(states +
                                                (sizeof(QueueState) + rdma::send_link_bytes(entries) + 63) / 64 * 64);
    h.sq = sq;
    h.sq_record = words;
    h.sq_doorbell = words + 64;
    h.shape.qpn = qpn;
    h.shape.entries = entries;
    h.shape.entry_shift = 6;
    h.shape.max_sges = 1;
    h.depth = entries;
    h.signal_every = 128;
    h.cq = {cq, nullptr, words + 16, nullptr, cq_entries, 7};
    return h;
  }

  uint32_t cq_entries;
  mlx5::ControlSegment* sq;
  mlx5::Cqe* cq;
  uint32_t* words;  // record, consumer record at 16, violations at 32, doorbell at 64
  char* states;
};

void print(const Row& row) {
  std::printf("| %s | %u | %u | %llu | %.0f | %s |\n", row.submitter.c_str(), row.nic_waves, row.threads,
              static_cast<unsigned long long>(row.operations), row.rate(), row.right ? "yes" : "NO");
  std::fflush(stdout);
}

struct Shape {
  uint32_t nic_waves;
  uint32_t waves;
  uint32_t rounds;
  uint32_t repeats;
};

/// Runs a kernel several times, each on a queue pair of its own.
void measure(std::vector<Row>& rows, const std::string& submitter, void (*kernel)(Run), uint32_t cq_entries,
             const Shape& shape) {
  const uint32_t lanes = gpu::wave_size();
  Row row{submitter, shape.nic_waves, shape.waves * lanes, uint64_t{shape.waves} * lanes * shape.rounds, {}, true};
  for (uint32_t repeat = 0; repeat < shape.repeats; ++repeat) {
    const DeviceQueuePair made(cq_entries);
    auto* const words = gpu::allocate_device<uint32_t>(64);
    auto* const turn = gpu::allocate_device<gpu::NullNicTurn>(1);
    auto* const outcome = gpu::allocate_device<Outcome>(1);
    const Run run{made.handle(), made.nic(),      turn,        outcome,     words,
                  words + 32,    shape.nic_waves, shape.waves, shape.rounds};
    const auto begin = std::chrono::steady_clock::now();
    kernel<<<shape.nic_waves + shape.waves, lanes>>>(run);
    gpu::synchronize();
    row.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    Outcome passed{};
    uint32_t violations = 0;
    gpu::check(XIO_GPU(Memcpy)(&passed, outcome, sizeof passed, XIO_GPU(MemcpyDeviceToHost)), "outcome");
    gpu::check(XIO_GPU(Memcpy)(&violations, made.words + 32, sizeof violations, XIO_GPU(MemcpyDeviceToHost)),
               "violations");
    row.right = row.right && passed.passed == row.operations && violations == 0;
    for (void* memory : {static_cast<void*>(words), static_cast<void*>(turn), static_cast<void*>(outcome)})
      gpu::free_device(memory);
  }
  rows.push_back(row);
  if (shape.repeats > 1) print(row);
}

}  // namespace

int main() {
  if (gpu::unavailable()) return 77;
  std::vector<Row> rows;
  std::printf(
      "%s: writes of 64 bytes on one ConnectX queue pair of %u entries, each thread waits for each; a NIC on the GPU "
      "that completes them at once; medians of 5\n| submitter | waves of the NIC | threads | operations | operations/s "
      "| ok |\n"
      "|---|---|---|---|---|---|\n",
      gpu::device_name().c_str(), entries);
  const uint32_t most = gpu::share_of(128);
  for (const uint32_t waves : {0u, 1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    if (waves > most) continue;
    for (const uint32_t nic_waves : {1u, 8u}) {
      // Each kernel once before it is timed.
      std::vector<Row> unused;
      std::vector<Row>& into = waves == 0 ? unused : rows;
      const uint32_t threads = std::max(waves, 1u) * gpu::wave_size();
      const Shape shape{nic_waves, std::max(waves, 1u), waves == 0 ? 1 : gpu::share_of(64000 / threads + 100),
                        waves == 0 ? 1u : 5u};
      measure(into, "xio", xio_puts, 2 * entries, shape);
#if XIO_TEST_GPUNETIO
      measure(into, "GPUNetIO, warps post together", gpunetio_puts<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>, entries,
              shape);
      if (nic_waves == 1 && waves <= 4)
        measure(into, "GPUNetIO, each thread posts", gpunetio_puts<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>, entries,
                shape);
#endif
    }
  }
  bool right = true;
  for (const Row& row : rows) right = right && row.right;
#if !XIO_TEST_GPUNETIO
  std::printf("GPUNetIO is left out: no NCCL headers\n");
#endif
  if (const char* path = std::getenv("XIO_FIGURES")) {
    std::ofstream out(path);
    out << "{\"gpu\": \"" << gpu::device_name() << "\", \"rows\": [";
    for (size_t i = 0; i < rows.size(); ++i)
      out << (i ? ",\n" : "\n") << "{\"submitter\": \"" << rows[i].submitter
          << "\", \"nic_waves\": " << rows[i].nic_waves << ", \"threads\": " << rows[i].threads
          << ", \"operations\": " << rows[i].operations << ", \"operations_per_s\": " << rows[i].rate()
          << ", \"right\": " << (rows[i].right ? "true" : "false") << "}";
    out << "]}\n";
  }
  return right ? 0 : 1;
}
