// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Two processes swap small pieces of data by TCP, as RDMA connections need before they exist.

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/file_descriptor.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail {

/// Addresses of a host name; throws Error where it is not known.
inline std::shared_ptr<addrinfo> resolve(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw Error("exchange: no address for '" + host + "': " + ::gai_strerror(error));
  return {found, ::freeaddrinfo};
}

/// Empty, and errno says why, where this machine has no such protocol.
inline FileDescriptor make_socket(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  return fd < 0 ? FileDescriptor() : FileDescriptor(fd, "exchange: cannot make a socket");
}

/// Waits for one of `events`; false where the deadline passes before.
inline bool wait_for_socket(int fd, short events, const Deadline& deadline, short* seen = nullptr) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, deadline.poll_timeout());
    if (ready > 0) {
      if (seen != nullptr) *seen = entry.revents;
      return true;
    }
    if (ready < 0 && errno != EINTR) throw_system_error("exchange: cannot wait", errno);
    if (deadline.passed()) return false;
  }
}

}  // namespace detail

/// One end of a connection. Both sides call trade() equally often; each call gives the own piece and returns the other
/// side's. Movable; one thread at a time. After an error it is of no use any more.
class Exchange {
 public:
  /// Bytes of the largest piece.
  static constexpr size_t largest = size_t{1} << 20;

