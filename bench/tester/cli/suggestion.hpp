// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief "did you mean --read-io?": the word that a mistyped one is nearest to.

#include <string>
#include <vector>

namespace tester {

/// The one of `words` that whoever typed `typed` most likely meant; empty where none is near. Letter case, leading
/// dashes and a value after '=' are not looked at. A word is near if one in three letters differs at most (swapped
/// neighbours are one difference), or if one is the beginning or the end of the other, at least four letters of it.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& words);

}  // namespace tester
