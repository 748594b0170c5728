// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Channel to QEMU over a socket: requests that wait for their reply, and posted doorbell writes.

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Returns two connected stream sockets: this process keeps the first, QEMU inherits the second.
inline std::pair<FileDescriptor, FileDescriptor> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw_system_error("qemu: cannot make a socket pair", errno);
  FileDescriptor ours(ends[0], "socket");
  FileDescriptor theirs(ends[1], "socket");
  return {std::move(ours), std::move(theirs)};
}

/// This process's end of a stream socket. Every wait has a deadline; no signal is raised when the peer has closed.
class DeadlineSocket {
 public:
  DeadlineSocket(FileDescriptor fd, std::chrono::milliseconds limit) : fd_(std::move(fd)), limit_(limit) {}

  int fd() const { return fd_.get(); }
  std::chrono::milliseconds limit() const { return limit_; }
  /// Sets the deadline of every wait from now on.
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }
  /// Sets what tells whether a signal has stopped the peer: one that stays stopped is not waited for until the
  /// deadline.
  void set_stopped(std::function<bool()> stopped) { stopped_ = std::move(stopped); }

  /// Sends all bytes. While the socket is full, `make_room()` is called whenever data can be read: the peer may be
  /// blocked on replies that have not been consumed.
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
        throw_system_error("the connection to QEMU failed", errno);
      }
    }
  }

  /// Reads at most `room` bytes. Returns 0 if no data is available and `may_wait` is false.
  size_t receive(void* to, size_t room, bool may_wait) {
    const Timeout deadline(limit_);
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), to, room, MSG_DONTWAIT);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0) throw Error("QEMU has closed the connection");
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) throw_system_error("the connection to QEMU failed", errno);
      if (!may_wait) return 0;
      wait(POLLIN, deadline);
    }
  }

 private:
  static constexpr int look_ms = 100;  ///< between looks at whether the peer is stopped
  static constexpr std::chrono::milliseconds stopped_limit{2000};

  short wait(short events, const Timeout& deadline) {
    std::optional<Timeout> continued;  // the deadline of a peer that was seen to be stopped
    for (;;) {
      pollfd entry{fd_.get(), events, 0};
      const int left = deadline.poll_timeout();
      const int ready = ::poll(&entry, 1, stopped_ ? std::min(left, look_ms) : left);
      if (ready > 0) return entry.revents;
      if (ready < 0 && errno != EINTR) throw_system_error("the connection to QEMU failed", errno);
      if (deadline.passed()) throw Error("QEMU has not answered within " + deadline.text());
      if (!stopped_ || !stopped_()) {
        continued.reset();
      } else if (!continued) {
        continued.emplace(stopped_limit);
      } else if (continued->passed()) {
        throw Error("QEMU was stopped by a signal, and not continued within " + continued->text());
      }
    }
  }

  FileDescriptor fd_;
  std::function<bool()> stopped_;
  std::chrono::milliseconds limit_;
};

/// One 32-bit posted write: the sender does not wait for completion.
struct PostedWrite {
  uint64_t address;
  uint32_t value;
};

/// PCI configuration space and memory of QEMU's machine, through one of its protocols.
///
/// Usable from several threads. After the first failure the stream is out of sync, so every later call throws
/// immediately.
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
  /// Sends the writes in this order and returns immediately; later calls consume their replies.
  void post(const PostedWrite* writes, size_t count) {
    guarded([&] {
      do_post(writes, count);
      if (outstanding_ > collect_above) collect(outstanding_ > wait_above);
    });
  }

  bool broken() const { return broken_.load(); }
  /// Why broken(); else empty.
  std::string failure() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
  }
  /// Sets the time limit for a reply from now on.
  void set_limit(std::chrono::milliseconds limit) {
    guarded([&] { return socket_.set_limit(limit); });
  }
  /// Sets what tells whether a signal has stopped QEMU, as DeadlineSocket::set_stopped().
  void set_stopped(std::function<bool()> stopped) {
    guarded([&] { return socket_.set_stopped(std::move(stopped)); });
  }

 protected:
  QemuChannel(FileDescriptor fd, std::chrono::milliseconds limit) : socket_(std::move(fd), limit) {}

  virtual uint32_t do_config_read32(uint32_t offset) = 0;
  virtual void do_config_write(uint32_t offset, uint32_t value, uint32_t bytes) = 0;
  virtual uint64_t do_read(uint64_t address, uint32_t bytes) = 0;
  virtual void do_write(uint64_t address, uint64_t value, uint32_t bytes) = 0;
  /// Sends the writes by send_posted().
  virtual void do_post(const PostedWrite* writes, size_t count) = 0;
  /// Takes one reply; returns false if none was received and `may_wait` is not set.
  virtual bool take_reply(uint64_t& value, bool may_wait) = 0;

  void send(const void* data, size_t bytes) {
    socket_.send(data, bytes, [this] { collect(false); });
  }
  void send_posted(const void* data, size_t bytes, size_t writes) {
    outstanding_ += writes;  // before sending: replies may come while the rest waits for space
    send(data, bytes);
  }
  /// Sends a request, and returns its reply.
  uint64_t call(const void* data, size_t bytes) {
    send(data, bytes);
    collect(true);
    uint64_t value = 0;
    take_reply(value, true);
    return value;
  }

  DeadlineSocket socket_;

 private:
  /// Outstanding posted writes above which available replies are consumed,
  static constexpr size_t collect_above = 16;
  /// and above which the sender waits for replies: QEMU blocks once the socket is full of them.
  static constexpr size_t wait_above = 256;

  /// Consumes replies to posted writes: all of them, or those already received.
  void collect(bool all) {
    uint64_t ignored;
    while (outstanding_ > 0 && take_reply(ignored, all)) --outstanding_;
  }

  template <class Action>
  std::invoke_result_t<Action> guarded(Action&& action) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (broken_.load()) throw Error("the connection to QEMU has already failed");
    try {
      return action();
    } catch (const std::exception& reason) {
      failure_ = reason.what();
      broken_.store(true);
      throw;
    }
  }

  size_t outstanding_ = 0;  // posted writes whose reply was not consumed
  mutable std::mutex mutex_;
  std::string failure_;
  std::atomic<bool> broken_{false};
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
