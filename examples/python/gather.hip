// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernel of gather.py without Triton: in plain C, linked with the library's bitcode.

#include <xio/device/abi/xio_device.h>

/// Each block of `n` threads reads the blocks that `table` names, one for a thread, and adds up each one's words. It
/// reads from one drive: `queues` and `buses` have an entry for each block of threads.
extern "C" __attribute__((global)) void gather_sums(const xio_address* queues, const xio_u64* table,
                                                    const xio_u64* data, const xio_u64* buses, xio_nvme_piece* pieces,
                                                    xio_notification* told, xio_status* bad, xio_u64* sums, xio_u32 n,
                                                    xio_u32 words) {
  const xio_u32 block = __builtin_amdgcn_workgroup_id_x();
  const xio_address queue = queues[block];
  const xio_u32 i = block * n + __builtin_amdgcn_workitem_id_x();
  pieces[i].lba = table[i];
  pieces[i].bus = buses[block] + i * 8ull * words;
  pieces[i].blocks = 1;
  // One wave of the block submits the pieces of all.
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  const xio_address mine = (xio_address)(told + block);
  const xio_until until = xio_nvme_deadline(queue, 60000000000);
  xio_status status = xio_nvme_batch_once_grid(queue, XIO_NVME_READ, (xio_address)(pieces + block * n), n, mine, until);
  if (status == XIO_OK) status = xio_nvme_wait_count_grid(queue, mine, n, until);
  if (status != XIO_OK) bad[block] = status;
  xio_u64 sum = 0;
  for (xio_u32 word = 0; word < words; ++word) sum += data[i * (xio_u64)words + word];
  sums[i] = sum;
}
