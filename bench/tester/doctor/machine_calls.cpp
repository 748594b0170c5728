// SPDX-License-Identifier: MIT
// Queries that require system calls.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "tester/doctor/machine.hpp"
#include "tester/nvme/found_qemu.hpp"

namespace tester::doctor {

std::string MachineCalls::resolve(const std::string& path) {
  const std::string found = KernelCalls::resolve(on_root(path));
  return found.compare(0, root_.size(), root_) == 0 ? found.substr(root_.size()) : found;
}

int Machine::open_error(const std::string& node) const {
  const int fd = ::open(path(node).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

std::shared_ptr<xio::host::KernelCalls> Machine::calls() const { return std::make_shared<MachineCalls>(root_); }

std::string Machine::loadable(const std::vector<std::string>& libraries) const {
  for (const std::string& one : libraries)
    // Never unloaded: verbs providers and GPU runtimes do not support that.
    if (::dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return one;
  return {};
}

std::optional<int> Machine::visible_gpus(const std::string& library, const std::string& function) const {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  // CUDA's driver needs explicit initialisation; HIP's runtime does not.
  const auto start = reinterpret_cast<int (*)(unsigned)>(::dlsym(handle, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(handle, function.c_str()));
  int number = 0;
  if (count == nullptr || (start != nullptr && start(0) != 0) || count(&number) != 0) return 0;
  return number;
}

std::vector<std::string> Machine::qemus() const {
  std::vector<std::string> all;
  for (const FoundQemu& one : find_qemus()) all.push_back(one.path + " " + one.version);
  return all;
}

}  // namespace tester::doctor
