// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Record of the queues that a process has on a controller shared with the kernel, kept where it outlives the
/// process: in the huge pages of the queues.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/linux/trusted_files.hpp>
#include <xio/host/nvme/kernel_huge_pages.hpp>
#include <xio/host/text.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// The first bytes of the file that contains a process's queues. One process writes it; any process may read it once
/// the file is no longer locked, or under SharedFolder::lock(). Whatever its contents, only the library's queues may be
/// affected.
struct QueueRecordPage {
  static constexpr uint64_t known_magic = 0x3130736b2d6f6978;  // "xio-ks01"
  static constexpr size_t room = 1000;
  static constexpr uint32_t last_qid = 0xffff;  ///< controllers use 16 bits

  uint64_t magic;       ///< known_magic once the rest is valid
  uint64_t process;     ///< process ID, informative only
  uint32_t qids[room];  ///< queues that were or may have been created; 0: none

  bool valid() const { return __atomic_load_n(&magic, __ATOMIC_ACQUIRE) == known_magic; }
  /// All recorded identifiers, without invalid ones.
  std::set<uint32_t> all() const {
    std::set<uint32_t> found;
    if (!valid()) return found;
    for (const uint32_t& qid : qids)
      if (const uint32_t one = __atomic_load_n(&qid, __ATOMIC_RELAXED); one != 0 && one <= last_qid) found.insert(one);
    return found;
  }
  /// Called before the queue is created, so that it is on record if the process ends at any later point.
  void add(uint32_t qid) {
    for (uint32_t& place : qids) {
      if (place != 0) continue;
      __atomic_store_n(&place, qid, __ATOMIC_RELEASE);
      return;
    }
    throw Error("kernel-shared: a process can have " + std::to_string(room) + " queues on one controller");
  }
  /// Called after the queue was deleted.
  void remove(uint32_t qid) {
    for (uint32_t& place : qids)
      if (place == qid) __atomic_store_n(&place, 0u, __ATOMIC_RELEASE);
  }
};

/// Files of all processes that share one controller, in the hugetlbfs of 2 MiB pages. Files of users other than root
/// and this process's user are ignored.
class SharedFolder {
 public:
  static constexpr size_t huge_page_bytes = size_t{2} << 20;

  /// Throws Error if no hugetlbfs of 2 MiB pages is mounted, or others can write to it.
  /// @param address  address of the PCI function
  SharedFolder(KernelCalls& calls, const std::string& address) : path_(folder_of(calls)), prefix_("xio-" + address) {}

  /// Lock that every process holds while it examines other processes' files; the descriptor's end releases it.
  FileDescriptor lock() const {
    const std::string path = path_ + "/" + prefix_ + ".lock";
    FileDescriptor fd(::open(path.c_str(), trusted_open_flags | O_CREAT, 0600), "kernel-shared: " + path);
    if (const std::string why = why_untrusted_file(fd.get()); !why.empty())
      throw Error("kernel-shared: " + path + " " + why + ": it was not created by this library; remove it");
    const Timeout deadline(std::chrono::milliseconds(60000));
    Backoff backoff;
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) throw_system_error("kernel-shared: " + path, errno);
      if (deadline.passed())
        throw Error("kernel-shared: another process holds " + path + " for longer than " + deadline.text());
      backoff.pause();
    }
    return fd;
  }

  /// Creates a file, locked while its descriptor is open; under lock().
  std::pair<FileDescriptor, std::string> create() const {
    std::string path = path_ + "/" + prefix_ + "-XXXXXX";
    FileDescriptor fd(::mkostemp(path.data(), O_CLOEXEC), "kernel-shared: cannot make a file in " + path_);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) throw_system_error("kernel-shared: " + path, errno);
    return {std::move(fd), path};
  }

  /// Queues of live processes; under lock().
  /// @param own  file to leave out
  std::set<uint32_t> live_queues(const std::string& own = {}) const {
    std::set<uint32_t> found;
    for_each_file([&](const std::string& path, const QueueRecordPage& record, bool alive) {
      if (alive && path != own) found.merge(record.all());
    });
    return found;
  }

  /// Deletes the remains of ended processes; under lock(), before create().
  /// @param remove  called with each of their queues that no other process has; throws if the queue cannot be deleted,
  ///                and the file then stays
  void clean(const std::function<void(uint32_t qid, uint64_t process)>& remove) const {
    const std::set<uint32_t> live = live_queues();
    for_each_file([&](const std::string& path, const QueueRecordPage& record, bool alive) {
      if (alive) return;
      for (const uint32_t qid : record.all())
        if (live.count(qid) == 0) remove(qid, record.process);
      ::unlink(path.c_str());
    });
  }

 private:
  static std::string folder_of(KernelCalls& calls) {
    const HugePageFolder found = find_hugetlbfs(calls);
    if (found.path.empty()) throw Error(no_hugetlbfs(found).message);
    return found.path;
  }

  template <class Look>
  void for_each_file(Look&& look) const {
    for (const std::string& name : names_in(path_)) {
      if (name.compare(0, prefix_.size() + 1, prefix_ + "-") != 0) continue;
      const std::string path = path_ + "/" + name;
      const int opened = ::open(path.c_str(), trusted_open_flags);
      if (opened < 0) continue;
      const FileDescriptor fd(opened, path);
      if (!why_untrusted_file(fd.get()).empty()) continue;
      const bool alive = ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
      QueueRecordPage record{};
      // A process that ended while creating its file has not written all of it.
      if (::pread(fd.get(), &record, sizeof record, 0) != sizeof record) record.magic = 0;
      look(path, record, alive);
    }
  }

  std::string path_;
  std::string prefix_;
};

}  // namespace host::detail

XIO_NAMESPACE_END
