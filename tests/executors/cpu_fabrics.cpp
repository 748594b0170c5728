// SPDX-License-Identifier: MIT

/// @file
/// @brief The scenarios' kernels of NVMe over RDMA, for the CPU executor.

#include <scenarios/kernels/fabrics.hip>
