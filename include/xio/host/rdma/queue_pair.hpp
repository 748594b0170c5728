// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A reliable connection (RC) through verbs: created, connected, reset and reconnected. Empty without the header
/// of libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <xio/host/error.hpp>
#include <xio/host/rdma/address.hpp>
#include <xio/host/rdma/device.hpp>
#include <xio/host/rdma/resources.hpp>
#include <xio/host/rdma/verbs_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

namespace detail {

inline uint32_t random_number() {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) throw_system_error("getrandom", errno);
  return number;
}

}  // namespace detail

/// Sizes, access rights and retry parameters of a queue pair.
struct QueuePairOptions {
  uint32_t send_entries = 64;              ///< minimum number of operations in flight
  uint32_t receive_entries = 64;           ///< minimum number of posted receives
  uint32_t send_sges = 1;                  ///< scatter/gather elements per operation, at least 1
  uint32_t receive_sges = 1;               ///< scatter/gather elements per receive
  uint32_t inline_bytes = 0;               ///< inline data per operation, bytes
  bool signal_all = false;                 ///< every operation writes a completion, whatever its flags
  int access = rdma_access_all;            ///< IBV_ACCESS_ flags: operations that the peer may perform
  uint32_t mtu = 0;                        ///< maximum packet payload in bytes; 0: the largest that both ports support
  uint8_t reads_in_flight = 1;             ///< concurrent reads and atomics in each direction
  uint8_t timeout = 14;                    ///< retransmit after 4.096 us * 2^timeout without an acknowledgement
  uint8_t retries = 7;                     ///< retransmissions before the operation fails
  uint8_t receiver_not_ready_retries = 7;  ///< retries while the peer has no receive posted; 7: indefinitely
  uint8_t receiver_not_ready_timer = 12;   ///< code of the delay for a peer that finds no receive posted; 12: 0.64 ms
  uint8_t hop_limit = 64;                  ///< IP hop limit: maximum number of routers on the path
  uint8_t traffic_class = 0;               ///< traffic class of the IP packets
  std::optional<uint32_t> psn;             ///< first packet sequence number; empty: random, as recommended
};

/// Creates a queue pair in place of ibv_create_qp(), with options that only a vendor's direct verbs offer.
using QueuePairMaker = std::function<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)>;

/// A queue pair, from RESET to RTS. Movable. Not thread-safe.
/// @snippet rdma_host.cpp VerbsQueuePair
class VerbsQueuePair {
 public:
  VerbsQueuePair(const RdmaDevice& device, const ProtectionDomain& domain, const CompletionQueue& send_cq,
                 const CompletionQueue& receive_cq, const QueuePairOptions& options = {},
                 const QueuePairMaker& make = verbs().create_qp)
      : device_(device), options_(options) {
    if (options.send_sges == 0) throw Error("rdma: send_sges is 0; use at least 1");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = send_cq.get();
    wanted.recv_cq = receive_cq.get();
    wanted.cap.max_send_wr = options.send_entries;
    wanted.cap.max_recv_wr = options.receive_entries;
    wanted.cap.max_send_sge = options.send_sges;
    wanted.cap.max_recv_sge = options.receive_sges;
    wanted.cap.max_inline_data = options.inline_bytes;
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = options.signal_all ? 1 : 0;
    ibv_qp* qp = make(domain.get(), &wanted);
    if (qp == nullptr)
      throw_system_error("rdma: cannot make a queue pair of " + std::to_string(options.send_entries) + " and " +
                             std::to_string(options.receive_entries) + " entries on " + device.name() +
                             " (does one of its sizes exceed the device's limits?)",
                         errno);
    qp_ = std::shared_ptr<ibv_qp>(qp, [pd = domain.shared(), send = send_cq.shared(),
                                       receive = receive_cq.shared()](ibv_qp* owned) { verbs().destroy_qp(owned); });
    psn_ = (options.psn ? *options.psn : detail::random_number()) & 0xffffff;
  }

  ibv_qp* get() const { return qp_.get(); }                     ///< for calls of libibverbs
  std::shared_ptr<ibv_qp> shared() const { return qp_; }        ///< get(), kept alive
  uint32_t qpn() const { return qp_->qp_num; }                  ///< number of the queue pair
  const QueuePairOptions& options() const { return options_; }  ///< as given to the constructor

