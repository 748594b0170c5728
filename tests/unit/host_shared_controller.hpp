// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the tests of sharing a controller with the kernel's driver have in common: a controller on the driver
/// that is played, and what a process leaves behind.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>

#include "unit/host_fake_driver.hpp"
#include "unit/host_support.hpp"

namespace host_tests {

inline xio::host::KernelSharedOptions shared_options(const std::string& path = FakeDriver::by_id) {
  return xio::host::parse_kernel_shared_spec(path + ",dma=4M,passthrough=ioctl");
}

inline std::string shared_refusal(const std::shared_ptr<FakeDriver>& kernel,
                                  const xio::host::KernelSharedOptions& options = shared_options()) {
  return error_of([&] { xio::host::KernelSharedNvme(options, kernel); });
}

inline xio::host::NvmeController make_shared_controller(
    const std::shared_ptr<FakeDriver>& kernel, const xio::host::KernelSharedOptions& options = shared_options()) {
  return xio::host::NvmeController(std::make_unique<xio::host::KernelSharedNvme>(options, kernel));
}

/// What a process leaves behind that was killed, and was writing to these queues.
/// @param folder  empty: FakeDriver::huge_folder()
inline std::string leave_behind(const FakeDriver& kernel, const std::vector<uint32_t>& qids,
                                const std::string& name = "dead00", const std::string& folder = {}) {
  const std::string path =
      (folder.empty() ? kernel.huge_folder() : folder) + "/xio-" + FakeDriver::address + "-" + name;
  xio::host::detail::QueueRecordPage record{};
  record.process = 4711;
  for (const uint32_t qid : qids) record.add(qid);
  record.magic = xio::host::detail::QueueRecordPage::known_magic;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&record), sizeof record);
  std::filesystem::resize_file(path, FakeDriver::huge_page);
  ::chmod(path.c_str(), 0600);
  return path;
}

}  // namespace host_tests
