// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Register mappings that the kernel may revoke: a late access is discarded instead of ending the process.

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

/// Entry of the table that the SIGBUS handler reads: only atomics, in storage that is never freed.
struct RevocableRange {
  std::atomic<uintptr_t> begin{0};  ///< 0: free; 1: being filled in
  std::atomic<uintptr_t> end{0};
  std::atomic<uint32_t> faults{0};  ///< accesses after the revocation
};

struct RevocableRanges {
  static constexpr size_t room = 256;

  std::array<RevocableRange, room> all{};

  /// Allocates an entry; null if all are in use.
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
  /// Returns the entry that contains `address`; null if none does.
  RevocableRange* find(uintptr_t address) {
    for (RevocableRange& one : all) {
      const uintptr_t begin = one.begin.load();
      // An entry that changes meanwhile does not belong to a mapping in use.
      if (begin > 1 && address >= begin && address < one.end.load() && one.begin.load() == begin) return &one;
    }
    return nullptr;
  }
};

inline RevocableRanges revocable_ranges;

/// Atomically replaces the mapping by ordinary memory that holds all ones. Uses system calls only.
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

/// Registers a mapping with BusErrorGuard during its own lifetime; the mapping must outlive it and is no longer
/// accessed when it ends. Costs nothing if there is no guard. Not movable.
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

  /// False if more than 256 are alive: a late access to this mapping then ends the process despite a guard.
  bool known() const { return range_ != nullptr; }
  /// Whether a late access was discarded. From several threads, at any time.
  bool lost() const { return range_ != nullptr && range_->faults.load() != 0; }
  /// Detaches from the registers: every later access to the mapping is discarded, and reads return all ones at first.
  /// For a device that now belongs to another driver, whose addresses may soon be assigned to another device. From
  /// several threads, at any time; one call suffices.
  void let_go() {
    if (!gone_.exchange(true)) detail::put_dead_pages(data_, bytes_);
  }

 private:
  void* data_;
  size_t bytes_;
  detail::RevocableRange* range_;
  std::atomic<bool> gone_{false};
};

/// Handles SIGBUS while at least one guard is alive: once the kernel has revoked the registers of a RevocableMapping
/// (the device was removed from the bus), accesses to the mapping hit ordinary memory. Stores are discarded, so that
/// deadlines detect the loss; reads return all ones at first, as from a removed device. Every other SIGBUS is passed to
/// the previous handler.
///
/// The application installs it, and one guard suffices; signals are process-wide. Handlers that are installed later
/// must pass on signals that are not theirs, as this one does. May be constructed and destroyed from several threads.
class BusErrorGuard {
 public:
  /// Throws Error if the handler cannot be installed.
  BusErrorGuard() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (guards++ != 0 || installed) return;
    struct sigaction action{};
    action.sa_sigaction = handle;
    // Use the program's alternative signal stack if there is one.
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
    // A later handler may pass signals to this one: keep it installed; it passes on all of them.
    if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != handle) return;
    ::sigaction(SIGBUS, &before, nullptr);
    installed = false;
  }

 private:
  /// Async-signal-safe: uses system calls only, and takes no lock.
  static void handle(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    if (!replace(info)) pass_on(signal, info, context);
    errno = error;
  }

  /// Returns whether the access hit a registered mapping, and can be repeated now.
  static bool replace(const siginfo_t* info) {
    // Signals sent by kill() and similar calls carry no address.
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
      // The process ends, as without a guard: by the repeated access, or by the signal once it is unblocked.
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
