// SPDX-License-Identifier: MIT

/// @file
/// @brief What one_call.hip does, with the library's headers.

#include <xio/nvme.hpp>

using namespace xio;

extern "C" XIO_KERNEL void one_read(const nvme::QueueHandle* handle, uint64_t bus, uint32_t* status) {
  const uint32_t i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(*handle);
  const Deadline until = queue.deadline(1_s);
  const Token token = queue.submit(nvme::read(i, 1), nvme::ContiguousPages{bus + i * 4096ull}, until);
  status[i] = protocol::pack(queue.wait(token, until));
}
