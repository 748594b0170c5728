// SPDX-License-Identifier: MIT
#include "tester/nvme/data_place.hpp"

#include <utility>

namespace tester {

DataPlace DataPlace::of_drive(const ExecutorMemory& memory, xio::host::DmaBuffer data) {
  const auto kept = std::make_shared<const xio::host::DmaBuffer>(std::move(data));
  DataPlace place;
  place.data = static_cast<uint8_t*>(memory.address(kept->data()));
  place.bus = kept->bus();
  place.kept = kept;
  return place;
}

DataPlace DataPlace::of_drives(const ExecutorMemory& memory, const xio::host::NvmeDriveSet& set, uint64_t bytes) {
  const auto kept = std::make_shared<const xio::host::DriveBuffer>(set.allocate(bytes));
  DataPlace place;
  place.data = static_cast<uint8_t*>(memory.address(kept->data()));
  place.stripes = MirroredArray<Stripes>(memory, 1);
  place.stripes[0] = {set.handle(), kept->region()};
  place.kept = kept;
  return place;
}

DataPlace DataPlace::of_remote(const RemoteController& remote) {
  DataPlace place;
  place.data = remote.data();
  place.bus = reinterpret_cast<uintptr_t>(remote.data());
  return place;
}

}  // namespace tester
