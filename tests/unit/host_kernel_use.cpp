// SPDX-License-Identifier: MIT

/// @file
/// @brief Which namespaces are in use, through whichever controller, and what cannot be seen; with the kernel's driver
/// played.

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/nvme/kernel_use.hpp>

#include "catch.hpp"
#include "unit/host_fake_driver.hpp"
#include "unit/host_shared_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::FakeDriver;
using host_tests::shared_options;
using host_tests::shared_refusal;

namespace {

constexpr const char* nqn = "nqn.2019-08.org.qemu:shared";
constexpr const char* mounted_beside = "30 1 259:16 / /srv rw - ext4 /dev/nvme1n1 rw";

/// A kernel with nvme_core.multipath=N: nvme0n1 and nvme1n1 are the same namespace.
std::shared_ptr<FakeDriver> with_two_paths() {
  const auto kernel = std::make_shared<FakeDriver>();
  kernel->set("/sys/class/nvme/nvme0/subsysnqn", nqn);
  kernel->add_controller("nvme1", nqn, 1, {});
  return kernel;
}

std::vector<std::string> uses(FakeDriver& kernel) {
  std::vector<std::string> all;
  for (const BlockUse& use : uses_of(kernel, KernelController("nvme0", kernel.sysfs())))
    all.push_back((use.known ? "" : "? ") + use.what);
  return all;
}

}  // namespace

TEST_CASE("a namespace is in use through its other controller", "[host][kernel_use]") {
  const auto kernel = with_two_paths();
  CHECK(uses(*kernel).empty());
  std::string expected;
  SECTION("mounted") {
    kernel->set("/proc/self/mountinfo", mounted_beside);
    expected = "nvme1n1 is mounted on /srv";
  }
  SECTION("a partition is mounted") {
    kernel->set("/proc/self/mountinfo", "30 1 259:17 / /srv rw - ext4 /dev/nvme1n1p1 rw");
    expected = "nvme1n1p1 is mounted on /srv";
  }
  SECTION("swap") {
    kernel->set("/proc/swaps", "Filename Type Size\n/dev/nvme1n1 partition 1024");
    expected = "nvme1n1 is swap";
  }
  SECTION("part of a volume") {
    kernel->add_holder("nvme1n1p1", "dm-0");
    expected = "nvme1n1p1 is part of dm-0";
  }
  SECTION("claimed, as by a mount in another mount namespace") {
    kernel->open_errors["/dev/nvme1n1"] = EBUSY;
    expected = "nvme1n1 is held by something";
  }
  const std::string why = " (nvme1n1 is the same namespace as nvme0n1)";
  CHECK(uses(*kernel) == std::vector<std::string>{expected + why});
  const KernelSharedOptions options = shared_options();
  CHECK(contains(shared_refusal(kernel),
                 "nvme0 is in use: " + expected + why + "; end that, or read only: " + options.path + ",mounted=read"));
  KernelSharedOptions reading = options;
  reading.read_mounted = true;
  CHECK(contains(KernelSharedNvme(reading, kernel).why_read_only(), expected));
}

TEST_CASE("what makes two block devices the same namespace", "[host][kernel_use]") {
  const auto kernel = std::make_shared<FakeDriver>();
  kernel->set("/sys/class/nvme/nvme0/subsysnqn", nqn);
  kernel->set("/proc/self/mountinfo", "30 1 259:16 / /srv rw - ext4 x rw\n31 1 259:16 / /srv rw - ext4 x rw");
  const std::string other = "nqn.2019-08.org.qemu:other";
  size_t found = 2;
  SECTION("subsystem and number") { kernel->add_controller("nvme1", nqn, 1, {{"wwid", "eui.2"}}); }
  SECTION("identifier, by another subsystem") {
    kernel->set("/sys/class/block/nvme0n1/wwid", "eui.0123");
    kernel->add_controller("nvme1", other, 7, {{"wwid", "eui.0123"}});
  }
  SECTION("UUID") {
    kernel->set("/sys/class/block/nvme0n1/uuid", "6c1bc1f0-3c8e-4e62-9d2c-0f6ad7b1c001");
    kernel->add_controller("nvme1", other, 1, {{"uuid", "6c1bc1f0-3c8e-4e62-9d2c-0f6ad7b1c001"}});
  }
  SECTION("another number") {
    kernel->add_controller("nvme1", nqn, 2, {});
    found = 0;
  }
  SECTION("another subsystem") {
    kernel->add_controller("nvme1", other, 1, {{"wwid", "eui.2"}});
    found = 0;
  }
  SECTION("no identifier is none") {
    kernel->set("/sys/class/nvme/nvme0/subsysnqn", "");
    kernel->set("/sys/class/block/nvme0n1/uuid", "00000000-0000-0000-0000-000000000000");
    kernel->add_controller("nvme1", "", 1, {{"uuid", "00000000-0000-0000-0000-000000000000"}});
    found = 0;
  }
  CHECK(uses(*kernel).size() == found);
}

TEST_CASE("what cannot be looked at is refused", "[host][kernel_use]") {
  const auto kernel = with_two_paths();
  std::string expected;
  std::string remedy = "give this process /dev/nvme0n1, as a container's --device";
  SECTION("no node, as in a container") {
    kernel->open_errors["/dev/nvme0n1"] = ENOENT;
    expected = "No such file or directory";
  }
  SECTION("not permitted") {
    kernel->open_errors["/dev/nvme0n1"] = EPERM;
    expected = "Operation not permitted";
  }
  SECTION("not root") {
    kernel->open_errors["/dev/nvme0n1"] = EACCES;
    expected = "Permission denied";
    remedy = "run as root";
  }
  SECTION("a node of another device") {
    kernel->stale_numbers = {"259:0"};
    expected = "it is another device";
  }
  const std::string what = "/dev/nvme0n1 cannot be opened to see whether nvme0n1 is used: " + expected;
  CHECK(uses(*kernel) == std::vector<std::string>{"? " + what});
  const KernelSharedOptions options = shared_options();
  CHECK(contains(shared_refusal(kernel),
                 "nvme0 may be in use: " + what + "; " + remedy + ", or read only: " + options.path + ",mounted=read"));
  KernelSharedOptions reading = options;
  reading.read_mounted = true;
  CHECK(contains(KernelSharedNvme(reading, kernel).why_read_only(), "mounted=read allows reads only"));
}

TEST_CASE("nodes of partitions are not needed, those of other controllers are", "[host][kernel_use]") {
  const auto kernel = with_two_paths();
  kernel->open_errors["/dev/nvme0n1p1"] = ENOENT;
  CHECK(uses(*kernel).empty());
  kernel->open_errors["/dev/nvme1n1"] = ENOENT;
  REQUIRE(uses(*kernel).size() == 1);
  CHECK(contains(uses(*kernel).front(), "? /dev/nvme1n1 cannot be opened to see whether nvme1n1 is used"));
}

TEST_CASE("a namespace that is written to is claimed through all controllers", "[host][kernel_use]") {
  const auto kernel = with_two_paths();
  const KernelSharedNvme nvme(shared_options(), kernel);
  CHECK(nvme.writable());
  CHECK(kernel->claimed() == std::vector<std::string>{"/dev/nvme0n1", "/dev/nvme1n1"});
}
