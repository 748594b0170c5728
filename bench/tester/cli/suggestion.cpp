// SPDX-License-Identifier: MIT
#include "tester/cli/suggestion.hpp"

#include <algorithm>
#include <cctype>

namespace tester {

namespace {

/// The part of a word that is compared.
std::string letters_of(const std::string& word) {
  const size_t begin = std::min(word.find_first_not_of('-'), word.size());
  std::string letters = word.substr(begin, std::min(word.find('='), word.size()) - begin);
  for (char& c : letters) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// Edit distance: insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t differences(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> least(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] =
          std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

/// Whether one word is a prefix or a suffix of the other.
bool is_part(const std::string& one, const std::string& other) {
  const std::string& part = one.size() < other.size() ? one : other;
  const std::string& whole = one.size() < other.size() ? other : one;
  if (part.size() < 4) return false;
  return whole.compare(0, part.size(), part) == 0 || whole.compare(whole.size() - part.size(), part.size(), part) == 0;
}

}  // namespace

std::string nearest_word(const std::string& typed, const std::vector<std::string>& words) {
  const std::string wanted = letters_of(typed);
  std::string nearest;
  size_t least = wanted.size() / 3 + 1;
  for (const std::string& word : words) {
    const size_t count = differences(wanted, letters_of(word));
    if (count >= least) continue;
    nearest = word;
    least = count;
  }
  if (!nearest.empty()) return nearest;
  const auto part = std::find_if(words.begin(), words.end(),
                                 [&](const std::string& word) { return is_part(letters_of(word), wanted); });
  return part == words.end() ? "" : *part;
}

}  // namespace tester
