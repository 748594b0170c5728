// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Share of a GPU that an I/O kernel may use.

#include <cstddef>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// A fixed number of waves: the rest of the GPU is left to compute kernels.
///
/// All of them run concurrently, or the launch fails: waves that share a queue wait for each other.
struct WaveBudget {
  uint32_t waves = 8;            ///< total number
  uint32_t waves_per_block = 1;  ///< divides `waves`
  size_t lds = 0;                ///< bytes of dynamic shared memory per block
};

namespace detail {

/// Excludes an argument from the deduction of a kernel's parameters.
template <class T>
struct SameType {
  using type = T;
};

inline uint32_t blocks_of(const WaveBudget& budget) {
  if (budget.waves == 0 || budget.waves_per_block == 0 || budget.waves % budget.waves_per_block != 0)
    throw Error("a budget of " + std::to_string(budget.waves) + " waves in blocks of " +
                std::to_string(budget.waves_per_block) + " is not accepted; use whole blocks, at least one");
  return budget.waves / budget.waves_per_block;
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
