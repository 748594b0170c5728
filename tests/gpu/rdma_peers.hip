// SPDX-License-Identifier: MIT
// Writes on a ConnectX queue pair that all threads of a grid share, against a NIC on the GPU that completes them at once: xio,
// and beside it NVIDIA's DOCA GPUNetIO, whose device functions are in NCCL's headers (PyPI: nvidia-nccl-cu13; BSD-3-Clause).
// Each thread posts a write and waits for its completion, in turn.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gpu/null_nic.hpp>
#include <gpu/runtime.hpp>

#include <xio/vendors/mlx5/traits.hpp>
#include <xio/device/rdma/queue_pair.hpp>

#if defined(__CUDACC__) && __has_include(<nccl_device/gin/gdaki/doca_gpunetio/doca_gpunetio_device.h>)
#include <nccl_device/gin/gdaki/doca_gpunetio/doca_gpunetio_device.h>
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

/// Counts for a whole thread at once.
XIO_DEVICE void count(Outcome* outcome, uint32_t right, uint32_t wrong) {
  arch::fetch_add<arch::Scope::system>(&outcome->passed, static_cast<unsigned long long>(right));
  if (wrong != 0) arch::fetch_add<arch::Scope::system>(&outcome->failed, static_cast<unsigned long long>(wrong));
}

XIO_DEVICE uint32_t thread_number() { return arch::block_index() * arch::block_size() + arch::thread_index(); }

/// The threads of a wave that are here together post with one claim; each waits for its own write.
__global__ void xio_puts(rdma::QueuePairHandle handle, uint32_t rounds, Outcome* outcome) {
  rdma::QueuePair<mlx5::Vendor<>, Sharing::grid> qp(handle);
  const uint64_t at = uint64_t{thread_number()} * 64;
  const rdma::RemoteMemory remote{0x20000000, uint64_t{1} << 32, 0x77};
  const Region local{0x10000000, uint64_t{1} << 32, 0x55};
  uint32_t right = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    const Deadline until = qp.deadline(5_s);
    const Token token = qp.put(remote.at(at, 64), local.at(at, 64), until);
    if (!qp.wait(token, until).is_ok()) break;
    ++right;
  }
  count(outcome, right, rounds - right);
}

#if XIO_TEST_GPUNETIO
/// Each thread posts for itself, or (`Scope`) the 32 of a warp together.
template <doca_gpu_dev_verbs_exec_scope Scope>
__global__ void gpunetio_puts(doca_gpu_dev_verbs_qp* qp, uint32_t rounds, Outcome* outcome) {
  constexpr auto shared = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
  constexpr auto handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
  const uint64_t at = uint64_t{thread_number()} * 64;
  const doca_gpu_dev_verbs_addr remote{0x20000000 + at, doca_gpu_dev_verbs_bswap32(0x77)};
  const doca_gpu_dev_verbs_addr local{0x10000000 + at, doca_gpu_dev_verbs_bswap32(0x55)};
  uint32_t right = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    doca_gpu_dev_verbs_put<shared, handler, Scope, DOCA_GPUNETIO_VERBS_CQ_64B>(qp, remote, local, 64, &ticket);
    if (doca_gpu_dev_verbs_poll_cq_at<shared, DOCA_GPUNETIO_VERBS_QP_SQ, DOCA_GPUNETIO_VERBS_CQ_64B>(qp, ticket) != 0) break;
    ++right;
  }
  count(outcome, right, rounds - right);
}
#endif

