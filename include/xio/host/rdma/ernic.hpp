// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC: a queue pair on memory that the application allocated, driven by kernels. Empty without the header of
/// libibverbs.
///
/// VMware's PVRDMA, which defines this format, has no direct verbs. ERNIC's (librocm_ernic) create queues on memory
/// that the application has allocated, and describe a queue pair by a struct that has changed without a change of name
/// or version. The application, which knows its header, therefore passes on the contents.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <memory>
#include <string>
#include <utility>

#include <xio/host/error.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/host/rdma/adoption.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>
#include <xio/vendors/ernic/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// A completion queue: one buffer, whose first page holds the state. Zero initially.
struct ErnicCompletionMemory {
  void* buffer = nullptr;
  uint32_t count = 0;   ///< entries behind the first page: a power of two
  uint32_t number = 0;  ///< cqn
};

/// A queue pair created by the application (rocm_ernic_dv_create_qp).
struct ErnicMemory {
  void* send_buffer = nullptr;  ///< its first page holds the state of both rings; zero initially
  uint32_t send_entries = 0;    ///< behind that page: a power of two
  uint32_t send_entry_bytes = 0;
  ErnicCompletionMemory send_cq;
  void* receive_buffer = nullptr;  ///< entries only; null: no receive queue for kernels
  uint32_t receive_entries = 0;    ///< a power of two
  uint32_t receive_entry_bytes = 0;
  ErnicCompletionMemory receive_cq;
  void* doorbells = nullptr;  ///< the mapped UAR page (rocm_ernic_dv_qp_attr::uar_ptr)
  uint32_t handle = 0;        ///< used in doorbells (rocm_ernic_dv_qp_attr::qp_handle); not the QP number
};

namespace detail {

inline DirectCompletionRing ernic_completions(const ErnicCompletionMemory& memory) {
  DirectCompletionRing ring;
  if (memory.buffer == nullptr) return ring;
  auto* const state = static_cast<ernic::RingState*>(memory.buffer);
  ring.entries = static_cast<unsigned char*>(memory.buffer) + ernic::ring_offset;
  ring.count = memory.count;
  ring.number = memory.number;
  ring.record = &state->rx.consumer_head;
  ring.producer = &state->rx.producer_tail;
  return ring;
}

inline uint32_t ernic_shift(const std::string& name, uint32_t entry_bytes, uint32_t least) {
  if (entry_bytes < least || !is_power_of_two(entry_bytes))
    throw Error(name + " cannot be adopted: its entries have " + std::to_string(entry_bytes) +
                " bytes; a power of two of at least " + std::to_string(least) + " is needed");
  return static_cast<uint32_t>(__builtin_ctz(entry_bytes));
}

}  // namespace detail

/// Locates the queues of an RC queue pair to which nothing was posted yet. Throws Error if it cannot be adopted.
inline DirectQueues ernic_queues(ibv_qp* qp, const ErnicMemory& memory) {
  DirectQueues queues = detail::adoptable("ernic", qp);
  const auto refuse = [&](const std::string& why) { throw Error(queues.name + " cannot be adopted: " + why); };
  if (memory.send_buffer == nullptr)
    refuse(
        "libvmw_pvrdma has no direct verbs, and librocm_ernic does not report ring addresses; make it with "
        "rocm_ernic_dv_create_qp() on memory of your own, and pass ErnicMemory");
  if (memory.doorbells == nullptr) refuse("ErnicMemory::doorbells is null");
  auto* const state = static_cast<ernic::RingState*>(memory.send_buffer);
  const auto is_unused = [](const ernic::Ring& ring) {
    return __atomic_load_n(&ring.producer_tail, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&ring.consumer_head, __ATOMIC_ACQUIRE) == 0;
  };
  if (!is_unused(state->tx)) refuse("operations were posted to it before; make a new one");

  constexpr auto sge = static_cast<uint32_t>(sizeof(ernic::Sge));
  queues.sq = static_cast<unsigned char*>(memory.send_buffer) + ernic::ring_offset;
  queues.sq_record = &state->tx.producer_tail;
  queues.sq_doorbell = static_cast<unsigned char*>(memory.doorbells) + ernic::uar_qp_offset;
  queues.shape.qpn = memory.handle;
  queues.shape.entries = memory.send_entries;
  queues.shape.entry_shift =
      detail::ernic_shift(queues.name, memory.send_entry_bytes, ernic::sq_sge_offset + queues.shape.max_sges * sge);
  queues.shape.max_inline = 0;  // entries have no space for data
  queues.cq = detail::ernic_completions(memory.send_cq);

  if (queues.no_receives.empty() && memory.receive_buffer == nullptr)
    queues.no_receives = "ErnicMemory::receive_buffer is null";
  if (queues.no_receives.empty()) {
    if (!is_unused(state->rx)) refuse("receives were posted to it before; make a new one");
    queues.rq = memory.receive_buffer;
    queues.rq_record = &state->rx.producer_tail;
    queues.rq_doorbell = queues.sq_doorbell;
    queues.receive_shape.qpn = memory.handle;
    queues.receive_shape.entries = memory.receive_entries;
    queues.receive_shape.entry_shift = detail::ernic_shift(queues.name, memory.receive_entry_bytes,
                                                           ernic::rq_sge_offset + queues.receive_shape.max_sges * sge);
    queues.receive_cq = detail::ernic_completions(memory.receive_cq);
  }
  return queues;
}

/// Hands an existing RC queue pair in state RTS, to which nothing was posted yet, to kernels. The caller still owns it,
/// and must destroy it, and free `memory`, after the returned object. Its completion queues must serve it alone. Throws
/// Error if it cannot be adopted: always without `memory`, since no call reports where the rings lie.
/// @param pages  needed if kernels do not run on the CPU
///
/// @snippet rdma_host.cpp adopt_ernic
inline DirectQueuePair<ernic::Vendor> adopt_ernic(ibv_qp* qp, const ErnicMemory& memory = {},
                                                  std::shared_ptr<ReachablePages> pages = nullptr) {
  return DirectQueuePair<ernic::Vendor>(ernic_queues(qp, memory), std::move(pages));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
