// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Exchange of small messages between two processes over TCP, as needed to set up RDMA connections.
///
/// There is no encryption and no authentication: any client that can connect to the server and follows the protocol is
/// accepted as the peer, and receives memory keys. Use it in trusted networks only; by default a server listens on the
/// loopback address only.

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

namespace detail {

/// Resolves a host name; throws Error if it is unknown.
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

/// Creates a socket; empty, with the reason in errno, if this machine does not support the protocol.
inline FileDescriptor make_socket(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  return fd < 0 ? FileDescriptor() : FileDescriptor(fd, "exchange: cannot make a socket");
}

/// Waits for one of `events`; false if the deadline passes first.
inline bool wait_for_socket(int fd, short events, const Timeout& deadline, short* seen = nullptr) {
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

/// Header in front of each message.
struct PieceHeader {
  static constexpr uint32_t right = 0x78696f31;
  uint32_t magic;
  uint32_t bytes;
};

/// A message that is being received.
class IncomingPiece {
 public:
  static constexpr size_t largest = size_t{1} << 20;

  bool is_complete() const { return header_known_ && in_.size() == wanted_; }
  /// Receives the available data of a non-blocking socket. Throws Error; its message contains no bytes from the peer.
  void receive(int fd) {
    char buffer[4096];
    const size_t room = std::min(wanted_ - in_.size(), sizeof buffer);
    const ssize_t got = ::recv(fd, buffer, room, 0);
    if (got == 0) throw Error("exchange: the peer has closed the connection; see its output");
    if (got > 0) in_.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EAGAIN && errno != EINTR) throw_system_error("exchange: the peer has disconnected", errno);
    if (header_known_ || in_.size() != wanted_) return;
    PieceHeader header;
    std::memcpy(&header, in_.data(), sizeof header);
    if (header.magic != PieceHeader::right || header.bytes > largest)
      throw Error("exchange: the peer is not an xio program of this version and byte order");
    wanted_ += header.bytes;
    header_known_ = true;
  }
  std::string content() const { return in_.substr(sizeof(PieceHeader)); }

 private:
  std::string in_;
  size_t wanted_ = sizeof(PieceHeader);
  bool header_known_ = false;
};

}  // namespace detail

/// One end of a connection. Both sides call trade() equally often; each call sends the caller's message and returns the
/// peer's. Movable. Not thread-safe. Unusable after an error.
class Exchange {
 public:
  /// Size of the largest message in bytes.
  static constexpr size_t largest = detail::IncomingPiece::largest;

