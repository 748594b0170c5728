// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Arguments of the kernels of kernels.hip, in types of C alone.

namespace abi_tests {

constexpr unsigned block_bytes = 512;
constexpr unsigned words = block_bytes / 8;

/// Of an NVMe queue whose blocks have 512 bytes. Each thread has two blocks of data, and as many of the namespace.
struct NvmeWork {
  unsigned long long queue;         ///< address of the handle
  unsigned long long* data;         ///< [thread][2][words]
  unsigned long long bus;           ///< of the data
  unsigned long long* pages;        ///< bus addresses of the pages of the data
  unsigned long long notification;  ///< address, zeroed; others follow for each thread
  unsigned long long pieces;        ///< room for two for each thread
  unsigned* bad;                    ///< per thread: 0, or the number of the step that went wrong
  unsigned threads;                 ///< all of the launch
  unsigned depth;
};

/// Of a queue pair. Each thread has two blocks of local memory and one of the peer's; then one word of the peer's for
/// each, and one for all.
struct RdmaWork {
  unsigned long long queue;   ///< address of the handle
  unsigned long long* local;  ///< [thread][2][words]
  unsigned long long remote;  ///< address of the peer's memory
  unsigned* bad;
  unsigned lkey;
  unsigned rkey;
  unsigned threads;
};

}  // namespace abi_tests
