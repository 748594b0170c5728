// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Starts the library's internal threads.

#include <pthread.h>
#include <signal.h>

#include <initializer_list>
#include <memory>
#include <thread>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/arch/host/give_way.hpp>
#include <xio/host/linux/fork.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Starts a thread that blocks all signals except faults and SIGABRT, so that the program's handlers run in the
/// program's threads.
template <class Body>
std::thread start_service_thread(Body&& body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::forward<Body>(body));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

/// A thread of start_service_thread(), or none. In a child of fork() there is no such thread: join() returns at once.
class ServiceThread {
 public:
  ServiceThread() = default;
  ServiceThread(std::thread thread) : thread_(std::make_unique<std::thread>(std::move(thread))) {}

  bool joinable() const { return thread_ != nullptr; }
  bool is_here() const { return maker_.is_here(); }
  void join() {
    if (is_here())
      std::exchange(thread_, nullptr)->join();
    else
      abandon(std::move(thread_));
  }

 private:
  std::unique_ptr<std::thread> thread_;
  Maker maker_;
};

/// start_service_thread() for a thread that plays a device: see arch::give_way().
template <class Body>
std::thread start_device_thread(Body&& body) {
  arch::devices_are_threads.store(true, std::memory_order_relaxed);
  return start_service_thread(std::forward<Body>(body));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
