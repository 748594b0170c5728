// SPDX-License-Identifier: MIT

/// @file
/// @brief Several QEMUs with one memory: a drive set over them, and what is refused.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>
#include <xio/host/nvme/drive_set.hpp>
#include <xio/host/nvme/open.hpp>
#include <xio/host/simt/simt.hpp>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;

namespace {

constexpr uint32_t lanes = 32;

/// Each lane writes a block of its own, clears its memory and reads the block back.
void write_and_read(xio::nvme::DriveSetHandle set, xio::nvme::DriveRegion memory, uint64_t* words, xio::Status* ends) {
  const uint32_t lane = xio::arch::thread_index();
  xio::nvme::DriveSet<> drives(set, 0);
  const xio::nvme::DriveSpan mine = memory.at(uint64_t{lane} * 512, 512);
  const xio::Deadline until = xio::deadline(xio::Duration{10000000000});
  words[lane * 64] = 1000 + lane;
  ends[lane] = drives.wait(drives.write(lane, mine, until), until);
  words[lane * 64] = 0;
  const xio::Status read = drives.wait(drives.read(lane, mine, until), until);
  if (ends[lane].is_ok()) ends[lane] = read;
}

void check_set(const std::vector<NvmeController*>& controllers) {
  const NvmeDriveSet set = make_drive_set(controllers, {});
  const DriveBuffer data = set.allocate(lanes * 512);
  std::vector<xio::Status> ends(lanes, xio::Status(xio::Status::not_ready));
  xio::simt::launch(xio::simt::Grid::of_waves(1, 1, lanes), write_and_read, set.handle(), data.region(),
                    data.as<uint64_t>(), ends.data());
  for (uint32_t i = 0; i < lanes; ++i) {
    INFO(i);
    CHECK(ends[i] == xio::Status::ok);
    CHECK(data.as<uint64_t>()[i * 64] == 1000 + i);
  }
}

}  // namespace

TEST_CASE("drives opened together are a set, by either protocol, beside the model", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  for (const char* const third : {"qemu:transport=qtest", "emulated"}) {
    INFO(third);
    std::vector<OpenedNvme> drives =
        open_nvme_drives({"qemu:dma=64M,transport=qtest", "qemu:dma=8M,transport=remote", third});
    CHECK(drives[0].qemu->process().pid() != drives[1].qemu->process().pid());
    CHECK(drives[1].qemu->dma_window().size() == 64 << 20);
    CHECK(drives[1].qemu->dma_window().begin() == drives[0].qemu->dma_window().begin());
    std::vector<NvmeController*> controllers;
    for (const OpenedNvme& one : drives) controllers.push_back(one.controller.get());
    check_set(controllers);
    // The memory lives as long as a controller that uses it.
    controllers.erase(controllers.begin());
    drives.erase(drives.begin());
    check_set(controllers);
  }
}

TEST_CASE("a QEMU that starts leaves the memory of others as it is", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuNvme one(options_for(QemuProtocol::qtest));
  const DmaBuffer all = one.allocate(size_t{200} << 20, 4096);
  std::memset(all.data(), 0xa5, all.size());
  QemuOptions options = options_for(protocol);
  options.memory = one.memory();
  const QemuNvme other(options);
  size_t changed = 0;
  for (const unsigned char byte : all.span<unsigned char>()) changed += byte != 0xa5;
  CHECK(changed == 0);
}

TEST_CASE("memory that a QEMU cannot access is refused", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  std::vector<OpenedNvme> drives;
  for (int i = 0; i < 2; ++i) drives.push_back(open_nvme("qemu"));
  const NvmeDriveSet set = make_drive_set({drives[0].controller.get(), drives[1].controller.get()}, {});
  CHECK(contains(error_of([&] { set.allocate(512); }), "controllers that share buffers are opened together"));
  const QemuNvme remote(options_for(QemuProtocol::remote));
  QemuOptions options = options_for(QemuProtocol::qtest);
  options.memory = remote.memory();
  CHECK(contains(error_of([&] { const QemuNvme other(options); }), "transport=qtest cannot use memory that begins"));
}
