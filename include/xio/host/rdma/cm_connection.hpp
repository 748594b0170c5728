// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A connection to a listening peer, made by the connection manager (rdma_cm) for a queue pair of any origin.
/// Empty without the headers of libibverbs and librdmacm.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/rdma/cm_library.hpp>
#include <xio/host/rdma/verbs_library.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// Where a peer listens. Numeric addresses only: names would be looked up without a deadline.
struct CmPeer {
  std::string address;  ///< IPv4 or IPv6
  std::string service;  ///< port number
  std::string local;    ///< address of this machine from which to connect; empty: as the routes say
};

/// The peer refused a connection.
class CmRejected : public Error {
 public:
  CmRejected(const std::string& message, int why, std::vector<uint8_t> said)
      : Error(message), reason(why), private_data(std::move(said)) {}

  static constexpr int nobody_listens = 8;  ///< a value of `reason`
  static constexpr int by_peer = 28;        ///< a value of `reason`: what listens there refused

  int reason;                         ///< of the connection manager
  std::vector<uint8_t> private_data;  ///< of the peer; empty if it said nothing
};

/// One connection, from the resolution of the peer's address to the end. Movable. Not thread-safe.
///
/// The queue pair comes from elsewhere: make it on device(), and keep it for as long as the connection.
class CmConnection {
 public:
  /// Finds the device and the route to a peer. Throws Error if there is none within `limit`, and Unavailable where this
  /// machine has no connection manager or no RDMA device.
  CmConnection(const CmPeer& peer, std::chrono::milliseconds limit) : name_(peer.address + " port " + peer.service) {
    rdma_event_channel* const channel = rdma_cm().create_event_channel();
    if (channel == nullptr)
      throw Unavailable("rdma: no connection manager: " + std::string(std::strerror(errno)) +
                        "; modprobe rdma_ucm, and let this user open /dev/infiniband/rdma_cm" + no_way);
    channel_ = std::shared_ptr<rdma_event_channel>(
        channel, [](rdma_event_channel* owned) { rdma_cm().destroy_event_channel(owned); });
    ::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    rdma_cm_id* id = nullptr;
    if (rdma_cm().create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0)
      throw_system_error("rdma: cannot make a connection", errno);
    id_ = std::shared_ptr<rdma_cm_id>(id, [keep = channel_](rdma_cm_id* owned) { rdma_cm().destroy_id(owned); });

    const Timeout deadline(limit);
    const Address there(peer.address, peer.service);
    const Address here(peer.local.empty() ? peer.address : peer.local, "0");
    if (rdma_cm().resolve_addr(id, peer.local.empty() ? nullptr : here.get(), there.get(), deadline.poll_timeout()) !=
        0)
      refuse("rdma: no way to " + name_, errno, no_way);
    expect(RDMA_CM_EVENT_ADDR_RESOLVED, deadline, no_way);
    if (rdma_cm().resolve_route(id, deadline.poll_timeout()) != 0)
      throw_system_error("rdma: no route to " + name_, errno);
    expect(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline, " (does a route lead there?)");
    if (id->verbs == nullptr) throw Unavailable("rdma: " + name_ + " is reached by no RDMA device" + no_way);
  }

  CmConnection(CmConnection&&) noexcept = default;
  CmConnection& operator=(CmConnection&&) noexcept = default;

  /// Name of the device that reaches the peer, as listed by `rdma link`.
  std::string device() const { return verbs().get_device_name(id_->verbs->device); }
  uint8_t port() const { return id_->port_num; }  ///< number of the device's port
  const std::string& name() const { return name_; }

  /// Connects a queue pair of device() in state RESET, and brings it to RTS. Returns the private data of the peer's
  /// answer. Throws CmRejected if the peer refuses, Error if it does not answer within `limit`.
  /// @param access        IBV_ACCESS_ flags: operations that the peer may perform
  /// @param private_data  for the peer; at most 56 bytes
  std::vector<uint8_t> connect(ibv_qp* queue, int access, const std::vector<uint8_t>& private_data,
                               std::chrono::milliseconds limit) {
    const Timeout deadline(limit);
    move(queue, IBV_QPS_INIT, access);
    rdma_conn_param wanted{};
    wanted.private_data = private_data.data();
    wanted.private_data_len = static_cast<uint8_t>(private_data.size());
    wanted.responder_resources = RDMA_MAX_RESP_RES;
    wanted.initiator_depth = RDMA_MAX_INIT_DEPTH;
    wanted.flow_control = 1;
    wanted.retry_count = 7;
    wanted.rnr_retry_count = 7;
    wanted.qp_num = queue->qp_num;
    if (rdma_cm().connect(id_.get(), &wanted) != 0) throw_system_error("rdma: cannot connect to " + name_, errno);
    Event answer = expect(RDMA_CM_EVENT_CONNECT_RESPONSE, deadline, "");
    move(queue, IBV_QPS_RTR, access);
    move(queue, IBV_QPS_RTS, access);
    if (rdma_cm().establish(id_.get()) != 0)
      throw_system_error("rdma: cannot complete the connection to " + name_, errno);
    return std::move(answer.private_data);
  }