/// One queue pair in GPU memory, its NIC, and what the two submitters keep beside it.
struct DeviceQueuePair {
  explicit DeviceQueuePair(uint32_t cq_entries_)
      : cq_entries(cq_entries_),
        sq(gpu::allocate_device<mlx5::ControlSegment>(4 * entries)),
        cq(gpu::allocate_device<mlx5::Cqe>(cq_entries)),
        words(gpu::allocate_device<uint32_t>(96)),
        states(gpu::allocate_device<char>(sizeof(QueueState) + rdma::send_link_bytes(entries) + sizeof(rdma::SendState) + 64)),
        nic(gpu::allocate_device<gpu::NullNic>(1)) {
    gpu::check(XIO_GPU(Memset)(cq, mlx5::initial_opcode_owner, cq_entries * sizeof(mlx5::Cqe)), "completion queue");
    const gpu::NullNic described{sq, cq, words, entries, cq_entries, qpn, words + 32};
    gpu::check(XIO_GPU(Memcpy)(nic, &described, sizeof described, XIO_GPU(MemcpyHostToDevice)), "NIC");
  }
  ~DeviceQueuePair() {
    for (void* memory : {static_cast<void*>(sq), static_cast<void*>(cq), static_cast<void*>(words),
                         static_cast<void*>(states), static_cast<void*>(nic)})
      gpu::free_device(memory);
  }
  DeviceQueuePair(const DeviceQueuePair&) = delete;
  DeviceQueuePair& operator=(const DeviceQueuePair&) = delete;

  rdma::QueuePairHandle handle() const {
    rdma::QueuePairHandle h{};
    h.state = reinterpret_cast<QueueState*>(states);
    h.send = reinterpret_cast<rdma::SendState*>(states + (sizeof(QueueState) + rdma::send_link_bytes(entries) + 63) / 64 * 64);
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
  gpu::NullNic* nic;
};

#if XIO_TEST_GPUNETIO
doca_gpu_dev_verbs_qp gpunetio_queue_pair(const DeviceQueuePair& made) {
  const auto big_endian = [](uint32_t value) { return __builtin_bswap32(value); };
  doca_gpu_dev_verbs_qp qp{};
  qp.sq_num = qpn;
  qp.sq_num_shift8 = qpn << 8;
  qp.sq_num_shift8_be = big_endian(qpn << 8);
  qp.sq_num_shift8_be_1ds = big_endian(qpn << 8 | 1);
  qp.sq_num_shift8_be_2ds = big_endian(qpn << 8 | 2);
  qp.sq_num_shift8_be_3ds = big_endian(qpn << 8 | 3);
  qp.sq_num_shift8_be_4ds = big_endian(qpn << 8 | 4);
  qp.sq_wqe_num = entries;
  qp.sq_wqe_mask = entries - 1;
  qp.sq_wqe_daddr = reinterpret_cast<uint8_t*>(made.sq);
  qp.sq_dbrec = made.words;
  qp.sq_db = reinterpret_cast<uint64_t*>(made.words + 64);
  qp.cq_sq.cqe_daddr = reinterpret_cast<uint8_t*>(made.cq);
  qp.cq_sq.cq_num = 7;
  qp.cq_sq.cqe_num = made.cq_entries;
  qp.cq_sq.dbrec = made.words + 16;
  qp.cq_sq.cqe_mask = made.cq_entries - 1;
  qp.cq_sq.cqe_size = 64;
  qp.cq_sq.cq_type = DOCA_GPUNETIO_VERBS_CQ_64B;
  qp.cq_sq.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
  qp.nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
  qp.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
  return qp;
}
#endif

void print(const Row& row) {
  std::printf("| %s | %u | %llu | %.0f | %s |\n", row.submitter.c_str(), row.threads,
              static_cast<unsigned long long>(row.operations), row.rate(), row.right ? "yes" : "NO");
  std::fflush(stdout);
}

/// Runs `launch` five times, each on a queue pair of its own. All memory is taken before the NIC starts and freed after it has
/// ended: a runtime may wait for all kernels before it frees memory.
template <class Prepare>
void measure(std::vector<Row>& rows, const std::string& submitter, uint32_t cq_entries, uint32_t blocks, uint32_t threads,
             uint32_t rounds, uint32_t* stop, Outcome* outcome, Prepare prepare) {
  Row row{submitter, blocks * threads, uint64_t{blocks} * threads * rounds, {}, true};
  for (uint32_t repeat = 0; repeat < 5; ++repeat) {
    const DeviceQueuePair made(cq_entries);
    auto launch = prepare(made);
    *outcome = {};
    *stop = 0;
    gpu::Stream serving;
    gpu::Stream stream;
    gpu::null_nic<<<1, gpu::wave_size(), 0, serving.get()>>>(made.nic, stop);
    const auto begin = std::chrono::steady_clock::now();
    launch(stream, blocks, threads, rounds);
    stream.synchronize();
    row.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    __atomic_store_n(stop, 1u, __ATOMIC_RELEASE);
    serving.synchronize();
    uint32_t violations = 0;
    gpu::check(XIO_GPU(Memcpy)(&violations, made.words + 32, sizeof violations, XIO_GPU(MemcpyDeviceToHost)), "violations");
    row.right = row.right && outcome->passed == row.operations && outcome->failed == 0 && violations == 0;
  }
  rows.push_back(row);
  if (rounds > 1) print(row);
}

}  // namespace

