// SPDX-License-Identifier: MIT

/// @file
/// @brief Limits of cgroups on huge pages, and memory that they do not permit: an error, and never a SIGBUS.

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include <xio/host/linux/huge_page_limit.hpp>
#include <xio/host/memory/dma_arena.hpp>

#include "catch.hpp"
#include "unit/host_fake_driver.hpp"
#include "unit/host_shared_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeDriver;
using host_tests::shared_refusal;

namespace {

constexpr size_t mib = size_t{1} << 20;

/// A process in a group of this hierarchy.
struct Container : FakeDriver {
  /// @param line  of /proc/self/cgroup
  /// @param root  of what is mounted
  Container(const std::string& line, const std::string& root = "/", const std::string& type = "cgroup2 none rw") {
    set("/proc/self/cgroup", line);
    set("/proc/self/mountinfo",
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:26 " + root + " /sys/fs/cgroup rw,nosuid shared:4 - " + type);
  }
  void group(const std::string& path, const std::string& file, const std::string& text) const {
    const std::string folder = sysfs() + "/fs/cgroup" + path;
    std::filesystem::create_directories(folder);
    set(folder.substr(sysfs().size() - 4) + "/hugetlb.2MB." + file, text);
  }
  std::string left() {
    const auto found = detail::huge_page_limit(*this, 2 * mib);
    return found ? detail::left_text(*found) + ", " + found->file.substr(sysfs().size()) : "no limit";
  }
};

}  // namespace

TEST_CASE("the tightest limit of all groups above a process counts", "[host][huge_pages]") {
  SECTION("none") {
    Container process("0::/a/b");
    CHECK(process.left() == "no limit");
    process.group("/a/b", "max", "max");
    process.group("/a/b", "current", "0");
    CHECK(process.left() == "no limit");
  }
  SECTION("use, of several groups") {
    Container process("0::/a/b");
    process.group("/a/b", "max", "8388608");
    process.group("/a/b", "current", "2097152");
    CHECK(process.left() == "6 of 8 MiB of huge pages, /fs/cgroup/a/b/hugetlb.2MB.max");
    process.group("/a", "max", "16777216");
    process.group("/a", "current", "12582912");
    CHECK(process.left() == "4 of 16 MiB of huge pages, /fs/cgroup/a/hugetlb.2MB.max");
    process.group("/a/b", "current", "10485760");
    CHECK(process.left() == "0 of 8 MiB of huge pages, /fs/cgroup/a/b/hugetlb.2MB.max");
    process.group("/c", "max", "0");
    CHECK(contains(process.left(), "/a/b/"));
  }
  SECTION("reservations") {
    Container process("0::/a");
    process.group("/a", "max", "8388608");
    process.group("/a", "rsvd.max", "4194304");
    CHECK(process.left() == "4 of 4 MiB of huge pages, /fs/cgroup/a/hugetlb.2MB.rsvd.max");
  }
  SECTION("a pod without huge pages, whose group is the root of what it sees") {
    for (const char* line : {"0::/", "0::/../other", "0::/elsewhere"}) {
      Container process(line, "/kubepods/pod1");
      process.group("", "max", "0");
      CHECK(process.left() == "0 of 0 MiB of huge pages, /fs/cgroup/hugetlb.2MB.max");
    }
  }
  SECTION("a part of the hierarchy is mounted") {
    Container process("0::/kubepods/pod1/c", "/kubepods/pod1");
    process.group("/c", "max", "0");
    CHECK(process.left() == "0 of 0 MiB of huge pages, /fs/cgroup/c/hugetlb.2MB.max");
  }
  SECTION("the first version") {
    Container process("4:hugetlb:/a\n0::/b", "/", "cgroup none rw,hugetlb");
    process.group("/a", "limit_in_bytes", "9223372036854771712");
    CHECK(process.left() == "no limit");
    process.group("/a", "limit_in_bytes", "4194304");
    process.group("/a", "usage_in_bytes", "4194304");
    CHECK(process.left() == "0 of 4 MiB of huge pages, /fs/cgroup/a/hugetlb.2MB.limit_in_bytes");
  }
}

TEST_CASE("memory that a group does not permit is refused before it is touched", "[host][huge_pages]") {
  const auto process = std::make_shared<Container>("0::/pod");
  std::string expected;
  size_t allocated = 0;
  SECTION("use") {
    process->group("/pod", "max", "2097152");
    expected = "kernel-shared: a cgroup leaves this process 2 of 2 MiB of huge pages, and 4 MiB are wanted: raise " +
               process->sysfs() + "/fs/cgroup/pod/hugetlb.2MB.max (Kubernetes: ";
  }
  SECTION("reservations") {
    process->group("/pod", "rsvd.max", "2097152");
    expected = "/pod/hugetlb.2MB.rsvd.max (Kubernetes: ";
  }
  SECTION("the kernel says it, where no limit can be seen") {
    process->allocate_error = ENOSPC;
    allocated = 4 * mib;
    expected = "no 2 huge pages of 2 MiB are free";
  }
  const std::string message = shared_refusal(process);
  INFO(message);
  CHECK(contains(message, expected));
  CHECK(process->allocated == allocated);
  CHECK(process->queue_files().empty());
}

TEST_CASE("all of a controller's memory is allocated before it is touched", "[host][huge_pages]") {
  const auto process = std::make_shared<Container>("0::/pod");
  process->group("/pod", "max", "4194304");
  CHECK(shared_refusal(process).empty());
  CHECK(process->allocated == 4 * mib);
}
