// SPDX-License-Identifier: MIT
// Each thread reads a block, and tells how that ended.
#include <xio/device/abi/xio_device.h>

extern "C" __attribute__((global)) void read_blocks(xio_address queue, xio_u64 bus, xio_status* status) {
  const xio_u32 i = __nvvm_read_ptx_sreg_tid_x();
  const xio_until until = xio_nvme_deadline(queue, 1000000000);
  const xio_token token = xio_nvme_read_grid(queue, i, 1, bus + i * 512ull, 0, until);
  status[i] = xio_nvme_wait_grid(queue, token, until);
}