  /// Connects to an ExchangeServer, which may start later: retries until `limit` has passed.
  /// @param host   name or address
  /// @param limit  also bounds every later trade
  ///
  /// @snippet rdma_host.cpp connect
  static Exchange connect(const std::string& host, uint16_t port, std::chrono::milliseconds limit) {
    const Timeout deadline(limit);
    const std::shared_ptr<addrinfo> addresses = detail::resolve(host, port, 0);
    for (;;) {
      int error = 0;
      for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
        FileDescriptor fd = detail::make_socket(*address);
        error = fd ? try_connect(fd.get(), *address, deadline) : errno;
        if (error == 0) return Exchange(std::move(fd), limit);
      }
      if (deadline.passed())
        throw_system_error("exchange: no server responds at " + host + " port " + std::to_string(port) + " within " +
                               deadline.text() + "; is the peer running?",
                           error);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// Takes ownership of a connected stream socket.
  /// @param first  the part of the first message that was already received
  Exchange(FileDescriptor fd, std::chrono::milliseconds limit, detail::IncomingPiece first = {})
      : fd_(std::move(fd)), limit_(limit), in_(std::move(first)) {
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0)
      throw_system_error("exchange: cannot set up the connection", errno);
    const int on = 1;
    // Other kinds of socket reject this option, and do not need it.
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  /// Sends `mine`, at most `largest` bytes, and returns the peer's message.
  /// @snippet rdma_host.cpp connect
  std::string trade(const std::string& mine) {
    if (mine.size() > largest)
      throw Error("exchange: a message has " + std::to_string(mine.size()) + " bytes, at most " +
                  std::to_string(largest) + " are allowed");
    const detail::PieceHeader header{detail::PieceHeader::right, static_cast<uint32_t>(mine.size())};
    std::string out(sizeof header, '\0');
    std::memcpy(&out[0], &header, sizeof header);
    out += mine;
    return transfer(out);
  }

  /// Exchanges a plain struct; the peer's must have the same size, and both machines the same byte order.
  /// @snippet rdma_host.cpp accept
  template <class T, std::enable_if_t<std::is_trivially_copyable<T>::value && !std::is_pointer<T>::value &&
                                          !std::is_array<T>::value,
                                      int> = 0>
  T trade(const T& mine) {
    const std::string theirs = trade(std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
    if (theirs.size() != sizeof(T))
      throw Error("exchange: the peer sent " + std::to_string(theirs.size()) + " bytes where " +
                  std::to_string(sizeof(T)) + " were expected; do both sides run the same version?");
    T value;
    std::memcpy(static_cast<void*>(&value), theirs.data(), sizeof value);
    return value;
  }

  /// The socket, for poll(): readable when the peer has begun to send its next message, or is gone.
  int descriptor() const { return fd_.get(); }

  /// Sets the time limit of every trade from now on.
  /// @snippet rdma_host.cpp set_limit
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }

  /// Barrier: returns once the peer has called it too.
  /// @snippet rdma_host.cpp connect
  void meet() {
    if (!trade(std::string()).empty()) throw Error("exchange: the peer called trade() instead of meet()");
  }

 private:
  static int try_connect(int fd, const addrinfo& address, const Timeout& deadline) {
    if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!detail::wait_for_socket(fd, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error;
  }

  /// Sends and receives concurrently: both messages may exceed the socket buffers.
  std::string transfer(const std::string& out) {
    const Timeout deadline(limit_);
    size_t sent = 0;
    while (sent < out.size() || !in_.is_complete()) {
      const bool sending = sent < out.size();
      const bool receiving = !in_.is_complete();
      const auto events = static_cast<short>((sending ? POLLOUT : 0) | (receiving ? POLLIN : 0));
      short seen = 0;
      if (!detail::wait_for_socket(fd_.get(), events, deadline, &seen))
        throw Error("exchange: the peer has not answered within " + deadline.text());
      if (receiving && (seen & ~POLLOUT) != 0) in_.receive(fd_.get());
      if (sending && (seen & POLLOUT) != 0) sent += send(out, sent);
    }
    return std::exchange(in_, {}).content();
  }

  size_t send(const std::string& out, size_t from) {
    const ssize_t sent = ::send(fd_.get(), out.data() + from, out.size() - from, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno != EAGAIN && errno != EINTR) throw_system_error("exchange: the peer has disconnected", errno);
    return 0;
  }

  FileDescriptor fd_;
  std::chrono::milliseconds limit_;
  detail::IncomingPiece in_;
};

/// How a server that waits for one program treats other clients.
struct PeerFilter {
  /// Time within which a client must have sent its first message.
  std::chrono::milliseconds patience{3000};
  /// Whether the first message comes from an expected client.
  std::function<bool(const std::string& piece)> is_known;
  /// Called with the reason when a client is rejected; the reason contains no bytes from the client.
  std::function<void(const std::string& reason)> on_refused = [](const std::string&) {};
};

/// Listens for clients.
class ExchangeServer {
 public:
  /// @param port  0: any free port, see port()
  /// @param hosts addresses to listen on, at least one; "0.0.0.0" and "::" are all addresses of this machine
  explicit ExchangeServer(uint16_t port = 0, const std::vector<std::string>& hosts = {"127.0.0.1"}) : port_(port) {
    for (const std::string& host : hosts) {
      listeners_.push_back(listen_at(host, port_));
      if (port_ == 0) port_ = find_port(listeners_.back().get());
    }
  }
  ExchangeServer(uint16_t port, const std::string& host) : ExchangeServer(port, std::vector<std::string>{host}) {}

  uint16_t port() const { return port_; }  ///< the TCP port that it listens on

  /// Accepts the next client.
  /// @param limit  for the wait, and for every later trade
  ///
  /// @snippet rdma_host.cpp accept
  Exchange accept(std::chrono::milliseconds limit) {
    const Timeout deadline(limit);
    for (;;) {
      const std::vector<pollfd> ready = poll_until(deadline, deadline.poll_timeout());
      for (size_t i = 0; i < listeners_.size(); ++i) {
        FileDescriptor fd = ready[i].revents != 0 ? take(listeners_[i].get()) : FileDescriptor();
        if (fd) return Exchange(std::move(fd), limit);
      }
    }
  }

  /// Accepts the first client whose first message is known; the next trade returns that message. Rejects all others.
  /// They cannot delay the server, and receive no data.
  /// @param limit  for the wait, and for every later trade
  ///
  /// @snippet rdma_host.cpp filter
  Exchange accept(std::chrono::milliseconds limit, const PeerFilter& filter) {
    const Timeout deadline(limit);
    for (;;) {
      int timeout = deadline.poll_timeout();
      for (const Guest& guest : guests_) timeout = std::min(timeout, guest.until.poll_timeout());
      const std::vector<pollfd> ready = poll_until(deadline, timeout);
      for (size_t i = guests_.size(); i-- > 0;) {
        Guest& guest = guests_[i];
        const std::string reason = listen_to(guest, ready[listeners_.size() + i].revents != 0, filter);
        if (reason.empty() && guest.in.is_complete()) {
          Exchange found(std::move(guest.fd), limit, std::move(guest.in));
          guests_.clear();
          return found;
        }
        if (reason.empty()) continue;
        guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
        filter.on_refused(reason);
      }
      for (size_t i = 0; i < listeners_.size(); ++i) {
        FileDescriptor fd = ready[i].revents != 0 ? take(listeners_[i].get()) : FileDescriptor();
        if (!fd) continue;
        // The oldest client has had the most time.
        if (guests_.size() == most_guests) guests_.erase(guests_.begin());
        guests_.push_back({std::move(fd), {}, Timeout(filter.patience)});
      }
    }
  }

 private:
  /// A connected client that is not yet identified.
  struct Guest {
    FileDescriptor fd;
    detail::IncomingPiece in;
    Timeout until;
  };
  static constexpr size_t most_guests = 64;

  static FileDescriptor listen_at(const std::string& host, uint16_t port) {
    const std::shared_ptr<addrinfo> addresses = detail::resolve(host, port, AI_PASSIVE);
    int error = 0;
    for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
      FileDescriptor fd = detail::make_socket(*address);
      const int on = 1;
      if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (fd && ::bind(fd.get(), address->ai_addr, address->ai_addrlen) == 0 &&
          ::listen(fd.get(), static_cast<int>(most_guests)) == 0)
        return fd;
      error = errno;
    }
    throw_system_error(
        "exchange: cannot listen on port " + std::to_string(port) + " of " + host + "; choose another one", error);
  }

  /// Polls the listeners and pending clients, and returns their results in this order, after at most `timeout`
  /// milliseconds.
  std::vector<pollfd> poll_until(const Timeout& deadline, int timeout) const {
    std::vector<pollfd> entries;
    for (const FileDescriptor& one : listeners_) entries.push_back({one.get(), POLLIN, 0});
    for (const Guest& guest : guests_) entries.push_back({guest.fd.get(), POLLIN, 0});
    if (::poll(entries.data(), entries.size(), timeout) < 0) {
      if (errno != EINTR) throw_system_error("exchange: cannot wait", errno);
      for (pollfd& entry : entries) entry.revents = 0;
    }
    const bool anything =
        std::any_of(entries.begin(), entries.end(), [](const pollfd& one) { return one.revents != 0; });
    if (!anything && deadline.passed())
      throw Error("exchange: no client has connected to port " + std::to_string(port_) + " within " + deadline.text());
    return entries;
  }

  /// Accepts a connection; empty if the client has already disconnected.
  static FileDescriptor take(int listener) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) return FileDescriptor(fd, "connection");
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      throw_system_error("exchange: cannot accept a connection", errno);
    return FileDescriptor();
  }

  /// Returns the reason to reject a client; empty if it may stay, or is known.
  static std::string listen_to(Guest& guest, bool is_ready, const PeerFilter& filter) {
    try {
      if (is_ready) guest.in.receive(guest.fd.get());
    } catch (const Error& failure) {
      return failure.what();
    }
    if (guest.in.is_complete())
      return filter.is_known(guest.in.content()) ? "" : "exchange: the peer sent an unexpected first message";
    return guest.until.passed() ? "exchange: the peer has not sent its first message within " + guest.until.text() : "";
  }

  static uint16_t find_port(int fd) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
      throw_system_error("exchange: cannot find the port", errno);
    if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }

  std::vector<FileDescriptor> listeners_;
  std::vector<Guest> guests_;
  uint16_t port_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
