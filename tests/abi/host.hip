// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernel of host.c: each thread writes a block, and reads it back behind all of them.

#include <xio/device/abi/xio_device.h>

extern "C" __attribute__((global)) void write_and_read(xio_address queue, xio_u64 bus, xio_status* status) {
  const xio_u32 i = __builtin_amdgcn_workitem_id_x();
  const xio_until until = xio_nvme_deadline(queue, 10000000000);
  const xio_token out = xio_nvme_write_grid(queue, i, 1, bus + i * 512ull, 0, until);
  xio_status how = xio_nvme_wait_grid(queue, out, until);
  const xio_token in = xio_nvme_read_grid(queue, i, 1, bus + (64 + i) * 512ull, 0, until);
  if (how == XIO_OK) how = xio_nvme_wait_grid(queue, in, until);
  status[i] = how;
}
