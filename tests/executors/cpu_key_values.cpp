// SPDX-License-Identifier: MIT

/// @file
/// @brief The scenarios' kernels that store values under keys, for the CPU executor.

#include <scenarios/kernels/key_values.hip>
