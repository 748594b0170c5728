// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Huge pages of 2 MiB: where they are available, and what is missing if they are not.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/huge_page_limit.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/linux/trusted_files.hpp>
#include <xio/host/nvme/kernel_obstacle.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

constexpr const char* huge_pages_folder = "/kernel/mm/hugepages/hugepages-2048kB/";

/// Mount point of a hugetlbfs with 2 MiB pages.
struct HugePageFolder {
  std::string path;  ///< the first that only root and this process's user can write to; empty: there is none
  std::string why;   ///< if `path` is empty: the problem of the first that others can write to; empty: none is mounted
};

inline HugePageFolder find_hugetlbfs(KernelCalls& calls) {
  // A mount without a page size option uses the kernel's default size.
  bool usual = false;
  for (const std::string& line : lines_of(calls.procfs() + "/meminfo"))
    if (line.compare(0, 13, "Hugepagesize:") == 0) usual = line.find(" 2048 kB") != std::string::npos;
  HugePageFolder found;
  for (const std::string& line : lines_of(calls.procfs() + "/self/mounts")) {
    // source, mount point, type, options
    const std::vector<std::string> words = pieces_of(line, blanks);
    if (words.size() < 4 || words[2] != "hugetlbfs") continue;
    const std::string& place = words[1];
    const std::string& options = words[3];
    const size_t size = options.find("pagesize=");
    if (size == std::string::npos ? !usual : options.compare(size, 11, "pagesize=2M") != 0) continue;
    const std::string why = why_untrusted_folder(calls, place);
    if (why.empty()) return {place, {}};
    if (found.why.empty()) found.why = why;
  }
  return found;
}

/// @param found  a result without a path
inline SharingObstacle no_hugetlbfs(const HugePageFolder& found) {
  if (!found.why.empty()) {
    const std::string mount =
        "mkdir -p /run/xio-hugepages && mount -t hugetlbfs -o pagesize=2M,mode=0700 none /run/xio-hugepages";
    return {"no hugetlbfs is root's alone: " + found.why,
            "kernel-shared: " + found.why + ", and its files decide which queues are deleted: " + mount,
            mount,
            {}};
  }
  const std::string mount = "mount -t hugetlbfs -o pagesize=2M none /dev/hugepages";
  return {"no hugetlbfs is mounted",
          "kernel-shared: no file system of huge pages is mounted: " + mount,
          "mkdir -p /dev/hugepages && " + mount,
          {}};
}

/// @param wanted  number of huge pages that are not free
inline SharingObstacle no_huge_pages(size_t wanted) {
  const std::string file = std::string("/sys") + huge_pages_folder + "nr_hugepages";
  return {"no huge page of 2 MiB is free",
          "kernel-shared: no " + std::to_string(wanted) + " huge pages of 2 MiB are free: reserve them in " + file +
              ", or lower dma= (KernelSharedOptions::dma_bytes); a container may have a lower limit",
          "echo 16 > " + file,
          {}};
}

/// Adds an obstacle if a cgroup leaves less than a controller's memory.
inline void check_huge_page_limit(KernelCalls& calls, SharingFindings& findings) {
  const size_t wanted = KernelSharedOptions().dma_bytes;
  const std::optional<HugePageLimit> limit = huge_page_limit(calls, size_t{2} << 20);
  if (!limit || limit->left >= wanted) return;
  findings.add({"this cgroup has " + left_text(*limit) + " left; a controller's are " + std::to_string(wanted >> 20) +
                    " MiB (dma=)",
                "kernel-shared: " + why_limited(calls, size_t{2} << 20, wanted),
                raise_limit(*limit),
                {}});
}

}  // namespace detail

/// Checks that a huge page is free and permitted, and a hugetlbfs to allocate from is mounted. Whether there are enough
/// shows only on allocation.
inline void inspect_huge_pages(KernelCalls& calls, SharingFindings& findings) {
  const std::string free = detail::first_word(calls.sysfs() + detail::huge_pages_folder + "free_hugepages");
  if (parse_number(free).value_or(0) == 0) findings.add(detail::no_huge_pages(1));
  detail::check_huge_page_limit(calls, findings);
  const detail::HugePageFolder folder = detail::find_hugetlbfs(calls);
  if (folder.path.empty()) findings.add(detail::no_hugetlbfs(folder));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
