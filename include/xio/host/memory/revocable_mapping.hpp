// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Registers that the kernel may take away while they are mapped: an access that comes too late goes nowhere
/// instead of ending the process.

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail {

/// Mappings that a handler of SIGBUS looks at: nothing but atomics, in a place that never ends.
struct RevocableRange {
  std::atomic<uintptr_t> begin{0};  ///< 0: not in use; 1: being filled in
  std::atomic<uintptr_t> end{0};
  std::atomic<uint32_t> faults{0};  ///< accesses that came too late
};

struct RevocableRanges {
  static constexpr size_t room = 256;

  std::array<RevocableRange, room> all{};

  /// Null where all are taken.
  RevocableRange* take(uintptr_t begin, size_t bytes) {
    for (RevocableRange& one : all) {
      uintptr_t unused = 0;
      if (!one.begin.compare_exchange_strong(unused, 1)) continue;
      one.end.store(begin + bytes);
      one.faults.store(0);
      one.begin.store(begin);
      return &one;
    }
    return nullptr;
  }
  /// Null where `address` is in none.
  RevocableRange* find(uintptr_t address) {
    for (RevocableRange& one : all) {
      const uintptr_t begin = one.begin.load();
      // An entry that changes meanwhile is none of a mapping that is in use.
      if (begin > 1 && address >= begin && address < one.end.load() && one.begin.load() == begin) return &one;
    }
    return nullptr;
  }
};

inline RevocableRanges revocable_ranges;

/// Puts ordinary memory that holds all ones in the place of what is mapped there, at one stroke. Nothing but system
/// calls.
/// @param begin  a multiple of the page size, as is `bytes`
inline bool put_dead_pages(void* begin, size_t bytes) {
  void* const fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return false;
  std::memset(fresh, 0xff, bytes);
  if (::mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != MAP_FAILED) return true;
  ::munmap(fresh, bytes);
  return false;
}

}  // namespace detail

/// Makes a mapping known to BusErrorGuard, as long as it lives; the mapping outlives it, and nothing accesses the
/// mapping any more when it ends. Costs nothing where there is no guard. Not movable.
class RevocableMapping {
 public:
  /// @param data  a multiple of the page size, as is `bytes`
  RevocableMapping(void* data, size_t bytes)
      : data_(data), bytes_(bytes), range_(detail::revocable_ranges.take(reinterpret_cast<uintptr_t>(data), bytes)) {}
  RevocableMapping(const RevocableMapping&) = delete;
  RevocableMapping& operator=(const RevocableMapping&) = delete;
  ~RevocableMapping() {
    if (range_ != nullptr) range_->begin.store(0);
  }

  /// False where more than 256 of them are alive: a late access to this one then ends the process, guard or not.
  bool known() const { return range_ != nullptr; }
  /// Whether an access came too late, and went nowhere. From several threads, at any time.
  bool lost() const { return range_ != nullptr && range_->faults.load() != 0; }
  /// Lets go of the registers: from here on every access to the mapping goes nowhere, and what is read is all ones at
  /// first. For a device that is somebody else's now, whose addresses may be another device's soon. From several
  /// threads, at any time; once is enough.
  void let_go() {
    if (!gone_.exchange(true)) detail::put_dead_pages(data_, bytes_);
  }

 private:
  void* data_;
  size_t bytes_;
  detail::RevocableRange* range_;
  std::atomic<bool> gone_{false};
};

/// Handles SIGBUS, as long as one of it is alive: an access to a RevocableMapping whose registers the kernel has taken
/// away (a device that was removed from the bus) finds ordinary memory there from then on. Stores go nowhere, so that
/// deadlines tell; what is read at first is all ones, as of a device that is gone. Every other SIGBUS goes to whoever
/// handled it before.
///
/// For the application to install, and once is enough; signals are the process's. Handlers that are installed later
/// must pass on what is not theirs, as this one does. Constructed and destroyed by one thread at a time or several.
class BusErrorGuard {
 public:
  /// Throws Error where the handler cannot be installed.
  BusErrorGuard() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (guards++ != 0 || installed) return;
    struct sigaction action{};
    action.sa_sigaction = handle;
    // A program's alternative stack is used where it has one.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    if (::sigaction(SIGBUS, nullptr, &before) != 0 || ::sigaction(SIGBUS, &action, nullptr) != 0) {
      --guards;
      throw_system_error("SIGBUS cannot be handled", errno);
    }
    installed = true;
  }
  BusErrorGuard(const BusErrorGuard&) = delete;
  BusErrorGuard& operator=(const BusErrorGuard&) = delete;
  ~BusErrorGuard() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (--guards != 0) return;
    struct sigaction now{};
    ::sigaction(SIGBUS, nullptr, &now);
    // Somebody above us passes signals on to us: our handler stays, and passes on all of them.
    if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != handle) return;
    ::sigaction(SIGBUS, &before, nullptr);
    installed = false;
  }

 private:
  /// Calls nothing but system calls, and takes no lock.
  static void handle(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    if (!replace(info)) pass_on(signal, info, context);
    errno = error;
  }

  /// Whether it was an access to a page of ours, and can be repeated now.
  static bool replace(const siginfo_t* info) {
    // Others are of kill() and its like, and have no address.
    if (info->si_code <= 0) return false;
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    detail::RevocableRange* const range = detail::revocable_ranges.find(address);
    if (range == nullptr) return false;
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    void* const begin = reinterpret_cast<void*>(address / page * page);
    if (!detail::put_dead_pages(begin, page)) return false;
    range->faults.fetch_add(1);
    return true;
  }

  static void pass_on(int signal, siginfo_t* info, void* context) {
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
      // The process ends, as it would have: by the access that is repeated, or by the signal, once it is let through.
      struct sigaction action{};
      action.sa_handler = SIG_DFL;
      ::sigaction(signal, &action, nullptr);
      if (info->si_code <= 0) ::raise(signal);
    }
  }

  static inline std::mutex mutex;
  static inline size_t guards = 0;
  static inline bool installed = false;
  static inline struct sigaction before{};  ///< written before the handler is installed
};

}  // namespace host

XIO_NAMESPACE_END
