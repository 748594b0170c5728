// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The CPU's hardware instruction counter, if the kernel grants access.

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace vendors {

/// Instructions of the calling thread in user mode (perf_event_open(2)). Virtual machines often have no such counter.
class InstructionCounter {
 public:
  InstructionCounter() {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    file_ = static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  }
  ~InstructionCounter() {
    if (file_ >= 0) ::close(file_);
  }
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  bool available() const { return file_ >= 0; }
  /// Instructions since construction; 0 if no counter is available.
  uint64_t read() const {
    uint64_t value = 0;
    if (file_ >= 0 && ::read(file_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) value = 0;
    return value;
  }

 private:
  int file_ = -1;
};

}  // namespace vendors