  /// Address data that the peer needs to connect to this queue pair.
  QueuePairAddress address() const {
    const uint32_t mtu = options_.mtu == 0 || options_.mtu > device_.mtu() ? device_.mtu() : options_.mtu;
    return {qpn(), psn_, mtu, device_.lid(), device_.gid().gid};
  }

  /// Moves the queue pair from RESET to RTS. The peer connects concurrently; send only once both have connected.
  /// @snippet rdma_host.cpp VerbsQueuePair
  void connect(const QueuePairAddress& peer) {
    initialise();
    make_ready_to_receive(peer);
    make_ready_to_send();
  }
  /// Connects the queue pair to itself: it receives what it sends.
  /// @snippet rdma_host.cpp connect_to_itself
  void connect_to_itself() { connect(address()); }

  /// Moves the queue pair to the error state: outstanding operations complete with status "flushed". Only reset()
  /// leaves this state.
  /// @snippet rdma_host.cpp reset
  void fail() {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_ERR;
    modify(to, IBV_QP_STATE, "ERR");
  }

  /// Returns to RESET, with a new first packet sequence number; then exchange addresses and connect again. Earlier
  /// completions may still be in the completion queues.
  /// @snippet rdma_host.cpp reset
  void reset() {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RESET;
    modify(to, IBV_QP_STATE, "RESET");
    psn_ = (options_.psn ? *options_.psn : detail::random_number()) & 0xffffff;
  }

  /// Its state, as the driver tells it.
  ibv_qp_state state() const {
    ibv_qp_attr now{};
    ibv_qp_init_attr made{};
    const int error = verbs().query_qp(qp_.get(), &now, IBV_QP_STATE, &made);
    if (error != 0) throw_system_error("rdma: cannot query the state of queue pair " + std::to_string(qpn()), error);
    return now.qp_state;
  }

 private:
  void initialise() {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = device_.port();
    to.qp_access_flags = static_cast<unsigned>(options_.access);
    modify(to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
  }

  void make_ready_to_receive(const QueuePairAddress& peer) {
    const uint32_t mine = address().mtu;
    const uint32_t mtu = peer.mtu < mine ? peer.mtu : mine;
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = mtu_code(mtu);
    to.dest_qp_num = peer.qpn;
    to.rq_psn = peer.psn & 0xffffff;
    to.max_dest_rd_atomic = options_.reads_in_flight;
    to.min_rnr_timer = options_.receiver_not_ready_timer;
    to.ah_attr.port_num = device_.port();
    to.ah_attr.dlid = static_cast<uint16_t>(peer.lid);
    // On InfiniBand the local identifier suffices within a subnet.
    to.ah_attr.is_global = device_.is_ethernet() || peer.lid == 0 ? 1 : 0;
    std::memcpy(to.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    to.ah_attr.grh.sgid_index = static_cast<uint8_t>(device_.gid().index);
    to.ah_attr.grh.hop_limit = options_.hop_limit;
    to.ah_attr.grh.traffic_class = options_.traffic_class;
    modify(to,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           "RTR",
           " (is there a route from " + to_text(device_.gid().gid) + " to " + to_text(peer.gid) +
               ", and are both of the same kind?)");
  }

  void make_ready_to_send() {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTS;
    to.sq_psn = psn_;
    to.timeout = options_.timeout;
    to.retry_cnt = options_.retries;
    to.rnr_retry = options_.receiver_not_ready_retries;
    to.max_rd_atomic = options_.reads_in_flight;
    modify(
        to,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
        "RTS");
  }

  static ibv_mtu mtu_code(uint32_t bytes) {
    for (const ibv_mtu code : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512})
      if (bytes >= 128u << code) return code;
    return IBV_MTU_256;
  }

  void modify(ibv_qp_attr& to, int mask, const char* state, const std::string& advice = {}) {
    const int error = verbs().modify_qp(qp_.get(), &to, mask);
    if (error != 0)
      throw_system_error(
          "rdma: cannot bring queue pair " + std::to_string(qpn()) + " of " + device_.name() + " to " + state + advice,
          error);
  }

  RdmaDevice device_;
  QueuePairOptions options_;
  std::shared_ptr<ibv_qp> qp_;
  uint32_t psn_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
