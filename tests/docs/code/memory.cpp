// SPDX-License-Identifier: MIT
// docs/memory.md
#include <cstdio>

#include <xio/host/memory/doorbell_mapping.hpp>
#include <xio/host/nvme/idle_probe.hpp>
#include <xio/host/nvme/vfio.hpp>

void shown(xio::host::NvmeTransport& transport, xio::host::VfioNvme& vfio) {
  // block 1
  // block 2
}
