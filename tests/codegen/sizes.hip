// SPDX-License-Identifier: MIT
// How large a kernel becomes that reads, or puts, once and waits for it, by who shares the queue. Functions that it
// calls, which exist once in a program for any number of kernels, are not part of it. Limits: budgets.cmake.

#include <xio/device/nvme/queue.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/vendors/mlx5/traits.hpp>

using namespace xio;

namespace {

__device__ uint32_t me() { return arch::block_index() * arch::block_size() + arch::thread_index(); }

template <Sharing S>
__device__ void read(nvme::Queue<S> queue, uint64_t bus, Status* out, uint64_t lba) {
  const Deadline until = queue.deadline(1_s);
  const Token token = queue.submit(nvme::read(lba, 8), nvme::ContiguousPages{bus + uint64_t{me()} * 4096}, until);
  out[me()] = queue.wait(token, until);
}

template <Sharing S>
__device__ void put(rdma::QueuePair<mlx5::Vendor<>, S> queue, rdma::RemoteMemory to, Region from,
                    Status* out) {
  const Deadline until = queue.deadline(1_s);
  const Token token = queue.put(to.at(me() * 64, 64), from.at(me() * 64, 64), until);
  out[me()] = queue.wait(token, until);
}

}  // namespace

#define XIO_READ(NAME, SHARING)                                                                     \
  extern "C" __global__ void read_##NAME(nvme::QueueHandle handle, uint64_t bus, Status* out) {     \
    read(nvme::Queue<Sharing::SHARING>(handle), bus, out, uint64_t{me()} * 8);                      \
  }
#define XIO_PUT(NAME, SHARING)                                                                      \
  extern "C" __global__ void put_##NAME(rdma::QueuePairHandle handle, rdma::RemoteMemory to,        \
                                        Region from, Status* out) {                      \
    put(rdma::QueuePair<mlx5::Vendor<>, Sharing::SHARING>(handle), to, from, out);                  \
  }

XIO_READ(thread, thread)
XIO_READ(wave, wave)
XIO_READ(grid, grid)
XIO_PUT(thread, thread)
XIO_PUT(wave, wave)
XIO_PUT(grid, grid)

// The same queue, used in a second place.
extern "C" __global__ void read_grid_twice(nvme::QueueHandle handle, uint64_t bus, Status* out) {
  nvme::Queue<Sharing::grid> queue(handle);
  read(queue, bus, out, uint64_t{me()} * 8);
  read(queue, bus + 1048576, out + 4096, uint64_t{me()} * 16);
}

// The same in a function of the program, which is called once or twice.
#define XIO_OF_256 __attribute__((amdgpu_flat_work_group_size(1, 256)))
static __device__ __attribute__((noinline)) Status read_one(const nvme::QueueHandle& handle, uint64_t lba,
                                                            const RegionSpan& data) {
  nvme::Queue<Sharing::grid> queue(handle);
  const Deadline until = queue.deadline(1_s);
  return queue.wait(queue.read(lba, data, until), until);
}
extern "C" __global__ XIO_OF_256 void read_called(const nvme::QueueHandle* handle, Region data, Status* out) {
  out[me()] = read_one(*handle, uint64_t{me()} * 8, data.at(uint64_t{me()} * 4096, 4096));
}
extern "C" __global__ XIO_OF_256 void read_called_twice(const nvme::QueueHandle* handle, Region data, Status* out) {
  out[me()] = read_one(*handle, uint64_t{me()} * 8, data.at(uint64_t{me()} * 4096, 4096));
  out[4096 + me()] = read_one(*handle, uint64_t{me()} * 16, data.at(uint64_t{me()} * 4096, 4096));
}