int main() {
  if (gpu::unavailable()) return 77;
  auto* const stop = static_cast<uint32_t*>(gpu::allocate_host(sizeof(uint32_t)));
  auto* const outcome = static_cast<Outcome*>(gpu::allocate_host(sizeof(Outcome)));
  std::vector<Row> rows;
  std::printf("%s: writes of 64 bytes on one ConnectX queue pair of %u entries, each thread waits for each; a NIC on the GPU "
              "that completes them at once; medians of 5\n| submitter | threads | operations | operations/s | ok |\n|---|---|---|---|---|\n",
              gpu::device_name().c_str(), entries);
  // Each kernel once before it is timed.
  for (const uint32_t blocks : {0u, 1u, 4u, 16u, 64u, 128u}) {
    const uint32_t lanes = gpu::wave_size();
    std::vector<Row> unused;
    std::vector<Row>& into = blocks == 0 ? unused : rows;
    const uint32_t grid = std::max(blocks, 1u);
    const uint32_t rounds = blocks == 0 ? 1 : 64000 / (grid * lanes) + 100;
    measure(into, "xio", 2 * entries, grid, lanes, rounds, stop, outcome, [&](const DeviceQueuePair& made) {
      return [&, handle = made.handle()](gpu::Stream& stream, uint32_t b, uint32_t t, uint32_t r) {
        xio_puts<<<b, t, 0, stream.get()>>>(handle, r, outcome);
      };
    });
#if XIO_TEST_GPUNETIO
    auto* const qp = gpu::allocate_device<doca_gpu_dev_verbs_qp>(1);
    const auto copied = [&](const DeviceQueuePair& made) {
      const doca_gpu_dev_verbs_qp described = gpunetio_queue_pair(made);
      gpu::check(cudaMemcpy(qp, &described, sizeof described, cudaMemcpyHostToDevice), "queue pair");
    };
    measure(into, "GPUNetIO, warps post together", entries, grid, lanes, rounds, stop, outcome, [&](const DeviceQueuePair& made) {
      copied(made);
      return [&](gpu::Stream& stream, uint32_t b, uint32_t t, uint32_t r) {
        gpunetio_puts<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP><<<b, t, 0, stream.get()>>>(qp, r, outcome);
      };
    });
    measure(into, "GPUNetIO, each thread posts", entries, grid, lanes, rounds, stop, outcome, [&](const DeviceQueuePair& made) {
      copied(made);
      return [&](gpu::Stream& stream, uint32_t b, uint32_t t, uint32_t r) {
        gpunetio_puts<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD><<<b, t, 0, stream.get()>>>(qp, r, outcome);
      };
    });
    gpu::free_device(qp);
#endif
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
      out << (i ? ",\n" : "\n") << "{\"submitter\": \"" << rows[i].submitter << "\", \"threads\": " << rows[i].threads
          << ", \"operations\": " << rows[i].operations << ", \"operations_per_s\": " << rows[i].rate()
          << ", \"right\": " << (rows[i].right ? "true" : "false") << "}";
    out << "]}\n";
  }
  gpu::free_host(stop);
  gpu::free_host(outcome);
  return right ? 0 : 1;
}
