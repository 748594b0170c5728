// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Objects in a child of fork(): copies without their threads, beside descriptors that are shared with the
/// parent.

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// The process that made an object, and alone may end what the object stands for: a device, a thread, a process.
class Maker {
 public:
  bool is_here() const { return ::getpid() == pid_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = ::getpid();
};

/// Deletes an object in the process that made it, and nowhere else: for std::unique_ptr and std::shared_ptr.
struct DeleteByMaker {
  Maker maker;

  template <class Object>
  void operator()(Object* object) const {
    if (maker.is_here()) delete object;
  }
};

/// Keeps the copy of another process's object for as long as this process lives: its destructor would act on the
/// device, or wait for threads that are not here.
inline void abandon(std::shared_ptr<void> copy) {
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  static auto& mutex = *new std::mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(copy));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
