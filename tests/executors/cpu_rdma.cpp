// SPDX-License-Identifier: MIT

/// @file
/// @brief The RDMA scenarios' kernels, for the CPU executor.

#include <scenarios/kernels/rdma.hip>
