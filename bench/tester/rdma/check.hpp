// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Contents of messages: a function of the operation's number and a seed, so that lost, duplicate and misplaced
/// data is detected.

#include "tester/nvme/block_content.hpp"

namespace tester {

/// @param to  buffer with space for whole words
XIO_DEVICE void fill_message(const BlockContent& content, uint8_t* to, uint64_t number, uint32_t bytes) {
  content.fill(to, number, (bytes + 7) & ~7u);
}

/// Offset of the first 8 bytes that differ; `bytes` if none do.
XIO_DEVICE uint32_t message_difference(const BlockContent& content, const uint8_t* data, uint64_t number,
                                       uint32_t bytes) {
  const uint32_t whole = bytes & ~7u;
  const uint32_t differs = content.first_difference(data, number, whole);
  if (differs < whole || whole == bytes) return differs == whole ? bytes : differs;
  const uint64_t last = content.word(number, whole / 8);
  for (uint32_t i = whole; i < bytes; ++i)
    if (data[i] != static_cast<uint8_t>(last >> (8 * (i - whole)))) return whole;
  return bytes;
}

XIO_DEVICE uint64_t first_word(const BlockContent& content, uint64_t number) { return content.word(number, 0); }

/// Immediate data of a write.
XIO_DEVICE uint32_t immediate_of(const BlockContent& content, uint64_t number) {
  return static_cast<uint32_t>(content.word(number, 0) >> 32) ^ static_cast<uint32_t>(number);
}

}  // namespace tester