  /// Why the connection is no longer there; empty while it is. Costs a system call.
  const std::string& lost() {
    Event event;
    while (lost_.empty() && next(event, 0)) {
      if (event.type == RDMA_CM_EVENT_DISCONNECTED) lost_ = name_ + " closed the connection";
      if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) lost_ = "the RDMA device was removed";
    }
    return lost_;
  }

  /// Tells the peer that the connection ends. What is in flight is lost. Never throws.
  void disconnect() noexcept { rdma_cm().disconnect(id_.get()); }

 private:
  static constexpr const char* no_way =
      " (has this machine an RDMA device in that network? see: rdma link, ip route get; soft-RoCE is one: rdma link "
      "add "
      "rxe0 type rxe netdev eth0)";

  struct Event {
    rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_ERROR;
    int status = 0;
    std::vector<uint8_t> private_data;
  };

  /// A numeric address.
  class Address {
   public:
    Address(const std::string& text, const std::string& service) {
      addrinfo hints{};
      hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
      hints.ai_socktype = SOCK_STREAM;
      addrinfo* list = nullptr;
      const int error = ::getaddrinfo(text.c_str(), service.c_str(), &hints, &list);
      if (error != 0)
        throw Error("rdma: '" + text + "' port '" + service +
                    "' is not a numeric IP address with a port number: " + ::gai_strerror(error));
      std::memcpy(&address_, list->ai_addr, list->ai_addrlen);
      ::freeaddrinfo(list);
    }
    // rdma_resolve_addr() takes addresses that it does not change.
    sockaddr* get() const { return reinterpret_cast<sockaddr*>(const_cast<sockaddr_storage*>(&address_)); }

   private:
    sockaddr_storage address_{};
  };

  /// Takes the next event, for which it waits for `milliseconds`.
  bool next(Event& event, int milliseconds) {
    pollfd entry{channel_->fd, POLLIN, 0};
    if (::poll(&entry, 1, milliseconds) <= 0) return false;
    rdma_cm_event* one = nullptr;
    if (rdma_cm().get_cm_event(channel_.get(), &one) != 0) return false;
    event.type = one->event;
    event.status = one->status;
    const rdma_conn_param& connection = one->param.conn;
    event.private_data.clear();
    // A refusal of the connection manager itself has no data of the peer's.
    const bool says = event.type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
                      (event.type == RDMA_CM_EVENT_REJECTED && event.status == CmRejected::by_peer);
    if (says && connection.private_data != nullptr) {
      const auto* const bytes = static_cast<const uint8_t*>(connection.private_data);
      event.private_data.assign(bytes, bytes + connection.private_data_len);
    }
    rdma_cm().ack_cm_event(one);
    return true;
  }

  Event expect(rdma_cm_event_type wanted, const Timeout& deadline, const std::string& advice) {
    Event event;
    while (!next(event, deadline.poll_timeout())) {
      if (deadline.passed())
        throw Error("rdma: " + name_ + " did not answer within " + deadline.text() +
                    "; is it there, and does it listen?");
    }
    if (event.type == wanted) return event;
    if (event.type == RDMA_CM_EVENT_REJECTED) {
      throw CmRejected("rdma: " + name_ + " refused the connection" +
                           (event.status == CmRejected::nobody_listens ? ": nothing listens at this port" : ""),
                       event.status, event.private_data);
    }
    const std::string what = "rdma: no connection to " + name_ + ": " + rdma_cm().event_str(event.type);
    if (event.status < 0) refuse(what, -event.status, advice);
    throw Error(what + ", status " + std::to_string(event.status) + advice);
  }

  [[noreturn]] static void refuse(const std::string& what, int error_number, const std::string& advice) {
    const std::string text = what + ": " + std::strerror(error_number) + advice;
    if (error_number == ENODEV) throw Unavailable(text);
    throw Error(text);
  }

  void move(ibv_qp* queue, ibv_qp_state state, int access) {
    ibv_qp_attr to{};
    to.qp_state = state;
    int mask = 0;
    if (rdma_cm().init_qp_attr(id_.get(), &to, &mask) != 0)
      throw_system_error("rdma: no attributes for the connection to " + name_, errno);
    // The connection manager grants no access of its own.
    if (state == IBV_QPS_INIT) to.qp_access_flags = static_cast<unsigned>(access);
    const int error = verbs().modify_qp(queue, &to, mask);
    if (error != 0)
      throw_system_error("rdma: cannot bring queue pair " + std::to_string(queue->qp_num) + " for " + name_ +
                             " to state " + std::to_string(state) + " (is it a new one of device " + device() + "?)",
                         error);
  }

  std::string name_;
  std::string lost_;
  std::shared_ptr<rdma_event_channel> channel_;
  std::shared_ptr<rdma_cm_id> id_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
