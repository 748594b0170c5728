// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Pensando DSC: an existing queue pair driven by kernels, through libionic's direct verbs. Empty without the
/// header of libibverbs.
///
/// The libionic of rdma-core up to version 65, which distributions ship, lacks the calls that report where rings lie.
/// AMD's has them, but Debian does not install its header (MIT), so this file declares the few items that it needs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/linux/shared_library.hpp>
#include <xio/host/rdma/adoption.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>
#include <xio/vendors/ionic/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// Declarations of ionic_dv.h. Source: rdma-core, providers/ionic/man/ionic_dv_get_qp.3 and its neighbours;
/// ROCm/rocm-xio, rdma-core/ionic-gda/0001-ionic-add-gda-dv-api.patch
namespace ionic_dv {
/// @addtogroup host_rdma
/// @{

/// ionic_dv_ctx: doorbells of a device.
struct Context {
  void* doorbell_page;  ///< the mapped page
  uint64_t* doorbells;  ///< within the page; one for each queue type
  uint8_t sq_type;
  uint8_t rq_type;
  uint8_t cq_type;
};

/// ionic_dv_queue: one ring.
struct Queue {
  void* ring;
  size_t bytes;
  uint64_t doorbell;  ///< constant part of its doorbell: the queue number, in bits 47:24
  uint16_t mask;      ///< entries - 1
  uint8_t log2_entries;
  uint8_t log2_entry_bytes;
};

/// ionic_dv_cq.
struct CompletionQueue {
  Queue queue;
};

/// ionic_dv_qp.
struct QueuePair {
  Queue receive;
  Queue send;
};

static_assert(sizeof(void*) != 8 || (offsetof(Context, sq_type) == 16 && sizeof(Context) == 24 &&
                                     offsetof(Queue, mask) == 24 && sizeof(Queue) == 32 && sizeof(QueuePair) == 64),
              "offsets as in ionic_dv.h");

/// @}
}  // namespace ionic_dv

/// The functions of libionic that set-up uses, named without `ionic_dv_`. All except those that return a number or bool
/// return 0 or an errno.
class IonicLibrary {
  // First: the functions are found in it.
  const SharedLibrary library_;

 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit IonicLibrary(const std::vector<std::string>& files = {"libionic.so.1", "libionic.so"})
      : library_(files, "a libionic with ionic_dv_get_qp() is needed (AMD's; rdma-core 65 has none)") {}
  IonicLibrary(const IonicLibrary&) = delete;
  IonicLibrary& operator=(const IonicLibrary&) = delete;

  bool (*is_qp)(ibv_qp*) = library_.find("ionic_dv_is_ionic_qp");
  int (*get_context)(ionic_dv::Context*, ibv_context*) = library_.find("ionic_dv_get_ctx");
  int (*get_qp)(ionic_dv::QueuePair*, ibv_qp*) = library_.find("ionic_dv_get_qp");
  int (*get_cq)(ionic_dv::CompletionQueue*, ibv_cq*, uint8_t pipeline) = library_.find("ionic_dv_get_cq");
  uint8_t (*qp_pipeline)(ibv_qp*) = library_.find("ionic_dv_qp_get_udma_idx");
  int (*send_doorbell)(ibv_qp*, uint64_t* value) =
      library_.find_optional("ionic_dv_qp_get_send_dbell_data");  ///< null if the library has none
  int (*receive_doorbell)(ibv_qp*,
                          uint64_t* value) = library_.find_optional("ionic_dv_qp_get_recv_dbell_data");  ///< likewise
};

/// Returns the library, loaded by the first call that finds it; throws Error if it cannot be loaded.
inline const IonicLibrary& ionic_library() {
  static const IonicLibrary library;
  return library;
}

namespace detail {

/// Locates the parts of an ionic queue pair.
class IonicFinder {
 public:
  IonicFinder(ibv_qp* qp, const std::string& name) : qp_(qp), name_(name) {
    if (!ionic_library().is_qp(qp)) refuse("its device is no Pensando DSC");
    demand(ionic_library().get_context(&context_, qp->context), "ionic_dv_get_ctx");
    demand(ionic_library().get_qp(&found_, qp), "ionic_dv_get_qp");
    if (context_.doorbells == nullptr) refuse("its doorbells are unknown");
    check(found_.send, "send");
  }

  const ionic_dv::Queue& send() const { return found_.send; }
  const ionic_dv::Queue& receive() const {
    check(found_.receive, "receive");
    return found_.receive;
  }
  void* send_register() const { return context_.doorbells + context_.sq_type; }
  void* receive_register() const { return context_.doorbells + context_.rq_type; }

  /// Checks that nothing was posted: the doorbell value that libionic would store contains the producer index.
  void check_unused(int (*doorbell)(ibv_qp*, uint64_t*), const char* what) const {
    uint64_t value = 0;
    if (doorbell == nullptr) return;
    demand(doorbell(qp_, &value), "the query of a doorbell");
    if ((value & 0xffff) != 0) refuse(std::string(what) + " were posted to it before; make a new one");
  }

