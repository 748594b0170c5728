// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Preconditions for kernels to use an existing queue pair, as far as verbs can check them. Empty without the
/// header of libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <string>

#include <xio/host/error.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>
#include <xio/host/rdma/verbs_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

namespace detail {

/// Name of a queue pair in messages.
inline std::string name_of(const char* vendor, const ibv_qp* qp) {
  const std::string device = qp->context != nullptr && qp->context->device != nullptr
                                 ? verbs().get_device_name(qp->context->device)
                                 : "no device";
  return std::string(vendor) + ": queue pair " + std::to_string(qp->qp_num) + " of " + device;
}

inline const char* name_of(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_RESET: return "RESET";
    case IBV_QPS_INIT: return "INIT";
    case IBV_QPS_RTR: return "RTR";
    case IBV_QPS_RTS: return "RTS";
    case IBV_QPS_SQD: return "SQD";
    case IBV_QPS_SQE: return "SQE";
    case IBV_QPS_ERR: return "ERR";
    default: return "unknown";
  }
}

/// Fills in the properties of a connected queue pair that verbs report: its name, number and limits. Throws Error if it
/// cannot be adopted. Verbs cannot report whether its completion queues also serve another queue pair.
inline DirectQueues adoptable(const char* vendor, ibv_qp* qp) {
  if (qp == nullptr) throw Error(std::string(vendor) + ": there is no queue pair to adopt");
  DirectQueues queues;
  queues.name = name_of(vendor, qp);
  const auto refuse = [&](const std::string& why) { throw Error(queues.name + " cannot be adopted: " + why); };

  if (qp->qp_type != IBV_QPT_RC) refuse("it is no reliable connection (IBV_QPT_RC)");
  if (qp->send_cq == nullptr || qp->recv_cq == nullptr) refuse("it lacks a send_cq or a recv_cq");
  if (qp->send_cq == qp->recv_cq)
    refuse("both directions share a completion queue; make it with a send_cq and a recv_cq of its own");
  ibv_qp_attr now{};
  ibv_qp_init_attr made{};
  const int error = verbs().query_qp(qp, &now, IBV_QP_STATE | IBV_QP_CAP, &made);
  if (error != 0) throw_system_error(queues.name + " cannot be adopted: its state cannot be queried", error);
  if (now.qp_state != IBV_QPS_RTS)
    refuse(std::string("its state is ") + name_of(now.qp_state) + "; connect it first (RTS)");
  // Such devices may also store the results of reads and atomics in the completion instead of memory.
  if (made.sq_sig_all != 0)
    refuse("it was made with sq_sig_all; kernels choose themselves which operations write completions");

  if (now.cap.max_send_wr == 0) refuse("it was made without operations (max_send_wr)");
  if (now.cap.max_send_sge == 0) refuse("its operations have no SGE (max_send_sge); make it with 1 or more");

  queues.shape.qpn = qp->qp_num;
  queues.shape.max_sges = now.cap.max_send_sge;
  queues.shape.max_inline = now.cap.max_inline_data;
  queues.send_depth = now.cap.max_send_wr;
  queues.receive_shape.qpn = qp->qp_num;
  queues.receive_shape.max_sges = now.cap.max_recv_sge;
  queues.receive_depth = now.cap.max_recv_wr;
  if (qp->srq != nullptr) {
    queues.no_receives = "it takes receives from a shared receive queue";
  } else if (now.cap.max_recv_wr == 0) {
    queues.no_receives = "it was made without receives";
  }
  return queues;
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
