// SPDX-License-Identifier: MIT
#include "fio/drives.hpp"

#include <map>
#include <mutex>
#include <utility>

#include <xio/host/linux/fork.hpp>

namespace fio {

namespace {

struct Drives {
  xio::host::Maker maker;
  std::mutex mutex;
  std::map<std::string, Drive> open;
};

/// Those of this process. A child of fork() has copies of its parent's, without their threads, and of a mutex that a
/// thread may have held.
Drives& drives() {
  static auto here = std::make_shared<Drives>();
  if (!here->maker.is_here()) xio::host::abandon(std::exchange(here, std::make_shared<Drives>()));
  return *here;
}

}  // namespace

Drive& open_drive(const std::string& spec, bool shadow, int gpu) {
  Drives& all = drives();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.open.find(spec);
  xio::host::ControllerOptions options;
  options.all_command_sets = true;  // zones
  if (found == all.open.end())
    found = all.open.emplace(spec, Drive{xio::host::open_nvme(spec, options), shadow, gpu, 0}).first;
  const Drive& drive = found->second;
  // The first queue has shadow doorbells made, where its executor reaches them.
  if (drive.shadow != shadow || (shadow && drive.gpu != gpu))
    throw xio::host::Error("jobs of one controller need the same option shadow, and with it the same executor");
  ++found->second.users;
  return found->second;
}

void close_drive(const std::string& spec) {
  Drives& all = drives();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.open.find(spec);
  if (found != all.open.end() && --found->second.users == 0) all.open.erase(found);
}

}  // namespace fio