  /// Returns the completion ring; libionic describes a collapsed one as a ring of one entry.
  DirectCompletionRing completions(ibv_cq* cq) const {
    ionic_dv::CompletionQueue found{};
    demand(ionic_library().get_cq(&found, cq, ionic_library().qp_pipeline(qp_)), "ionic_dv_get_cq");
    check(found.queue, "completion");
    if (1u << found.queue.log2_entry_bytes != ionic::CompletionDecoder::entry_bytes)
      refuse("its completions have " + std::to_string(1u << found.queue.log2_entry_bytes) + " bytes and not 32");
    DirectCompletionRing ring;
    ring.entries = found.queue.ring;
    ring.count = found.queue.mask + 1u;
    ring.number = static_cast<uint32_t>(found.queue.doorbell >> ionic::doorbell_qid_shift) & ionic::qid_mask;
    ring.doorbell = context_.doorbells + context_.cq_type;
    return ring;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw Error(name_ + " cannot be adopted: " + why); }
  void demand(int error, const char* call) const {
    if (error != 0) throw_system_error(name_ + ": " + call + " failed", error);
  }
  void check(const ionic_dv::Queue& queue, const char* which) const {
    const uint64_t entries = queue.mask + uint64_t{1};
    if (queue.log2_entry_bytes >= 32 || queue.log2_entries > 16 || entries != uint64_t{1} << queue.log2_entries ||
        queue.bytes < entries << queue.log2_entry_bytes)
      refuse(std::string("libionic describes its ") + which + " ring in an unknown format");
  }

  ibv_qp* qp_;
  std::string name_;
  ionic_dv::Context context_{};
  ionic_dv::QueuePair found_{};
};

}  // namespace detail

/// Locates the queues of an RC queue pair to which nothing was posted yet. Throws Error if it cannot be adopted.
/// @param collapsed  whether the send queue's completion queue must be collapsed to one entry (ionic::Options)
inline DirectQueues ionic_queues(ibv_qp* qp, bool collapsed = false) {
  DirectQueues queues = detail::adoptable("ionic", qp);
  const auto refuse = [&](const std::string& why) { throw Error(queues.name + " cannot be adopted: " + why); };
  const detail::IonicFinder finder(qp, queues.name);
  // With more elements a device may use another entry format, and does not report it.
  if (queues.shape.max_sges > 2 || queues.receive_shape.max_sges > 2)
    refuse("entries with more than 2 SGEs (max_send_sge, max_recv_sge) have an unreported format");
  finder.check_unused(ionic_library().send_doorbell, "operations");

  queues.sq = finder.send().ring;
  queues.sq_doorbell = finder.send_register();
  queues.shape.entries = finder.send().mask + 1u;
  queues.shape.entry_shift = finder.send().log2_entry_bytes;
  queues.send_depth = finder.send().mask;  // one entry stays free
  queues.cq = finder.completions(qp->send_cq);
  if (queues.cq.count == 1 && !collapsed)
    refuse("its send_cq is collapsed to one entry; use ionic::Vendor with Options::collapsed");
  if (queues.cq.count != 1 && collapsed) refuse("its send_cq is a ring, and not collapsed to one entry");

  if (queues.no_receives.empty()) {
    queues.receive_cq = finder.completions(qp->recv_cq);
    if (queues.receive_cq.count == 1)
      queues.no_receives = "its recv_cq is collapsed to one entry, where messages overwrite each other";
  }
  if (queues.no_receives.empty()) {
    finder.check_unused(ionic_library().receive_doorbell, "receives");
    queues.rq = finder.receive().ring;
    queues.rq_doorbell = finder.receive_register();
    queues.receive_shape.entries = finder.receive().mask + 1u;
    queues.receive_shape.entry_shift = finder.receive().log2_entry_bytes;
    queues.receive_depth = finder.receive().mask;
  }
  return queues;
}

/// Hands an existing RC queue pair in state RTS, to which nothing was posted yet, to kernels. The caller still owns it,
/// must not post to it or poll its completion queues meanwhile, and must destroy it after the returned object.
///
/// Its completion queues must serve it alone, and its rings must lie in memory, not in the controller. libionic does
/// not report which entry version the device uses: `Variant` must define it. A send_cq that is collapsed to one entry
/// (IONIC_CQ_INIT_ATTR_CCQE) is required if `Variant` specifies it, and rejected otherwise. Throws Error if it cannot
/// be adopted.
/// @param pages  needed if kernels do not run on the CPU
///
/// @snippet rdma_host.cpp adopt_ionic
template <class Variant = ionic::Options>
DirectQueuePair<ionic::Vendor<Variant>> adopt_ionic(ibv_qp* qp, std::shared_ptr<ReachablePages> pages = nullptr) {
  static_assert(Variant::spec == ionic::SpecFormat::none, "entries with SpecFormat have more than 2 SGEs");
  return DirectQueuePair<ionic::Vendor<Variant>>(ionic_queues(qp, Variant::collapsed), std::move(pages));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
