// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A conversation with QEMU over a socket: requests that wait for their reply, and doorbells that do not.

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Two connected stream sockets: ours, and the one that QEMU inherits.
inline std::pair<FileDescriptor, FileDescriptor> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw_system_error("qemu: cannot make a socket pair", errno);
  FileDescriptor ours(ends[0], "socket");
  FileDescriptor theirs(ends[1], "socket");
  return {std::move(ours), std::move(theirs)};
}

/// Our end of a stream socket. Every wait has a deadline; no signal is raised when the other side is gone.
class DeadlineSocket {
 public:
  DeadlineSocket(FileDescriptor fd, std::chrono::milliseconds limit) : fd_(std::move(fd)), limit_(limit) {}

  int fd() const { return fd_.get(); }
  std::chrono::milliseconds limit() const { return limit_; }
  /// Of every wait from now on.
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }

  /// Sends everything. Where the socket is full, `make_room()` is called whenever something can be read: the other side
  /// may be blocked on replies that we have not taken.
  template <class MakeRoom>
  void send(const void* data, size_t bytes, MakeRoom&& make_room) {
    const auto* rest = static_cast<const char*>(data);
    const Timeout deadline(limit_);
    while (bytes > 0) {
      const ssize_t sent = ::send(fd_.get(), rest, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        rest += sent;
        bytes -= static_cast<size_t>(sent);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if ((wait(POLLOUT | POLLIN, deadline) & POLLIN) != 0) make_room();
      } else if (errno != EINTR) {
        throw_system_error("QEMU cannot be reached", errno);
      }
    }
  }

  /// Reads at most `room` bytes. Returns 0 where nothing is there and `may_wait` is false.
  size_t receive(void* to, size_t room, bool may_wait) {
    const Timeout deadline(limit_);
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), to, room, MSG_DONTWAIT);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0) throw Error("QEMU has closed the connection");
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) throw_system_error("QEMU cannot be reached", errno);
      if (!may_wait) return 0;
      wait(POLLIN, deadline);
    }
  }

 private:
  short wait(short events, const Timeout& deadline) {
    for (;;) {
      pollfd entry{fd_.get(), events, 0};
      const int ready = ::poll(&entry, 1, deadline.poll_timeout());
      if (ready > 0) return entry.revents;
      if (ready < 0 && errno != EINTR) throw_system_error("QEMU cannot be reached", errno);
      if (deadline.passed()) throw Error("QEMU has not answered within " + deadline.text());
    }
  }

  FileDescriptor fd_;
  std::chrono::milliseconds limit_;
};

/// One 32-bit write that nobody waits for.
struct PostedWrite {
  uint64_t address;
  uint32_t value;
};

/// PCI configuration space and memory of QEMU's machine, by one of its protocols.
///
/// Usable from several threads at once. After the first failure the conversation is out of step, so every later call
/// throws at once.
class QemuChannel {
 public:
  virtual ~QemuChannel() = default;
  QemuChannel(const QemuChannel&) = delete;
  QemuChannel& operator=(const QemuChannel&) = delete;

  uint32_t config_read32(uint32_t offset) {
    return guarded([&] { return do_config_read32(offset); });
  }
  /// @param bytes  1, 2 or 4
  void config_write(uint32_t offset, uint32_t value, uint32_t bytes) {
    guarded([&] { return do_config_write(offset, value, bytes); });
  }
  /// @param bytes  4 or 8
  uint64_t read(uint64_t address, uint32_t bytes) {
    return guarded([&] { return do_read(address, bytes); });
  }
  void write(uint64_t address, uint64_t value, uint32_t bytes) {
    guarded([&] { return do_write(address, value, bytes); });
  }
  /// Sends the writes in this order and returns at once; their replies are taken later, in passing.
  void post(const PostedWrite* writes, size_t count) {
    guarded([&] { return do_post(writes, count); });
  }

  bool broken() const { return broken_.load(); }
  /// How long an answer may take from now on.
  void set_limit(std::chrono::milliseconds limit) {
    guarded([&] { return do_set_limit(limit); });
  }

 protected:
  QemuChannel() = default;

  virtual uint32_t do_config_read32(uint32_t offset) = 0;
  virtual void do_config_write(uint32_t offset, uint32_t value, uint32_t bytes) = 0;
  virtual uint64_t do_read(uint64_t address, uint32_t bytes) = 0;
  virtual void do_write(uint64_t address, uint64_t value, uint32_t bytes) = 0;
  virtual void do_post(const PostedWrite* writes, size_t count) = 0;
  virtual void do_set_limit(std::chrono::milliseconds limit) = 0;

  /// Replies to posted writes are looked for when so many are outstanding,
  static constexpr size_t collect_above = 16;
  /// and waited for when so many are: QEMU blocks once the socket is full of replies.
  static constexpr size_t wait_above = 256;

 private:
  template <class Action>
  std::invoke_result_t<Action> guarded(Action&& action) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (broken_.load()) throw Error("the connection to QEMU has failed before");
    try {
      return action();
    } catch (...) {
      broken_.store(true);
      throw;
    }
  }

  std::mutex mutex_;
  std::atomic<bool> broken_{false};
};

}  // namespace host

XIO_NAMESPACE_END
