// SPDX-License-Identifier: MIT

/// @file
/// @brief What processes leave on record beside the kernel's driver is believed only as far as it can be: no queue of
/// the kernel's comes to harm by it, and nobody else puts a record there.

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>

#include "catch.hpp"
#include "unit/host_shared_controller.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::FakeDriver;
using host_tests::leave_behind;
using host_tests::make_shared_controller;
using host_tests::shared_options;
using host_tests::shared_refusal;
using xio::nvme::AdminOpcode;

namespace {

/// The kernel's queues, and one that nobody has any more.
const std::set<uint32_t> kernels = {1, 2, 3, 4, 5, 6, 7, 8};

std::shared_ptr<FakeDriver> driver_with_queues() {
  auto kernel = std::make_shared<FakeDriver>();
  kernel->cqs = kernel->sqs = kernels;
  kernel->cqs.insert(64);
  kernel->sqs.insert(64);
  return kernel;
}

bool harmed(const FakeDriver& kernel) {
  for (const uint32_t qid : kernels)
    if (kernel.cqs.count(qid) == 0 || kernel.sqs.count(qid) == 0) return true;
  return false;
}

struct Spoiling {
  const char* what;
  std::function<void(const std::string& path, const std::string& aside)> spoil;
  bool needs_root = false;
};

constexpr uid_t somebody = 12345;

/// What can be wrong with a file of 0600 at `path`; `aside` is a free place of the same file system.
const std::vector<Spoiling>& spoilings() {
  static const std::vector<Spoiling> all = {
      {"others may read it, and so hold its lock", [](auto& path, auto&) { ::chmod(path.c_str(), 0604); }},
      {"its group may read it", [](auto& path, auto&) { ::chmod(path.c_str(), 0640); }},
      {"its group may write to it", [](auto& path, auto&) { ::chmod(path.c_str(), 0620); }},
      {"others may write to it", [](auto& path, auto&) { ::chmod(path.c_str(), 0602); }},
      {"somebody else's", [](auto& path, auto&) { CHECK(::chown(path.c_str(), somebody, somebody) == 0); }, true},
      {"a link to it",
       [](auto& path, auto& aside) {
         std::filesystem::rename(path, aside);
         std::filesystem::create_symlink(aside, path);
       }},
      {"a second name", [](auto& path, auto& aside) { std::filesystem::create_hard_link(path, aside); }},
      {"a pipe",
       [](auto& path, auto&) {
         std::filesystem::remove(path);
         CHECK(::mkfifo(path.c_str(), 0600) == 0);
       }},
      {"a folder",
       [](auto& path, auto&) {
         std::filesystem::remove(path);
         std::filesystem::create_directory(path);
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("no number on record deletes a queue of the kernel's", "[host][kernel_shared]") {
  const auto kernel = driver_with_queues();
  std::vector<uint32_t> on_record = {64, 0xffffffff, 0x80000000, 0x10000, 0xffff0000};
  for (const uint32_t qid : kernels)
    for (const uint32_t high : {0u, 1u << 16, 1u << 17, 1u << 31, 0xffffu << 16}) on_record.push_back(high | qid);
  on_record.push_back(1u << 16 | 64);
  SECTION("of a process that has ended") {
    leave_behind(*kernel, on_record);
    {
      const KernelSharedNvme nvme(shared_options(), kernel);
    }
    for (const nvme_passthru_cmd& one : kernel->of(AdminOpcode::delete_io_sq)) CHECK(one.cdw10 == 64);
    CHECK(kernel->of(AdminOpcode::delete_io_sq).size() == 1);
    CHECK(kernel->of(AdminOpcode::delete_io_cq).size() == 1);
    CHECK(kernel->cqs == kernels);
    CHECK(kernel->queue_files().empty());
  }
  SECTION("of one that is alive: the number that is not ours to create is 64, not what ends in it") {
    on_record = {1u << 16 | 64, 1u << 16 | 63};
    const std::string path = leave_behind(*kernel, on_record);
    const FileDescriptor alive(::open(path.c_str(), O_RDWR | O_CLOEXEC), path);
    REQUIRE(::flock(alive.get(), LOCK_EX | LOCK_NB) == 0);
    NvmeController controller = make_shared_controller(kernel);
    CHECK(controller.create_queue().qid() == 63);
  }
  SECTION("after a reset in which the kernel took more") {
    leave_behind(*kernel, {64});
    // The first try is turned away while the driver resets the controller, and 64 is the kernel's after that.
    kernel->statuses[0x00] = {0x4370};
    kernel->on_command = [&](const nvme_passthru_cmd& command) {
      if (command.opcode == 0x00) kernel->set("/sys/class/nvme/nvme0/queue_count", "65");
    };
    const std::string refusal = shared_refusal(kernel);
    CHECK(kernel->of(AdminOpcode::delete_io_sq).size() == 1);
    CHECK(kernel->of(AdminOpcode::delete_io_cq).empty());
    CHECK(kernel->cqs.count(64) == 1);
    CHECK(refusal.empty());
  }
  SECTION("where the kernel does not tell any more which are its own") {
    for (const char* name : {"dead00", "dead01"}) leave_behind(*kernel, {1, 8, 64}, name);
    kernel->on_command = [&](const nvme_passthru_cmd& command) {
      if (command.opcode == 0x00) kernel->set("/sys/class/nvme/nvme0/queue_count", "");
    };
    CHECK(contains(shared_refusal(kernel), "nvme0 does not report its queue_count"));
    CHECK(kernel->of(AdminOpcode::delete_io_sq).size() == 1);
  }
  CHECK_FALSE(harmed(*kernel));
}

TEST_CASE("a record that somebody else may have written is none", "[host][kernel_shared]") {
  const auto kernel = driver_with_queues();
  const Spoiling one = GENERATE(from_range(spoilings()));
  INFO(one.what);
  if (one.needs_root && ::geteuid() != 0) return;
  const std::string path = leave_behind(*kernel, {64});
  one.spoil(path, kernel->huge_folder() + "/aside");
  {
    const KernelSharedNvme nvme(shared_options(), kernel);
    CHECK(kernel->of(AdminOpcode::delete_io_sq).empty());
  }
  CHECK(kernel->cqs.count(64) == 1);
  CHECK(std::filesystem::exists(std::filesystem::symlink_status(path)));
  // Its lock keeps nobody from anything either.
  NvmeController controller = make_shared_controller(kernel);
  kernel->cqs.erase(64);
  kernel->sqs.erase(64);
  const int held = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  CHECK(::flock(held, LOCK_EX | LOCK_NB) == 0);
  CHECK(controller.create_queue().qid() == 64);
  ::close(held);
}

TEST_CASE("a lock that somebody else may hold is refused", "[host][kernel_shared]") {
  const auto kernel = driver_with_queues();
  const Spoiling one = GENERATE(from_range(spoilings()));
  INFO(one.what);
  if (one.needs_root && ::geteuid() != 0) return;
  const std::string path = kernel->huge_folder() + "/xio-" + FakeDriver::address + ".lock";
  {
    const KernelSharedNvme makes_it(shared_options(), kernel);
  }
  struct stat made{};
  REQUIRE(::lstat(path.c_str(), &made) == 0);
  CHECK((made.st_mode & 07777) == 0600);
  one.spoil(path, kernel->huge_folder() + "/aside");
  const std::string refusal = shared_refusal(kernel);
  INFO(refusal);
  CHECK(contains(refusal, path));
}

TEST_CASE("a folder that others may write to is not used", "[host][kernel_shared]") {
  const auto kernel = driver_with_queues();
  // Two folders below the test's own, one in the other, as a mount below a folder is.
  const std::string above = kernel->huge_folder() + "/above";
  const std::string folder = above + "/huge";
  std::filesystem::create_directories(folder);
  ::chmod(above.c_str(), 0755);
  ::chmod(folder.c_str(), 0755);
  const std::string mount = "none " + folder + " hugetlbfs rw,relatime,pagesize=2M 0 0";
  kernel->set("/proc/self/mounts", mount);
  leave_behind(*kernel, {64}, "dead00", folder);
  std::string expected;
  SECTION("it is used as it is") {}
  SECTION("the folder above keeps what is in it: the sticky bit") { ::chmod(above.c_str(), 01777); }
  SECTION("everybody") {
    ::chmod(folder.c_str(), 0777);
    expected = folder + " may be written to by others (mode 0777)";
  }
  SECTION("everybody, but nobody removes what is another's") {
    ::chmod(folder.c_str(), 01777);
    expected = folder + " may be written to by others (mode 1777)";
  }
  SECTION("a group") {
    ::chmod(folder.c_str(), 0775);
    expected = folder + " may be written to by others (mode 0775)";
  }
  SECTION("the folder above: it can be replaced") {
    ::chmod(above.c_str(), 0777);
    expected = above + " may be written to by others (mode 0777)";
  }
  SECTION("somebody else's") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(folder.c_str(), somebody, somebody) == 0);
    expected = folder + " belongs to user 12345";
  }
  SECTION("the folder above is somebody else's") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(above.c_str(), somebody, somebody) == 0);
    expected = above + " belongs to user 12345";
  }
  SECTION("a link on the way") {
    const std::string link = kernel->huge_folder() + "/link";
    std::filesystem::create_directory_symlink(above, link);
    kernel->set("/proc/self/mounts", "none " + link + "/huge hugetlbfs rw,relatime,pagesize=2M 0 0");
    expected = link + " is not a directory";
  }
  SECTION("one that is not there") {
    kernel->set("/proc/self/mounts", "none /nowhere/huge hugetlbfs rw,relatime,pagesize=2M 0 0");
    expected = "/nowhere cannot be inspected: No such file or directory";
  }
  const std::string refusal = shared_refusal(kernel);
  INFO(refusal);
  if (expected.empty()) {
    CHECK(refusal.empty());
    CHECK(kernel->cqs == kernels);
    return;
  }
  CHECK(contains(refusal, expected));
  CHECK(contains(refusal, "mount -t hugetlbfs -o pagesize=2M,mode=0700 none /run/xio-hugepages"));
  CHECK(kernel->of(AdminOpcode::delete_io_sq).empty());

  // The next mount that is root's alone serves.
  const std::string safe = kernel->huge_folder() + "/safe";
  std::filesystem::create_directories(safe);
  ::chmod(safe.c_str(), 0700);
  kernel->set("/proc/self/mounts", mount + "\nnone " + safe + " hugetlbfs rw,relatime,pagesize=2M 0 0");
  if (contains(expected, "link") || contains(expected, "nowhere")) return;
  const KernelSharedNvme nvme(shared_options(), kernel);
  CHECK(kernel->cqs.count(64) == 1);
  CHECK(std::filesystem::exists(safe + "/xio-" + FakeDriver::address + ".lock"));
}
