// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Small files, links and folders, as sysfs and procfs have them; without iostreams and std::filesystem, whose
/// headers are as long as all of the library's.

#include <dirent.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
namespace detail {
/// @addtogroup host_support
/// @{

/// What words are separated by.
constexpr const char* blanks = " \t\n";

/// Contents of a file; nothing if it cannot be opened or read.
inline std::optional<std::string> contents_of(const std::string& path) {
  struct Close {
    void operator()(std::FILE* open) const { std::fclose(open); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (!file) return std::nullopt;
  std::string text;
  char piece[4096];
  while (const size_t bytes = std::fread(piece, 1, sizeof piece, file.get())) text.append(piece, bytes);
  if (std::ferror(file.get())) return std::nullopt;
  return text;
}

/// Lines of a file that are not empty; none if it cannot be read.
inline std::vector<std::string> lines_of(const std::string& path) {
  return pieces_of(contents_of(path).value_or(std::string()), "\n");
}

/// First word of a file; empty if there is none.
inline std::string first_word(const std::string& path) {
  const std::vector<std::string> words = pieces_of(contents_of(path).value_or(std::string()), blanks);
  return words.empty() ? std::string() : words.front();
}

/// Parses the first word of a file as a signed number; empty if it is not one.
inline std::optional<int> signed_number(const std::string& path) {
  const std::string word = first_word(path);
  const bool negative = !word.empty() && word[0] == '-';
  const std::optional<uint64_t> value = parse_number(negative ? word.substr(1) : word);
  if (!value || *value > 0x7fffffff) return std::nullopt;
  return negative ? -static_cast<int>(*value) : static_cast<int>(*value);
}

/// Names of the entries of a folder, sorted; empty if it cannot be read.
inline std::vector<std::string> names_in(const std::string& folder) {
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  std::vector<std::string> names;
  const std::unique_ptr<DIR, Close> entries(::opendir(folder.c_str()));
  if (!entries) return names;
  while (const dirent* const entry = ::readdir(entries.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether there is something at `path`, or at what a link there leads to.
inline bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// `path` without links, "." and ".."; empty if it leads nowhere.
inline std::string real_path(const std::string& path) {
  struct Free {
    void operator()(char* text) const { ::free(text); }
  };
  const std::unique_ptr<char, Free> found(::realpath(path.c_str(), nullptr));
  return found ? std::string(found.get()) : std::string();
}

/// What stands behind the last slash.
inline std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Target of a symbolic link, as it was written; empty if `path` is none.
inline std::string link_target(const std::string& path) {
  char target[4096];
  const ssize_t bytes = ::readlink(path.c_str(), target, sizeof target);
  if (bytes <= 0 || static_cast<size_t>(bytes) == sizeof target) return {};
  return {target, static_cast<size_t>(bytes)};
}

/// @}
}  // namespace detail
}  // namespace host

XIO_NAMESPACE_END
