// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief In place of a header of mori that a write over a NIC does not need, and that does not compile for HIP 5.2.
