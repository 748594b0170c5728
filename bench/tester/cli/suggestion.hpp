// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief "did you mean --read-io?": the accepted word closest to a mistyped one.

#include <string>
#include <vector>

namespace tester {

/// The one of `words` closest to `typed`; empty if none is close. Letter case, leading dashes and a value after '=' are
/// ignored. A word is close if at most one in three letters differs (swapped neighbours are one difference), or if one
/// word is a prefix or suffix of the other, with at least four letters.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& words);

}  // namespace tester
