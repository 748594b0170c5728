// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An attribute of kernels.

#include <xio/config.hpp>

/// For kernels whose blocks are one wave or one lane: without it AMD's compiler leaves registers for blocks of sixteen
/// waves, and keeps in memory what does not fit.
#if XIO_ARCH_AMDGCN
#define ONE_WAVE __attribute__((amdgpu_flat_work_group_size(1, 64)))
#else
#define ONE_WAVE
#endif
