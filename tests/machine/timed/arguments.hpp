// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the kernels of the timed mode are given. Blocks are single waves; the first `devices` of them play the
/// devices, one for each queue.

#include <gpu/null_device.hpp>
#include <gpu/null_nic.hpp>

#include <xio/device/nvme/handle.hpp>
#include <xio/device/rdma/handle.hpp>

namespace machine::timed {

/// Of a kernel put_...: writes of 64 bytes, each waited for by its thread. A kernel of the same name with _prepare
/// behind it, where there is one, runs before, with the same arguments.
struct PutArguments {
  xio::rdma::QueuePairHandle handle;         ///< of the first queue pair
  const xio::rdma::QueuePairHandle* queues;  ///< all
  const gpu::NullNic* nics;
  void* scratch;             ///< 4096 bytes for each queue, zeroed, in this GPU's memory
  unsigned long long* done;  ///< operations that ended well, to be added up, in host memory
  const uint32_t* stop;
  uint32_t rounds;
  uint32_t devices;
};

/// Of a kernel read_...: reads of one block.
struct ReadArguments {
  const xio::nvme::QueueHandle* queues;
  const gpu::NullQueue* drives;
  unsigned long long* done;
  const uint32_t* stop;
  uint32_t rounds;
  uint32_t devices;
  uint32_t rows;  ///< commands of each lane in flight, or behind one doorbell
  uint32_t waves_per_queue;
};

}  // namespace machine::timed
