// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Everything a kernel needs to read and write drives through a page cache. Host code includes
/// xio/host/nvme/cache.hpp.

#include <xio/device/cache/block_array.hpp>
#include <xio/nvme.hpp>
