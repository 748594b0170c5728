// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A controller over RDMA that the kernel's own host drives.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <xio/host/linux/file_descriptor.hpp>

#include "catch.hpp"

namespace guest_tests {

/// Connected until it ends; descriptors of the disk end before.
class KernelHost {
 public:
  /// @param options as nvme-fabrics takes them
  explicit KernelHost(std::string options) {
    const xio::host::FileDescriptor fabrics(::open("/dev/nvme-fabrics", O_RDWR), "cannot open /dev/nvme-fabrics");
    REQUIRE(::write(fabrics.get(), options.data(), options.size()) == static_cast<ssize_t>(options.size()));
    std::string said(options.size(), '\0');
    said.resize(::read(fabrics.get(), said.data(), said.size()) > 0 ? said.size() : 0);
    instance_ = said.substr(said.find('=') + 1, said.find(',') - said.find('=') - 1);
    for (int i = 0; i < 200 && ::access(disk().c_str(), F_OK) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;
  ~KernelHost() { std::ofstream("/sys/class/nvme/nvme" + instance_ + "/delete_controller") << "1"; }

  std::string disk() const { return "/dev/nvme" + instance_ + "n1"; }

 private:
  std::string instance_;
};

}  // namespace guest_tests