  /// Connects to an ExchangeServer, which may start later: tries again until `limit` has passed.
  /// @param host   name or address
  /// @param limit  also bounds every trade that follows
  static Exchange connect(const std::string& host, uint16_t port, std::chrono::milliseconds limit) {
    const Deadline deadline(limit);
    const std::shared_ptr<addrinfo> addresses = detail::resolve(host, port, 0);
    for (;;) {
      int error = 0;
      for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
        FileDescriptor fd = detail::make_socket(*address);
        error = fd ? try_connect(fd.get(), *address, deadline) : errno;
        if (error == 0) return Exchange(std::move(fd), limit);
      }
      if (deadline.passed())
        throw_system_error("exchange: nobody answers at " + host + " port " + std::to_string(port) + " within " +
                               deadline.text() + "; is the other side running?",
                           error);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// Takes over a connected stream socket.
  Exchange(FileDescriptor fd, std::chrono::milliseconds limit) : fd_(std::move(fd)), limit_(limit) {
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0)
      throw_system_error("exchange: cannot set up the connection", errno);
    const int on = 1;
    // Not for other kinds of socket, where it fails and is not needed.
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  /// Gives `mine`, of at most `largest` bytes, and returns the other side's piece.
  std::string trade(const std::string& mine) {
    if (mine.size() > largest)
      throw Error("exchange: a piece has " + std::to_string(mine.size()) + " bytes, at most " +
                  std::to_string(largest) + " are possible");
    const Header header{magic, static_cast<uint32_t>(mine.size())};
    std::string out(sizeof header, '\0');
    std::memcpy(&out[0], &header, sizeof header);
    out += mine;
    return transfer(out);
  }

  /// The same for a plain struct; the other side's must be as large. Both machines must have the same byte order.
  template <class T, std::enable_if_t<std::is_trivially_copyable<T>::value && !std::is_pointer<T>::value &&
                                          !std::is_array<T>::value,
                                      int> = 0>
  T trade(const T& mine) {
    const std::string theirs = trade(std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
    if (theirs.size() != sizeof(T))
      throw Error("exchange: the other side gave " + std::to_string(theirs.size()) + " bytes where " +
                  std::to_string(sizeof(T)) + " were expected; do both sides run the same version?");
    T value;
    std::memcpy(static_cast<void*>(&value), theirs.data(), sizeof value);
    return value;
  }

  /// Bounds every trade from now on.
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }

  /// Returns when the other side has called it too.
  void meet() {
    if (!trade(std::string()).empty()) throw Error("exchange: the other side swaps where this one meets");
  }

 private:
  struct Header {
    uint32_t magic;
    uint32_t bytes;
  };
  static constexpr uint32_t magic = 0x78696f31;

  static int try_connect(int fd, const addrinfo& address, const Deadline& deadline) {
    if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!detail::wait_for_socket(fd, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error;
  }

  /// Sends and receives at the same time: both sides may give more than the sockets hold.
  std::string transfer(const std::string& out) {
    const Deadline deadline(limit_);
    std::string in;
    size_t sent = 0;
    size_t wanted = sizeof(Header);
    bool header_known = false;
    while (sent < out.size() || in.size() < wanted) {
      const bool sending = sent < out.size();
      const bool receiving = in.size() < wanted;
      const auto events = static_cast<short>((sending ? POLLOUT : 0) | (receiving ? POLLIN : 0));
      short seen = 0;
      if (!detail::wait_for_socket(fd_.get(), events, deadline, &seen))
        throw Error("exchange: the other side has not answered within " + deadline.text());
      if (receiving && (seen & ~POLLOUT) != 0) receive(in, wanted);
      if (sending && (seen & POLLOUT) != 0) sent += send(out, sent);
      if (!header_known && in.size() == wanted) {
        wanted += check_header(in);
        header_known = true;
      }
    }
    return in.substr(sizeof(Header));
  }

  size_t send(const std::string& out, size_t from) {
    const ssize_t sent = ::send(fd_.get(), out.data() + from, out.size() - from, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno != EAGAIN && errno != EINTR) throw_system_error("exchange: the other side is gone", errno);
    return 0;
  }

  void receive(std::string& in, size_t wanted) {
    char buffer[4096];
    const size_t room = wanted - in.size() < sizeof buffer ? wanted - in.size() : sizeof buffer;
    const ssize_t got = ::recv(fd_.get(), buffer, room, 0);
    if (got == 0) throw Error("exchange: the other side has closed the connection; see what it says");
    if (got > 0) in.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EAGAIN && errno != EINTR) throw_system_error("exchange: the other side is gone", errno);
  }

  static size_t check_header(const std::string& in) {
    Header header;
    std::memcpy(&header, in.data(), sizeof header);
    if (header.magic != magic || header.bytes > largest)
      throw Error("exchange: the other side is no xio program of this version and byte order");
    return header.bytes;
  }

  FileDescriptor fd_;
  std::chrono::milliseconds limit_;
};

/// Waits for those who connect.
class ExchangeServer {
 public:
  /// @param port  0: any free one, see port()
  /// @param host  address to listen on; empty: all addresses of this machine
  explicit ExchangeServer(uint16_t port = 0, const std::string& host = {}) {
    const std::shared_ptr<addrinfo> addresses = detail::resolve(host, port, AI_PASSIVE);
    int error = 0;
    for (const addrinfo* address = addresses.get(); address != nullptr && !fd_; address = address->ai_next) {
      FileDescriptor fd = detail::make_socket(*address);
      const int on = 1;
      if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (fd && ::bind(fd.get(), address->ai_addr, address->ai_addrlen) == 0 && ::listen(fd.get(), 8) == 0)
        fd_ = std::move(fd);
      else
        error = errno;
    }
    if (!fd_)
      throw_system_error("exchange: cannot listen on port " + std::to_string(port) + "; choose another one", error);
    port_ = find_port();
  }

  uint16_t port() const { return port_; }

  /// The next one who connects. @param limit for the wait, and for every trade that follows
  Exchange accept(std::chrono::milliseconds limit) {
    const Deadline deadline(limit);
    for (;;) {
      if (!detail::wait_for_socket(fd_.get(), POLLIN, deadline))
        throw Error("exchange: nobody has connected to port " + std::to_string(port_) + " within " + deadline.text());
      const int fd = ::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) return Exchange(FileDescriptor(fd, "connection"), limit);
      // Who gave up between poll and accept does not matter.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        throw_system_error("exchange: cannot take a connection", errno);
    }
  }

 private:
  uint16_t find_port() const {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
      throw_system_error("exchange: cannot find the port", errno);
    if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }

  FileDescriptor fd_;
  uint16_t port_ = 0;
};

}  // namespace host

XIO_NAMESPACE_END
