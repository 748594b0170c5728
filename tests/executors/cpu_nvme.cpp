// SPDX-License-Identifier: MIT

/// @file
/// @brief The NVMe scenarios' kernels, for the CPU executor.

#include <scenarios/kernels/nvme.hip>
