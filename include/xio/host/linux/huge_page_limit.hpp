// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Limits of this process's cgroups on huge pages, as containers have them.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// A limit of one cgroup. A page that it does not permit is a SIGBUS, unless it is allocated by a call that reports.
struct HugePageLimit {
  std::string file;  ///< "/sys/fs/cgroup/pod/hugetlb.2MB.max"
  uint64_t bytes;    ///< what all processes of the cgroup may have
  uint64_t left;     ///< what is left of it, in bytes
};

/// Folder of this process's cgroup that limits huge pages, and where the hierarchy is mounted; empty if there is none.
struct HugePageCgroup {
  std::string top;
  std::string below;  ///< path below `top`, without a trailing slash
  bool v2 = true;
};

inline HugePageCgroup huge_page_cgroup(KernelCalls& calls) {
  const auto has = [](const std::string& list, const std::string& word) {
    const std::vector<std::string> words = pieces_of(list, ",\n");
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  // number:controllers:path; the second version has number 0 and no controllers.
  std::string path;
  bool v2 = true;
  for (const std::string& line : lines_of(calls.procfs() + "/self/cgroup")) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const bool old = has(line.substr(first + 1, second - first - 1), "hugetlb");
    if (!old && (line.compare(0, 3, "0::") != 0 || !path.empty())) continue;
    path = line.substr(second + 1);
    v2 = !old;
    if (old) break;
  }
  if (path.empty()) return {};
  for (const std::string& line : lines_of(calls.procfs() + "/self/mountinfo")) {
    // id, parent, major:minor, root, mount point, options ... - type, source, options
    const std::vector<std::string> words = pieces_of(line, blanks);
    if (words.size() < 5) continue;
    const auto dash = std::find(words.begin() + 5, words.end(), "-");
    if (words.end() - dash < 4 || (v2 ? dash[1] != "cgroup2" : dash[1] != "cgroup" || !has(dash[3], "hugetlb")))
      continue;
    const std::string& root = words[3];
    std::string below = path == "/" || path.compare(0, 3, "/..") == 0 ? std::string() : path;
    if (root != "/") {
      // What is mounted begins at `root`; a group elsewhere has no folder here.
      const bool inside = below.compare(0, root.size(), root) == 0 && (below + "/")[root.size()] == '/';
      below = inside ? below.substr(root.size()) : std::string();
    }
    const bool in_sysfs = words[4].compare(0, 5, "/sys/") == 0;
    return {in_sysfs ? calls.sysfs() + words[4].substr(4) : words[4], below, v2};
  }
  return {};
}

/// The tightest limit on huge pages of a size; none if nothing limits them.
inline std::optional<HugePageLimit> huge_page_limit(KernelCalls& calls, size_t page_bytes) {
  const HugePageCgroup group = huge_page_cgroup(calls);
  if (group.top.empty()) return std::nullopt;
  const std::string size = page_bytes >> 30 != 0   ? std::to_string(page_bytes >> 30) + "GB"
                           : page_bytes >> 20 != 0 ? std::to_string(page_bytes >> 20) + "MB"
                                                   : std::to_string(page_bytes >> 10) + "KB";
  std::optional<HugePageLimit> found;
  // A limit holds for all groups below its own.
  for (std::string below = group.below;; below.erase(below.rfind('/'))) {
    for (const char* kind : {".", ".rsvd."}) {
      const std::string start = group.top + below + "/hugetlb." + size + kind;
      const std::string file = start + (group.v2 ? "max" : "limit_in_bytes");
      const auto bytes = parse_number(first_word(file));
      const auto used = parse_number(first_word(start + (group.v2 ? "current" : "usage_in_bytes")));
      if (!bytes) continue;
      const uint64_t left = *bytes - std::min(*bytes, used.value_or(0));
      // The first version says "no limit" by a number.
      if (*bytes < uint64_t{1} << 60 && (!found || left < found->left)) found = {file, *bytes, left};
    }
    if (below.empty()) return found;
  }
}

/// "4 of 8 MiB of huge pages"
inline std::string left_text(const HugePageLimit& limit) {
  return std::to_string(limit.left >> 20) + " of " + std::to_string(limit.bytes >> 20) + " MiB of huge pages";
}

/// How to raise a limit.
inline std::string raise_limit(const HugePageLimit& limit) {
  return "raise " + limit.file + " (Kubernetes: the limit hugepages-2Mi or hugepages-1Gi of the container)";
}

/// Why a cgroup does not let this process have `bytes` of huge pages; empty if it does.
inline std::string why_limited(KernelCalls& calls, size_t page_bytes, uint64_t bytes) {
  const std::optional<HugePageLimit> limit = huge_page_limit(calls, page_bytes);
  if (!limit || limit->left >= bytes) return {};
  return "a cgroup leaves this process " + left_text(*limit) + ", and " + std::to_string(bytes >> 20) +
         " MiB are wanted: " + raise_limit(*limit);
}

}  // namespace host::detail

XIO_NAMESPACE_END
