// SPDX-License-Identifier: MIT

/// @file
/// @brief One read and one wait by the calls in C: see one_header.hip.

#include <xio/device/abi/xio_device.h>

extern "C" __attribute__((global)) void one_read(xio_address queue, xio_u64 bus, xio_status* status) {
  const xio_u32 i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  const xio_until until = xio_nvme_deadline(queue, 1000000000);
  const xio_token token = xio_nvme_read_grid(queue, i, 1, bus + i * 4096ull, 0, until);
  status[i] = xio_nvme_wait_grid(queue, token, until);
}
