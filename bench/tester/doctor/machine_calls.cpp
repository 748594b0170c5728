// SPDX-License-Identifier: MIT
// The questions that only system calls answer.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <xio/vendors/nvme/identify.hpp>

#include "tester/doctor/machine.hpp"
#include "tester/found_qemu.hpp"

namespace tester::doctor {

namespace {

/// An admin command that only asks; empty where it did not succeed.
std::optional<uint32_t> ask(const std::string& node, uint8_t opcode, uint32_t dword10, void* data, uint32_t bytes) {
  const int fd = ::open(node.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  nvme_admin_cmd command{};
  command.opcode = opcode;
  command.addr = reinterpret_cast<uintptr_t>(data);
  command.data_len = bytes;
  command.cdw10 = dword10;
  // A status of the controller is a positive result.
  const int result = ::ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command);
  ::close(fd);
  if (result != 0) return std::nullopt;
  return command.result;
}

constexpr uint8_t identify = 0x06;
constexpr uint32_t identify_controller = 0x01;
constexpr uint8_t get_features = 0x0a;
constexpr uint32_t number_of_queues = 0x07;
constexpr uint64_t page = 4096;

}  // namespace

int Machine::open_error(const std::string& node) const {
  const int fd = ::open(path(node).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

int Machine::map_error(const std::string& file) const {
  const int fd = ::open(path(file).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno;
  void* const data = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = data == MAP_FAILED ? errno : 0;
  if (error == 0) ::munmap(data, page);
  ::close(fd);
  return error;
}

std::optional<uint32_t> Machine::granted_queues(const std::string& controller) const {
  const auto answer = ask(path("/dev/" + controller), get_features, number_of_queues, nullptr, 0);
  if (!answer) return std::nullopt;
  // Submission queues in the low half, completion queues in the high one; both are one less than their number.
  return std::min(*answer & 0xffff, *answer >> 16) + 1;
}

std::optional<uint32_t> Machine::admin_commands(const std::string& controller) const {
  alignas(page) std::array<uint8_t, page> data{};
  if (!ask(path("/dev/" + controller), identify, identify_controller, data.data(), data.size())) return std::nullopt;
  return xio::nvme::IdentifyController{data.data()}.oacs();
}

std::string Machine::loadable(const std::vector<std::string>& libraries) const {
  for (const std::string& one : libraries)
    // Never unloaded: providers of verbs and runtimes of GPUs do not bear that.
    if (::dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return one;
  return {};
}

std::optional<int> Machine::visible_gpus(const std::string& library, const std::string& function) const {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  // CUDA's driver wants to be told to start; HIP's runtime does it by itself.
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
