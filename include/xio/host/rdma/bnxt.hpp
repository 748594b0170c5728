// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NetXtreme-E: a queue pair on memory that the application allocated, driven by kernels. Empty without the
/// header of libibverbs.
///
/// No public call reports where the rings of a queue pair made by ibv_create_qp() lie. With bnxt_re's direct verbs,
/// which rdma-core has from version 65 on in changing forms, the application creates queues on its own memory and
/// describes that memory here. Only the doorbell is queried: that call is the same in all forms.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/linux/shared_library.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/host/rdma/adoption.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>
#include <xio/vendors/bnxt/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// bnxt_re_dv_db_region_attr: a doorbell page. Source: rdma-core, providers/bnxt_re/bnxt_re_dv.h
struct BnxtDoorbellRegion {
  uint32_t handle;
  uint32_t page_index;
  uint64_t bus;        ///< address used by the device
  uint64_t* doorbell;  ///< the mapped register
};
static_assert(sizeof(void*) != 8 || (offsetof(BnxtDoorbellRegion, doorbell) == 16 && sizeof(BnxtDoorbellRegion) == 24),
              "offsets as in bnxt_re_dv.h");

/// The function of libbnxt_re that set-up uses, named without `bnxt_re_dv_`.
class BnxtLibrary {
 public:
  /// Throws Error if the library cannot be loaded, or lacks the function.
  explicit BnxtLibrary(const std::vector<std::string>& files = {"libbnxt_re.so.1", "libbnxt_re.so"}) {
    const SharedLibrary library(
        files,
        "a libbnxt_re with direct verbs is needed (Debian's provider has none), or the address of the doorbells");
    get_default_db_region = library.find("bnxt_re_dv_get_default_db_region");
  }
  BnxtLibrary(const BnxtLibrary&) = delete;
  BnxtLibrary& operator=(const BnxtLibrary&) = delete;

  int (*get_default_db_region)(ibv_context*, BnxtDoorbellRegion*) = nullptr;  ///< 0 or an errno
};

/// Returns the library, loaded by the first call that finds it; throws Error if it cannot be loaded.
inline const BnxtLibrary& bnxt_library() {
  static const BnxtLibrary library;
  return library;
}

/// A completion queue created by the application (bnxt_re_dv_create_cq). Its memory was zero initially.
struct BnxtCompletionMemory {
  void* entries = nullptr;
  uint32_t count = 0;   ///< a power of two
  uint32_t number = 0;  ///< used in doorbells
};

/// A queue pair created by the application (bnxt_re_dv_create_qp). Ring units are entries of 128 bytes, or slots of 16
/// bytes in variable mode.
struct BnxtMemory {
  void* send_ring = nullptr;
  uint32_t send_units = 0;
  void* message_table = nullptr;  ///< PSN or MSN table
  uint32_t table_entries = 0;     ///< MSN table: a power of two
  BnxtCompletionMemory send_cq;
  void* receive_ring = nullptr;  ///< null: no receive queue for kernels
  uint32_t receive_entries = 0;  ///< of 128 bytes; a power of two
  BnxtCompletionMemory receive_cq;
  void* doorbell = nullptr;     ///< of the queue pair's region; null: the default one of the device context
  void* cq_doorbell = nullptr;  ///< of the completion queues' region; null: the default one of the device context
  uint32_t first_psn = 0;       ///< sq_psn as given to ibv_modify_qp()
  uint32_t mtu = 0;             ///< bytes of path_mtu as given to ibv_modify_qp(): 256 to 4096
  uint64_t handle = 0;          ///< qp_handle as given at creation; 0: completions are not compared with it
};

/// Locates the queues of an RC queue pair to which nothing was posted yet. Throws Error if it cannot be adopted.
template <class Variant = bnxt::Options>
DirectQueues bnxt_queues(ibv_qp* qp, const BnxtMemory& memory) {
  DirectQueues queues = detail::adoptable("bnxt", qp);
  const auto refuse = [&](const std::string& why) { throw Error(queues.name + " cannot be adopted: " + why); };
  if (memory.send_ring == nullptr)
    refuse(
        "libbnxt_re does not report ring addresses; make it with bnxt_re_dv_create_qp() on memory of your own, "
        "and pass BnxtMemory");
  if (memory.mtu < 256 || memory.mtu > 4096 || !is_power_of_two(memory.mtu))
    refuse("BnxtMemory::mtu is " + std::to_string(memory.mtu) + ", which is no path MTU");
  using Vendor = bnxt::Vendor<Variant>;
  if (Variant::side_table == bnxt::SideTableKind::msn && (memory.table_entries & (memory.table_entries - 1)) != 0)
    refuse("its message table has " + std::to_string(memory.table_entries) + " entries, which is no power of two");
  if (Variant::side_table != bnxt::SideTableKind::msn && memory.table_entries < memory.send_units)
    refuse("its PSN table has fewer entries than the send ring has units");

  const auto region = [&](void* given) -> void* {
    if (given != nullptr) return given;
    BnxtDoorbellRegion found{};
    const int error = bnxt_library().get_default_db_region(qp->context, &found);
    if (error != 0) throw_system_error(queues.name + ": bnxt_re_dv_get_default_db_region failed", error);
    return found.doorbell;
  };
  void* const doorbell = region(memory.doorbell);
  void* const cq_doorbell = region(memory.cq_doorbell);
  const auto completions = [&](const BnxtCompletionMemory& cq) {
    DirectCompletionRing ring;
    ring.entries = cq.entries;
    ring.count = cq.count;
    ring.number = cq.number;
    ring.doorbell = cq_doorbell;
    ring.cookie = memory.handle;
    return ring;
  };

  queues.sq = memory.send_ring;
  queues.sq_doorbell = doorbell;
  queues.side_table = memory.message_table;
  queues.side_entries = memory.table_entries;
  queues.side_entry_bytes = Vendor::Table::entry_words * sizeof(uint64_t);
  queues.shape.entries = memory.send_units;
  queues.shape.entry_shift = Vendor::Send::unit_shift;
  queues.shape.mtu_shift = static_cast<uint32_t>(__builtin_ctz(memory.mtu));
  // The ring needs more entries than the work requests that it may hold: bnxt_re adds some when it creates a ring.
  const uint32_t slots = 1u << (7 - Vendor::Send::unit_shift);
  queues.send_depth = queues.send_depth < memory.send_units / slots ? queues.send_depth * slots : memory.send_units - 1;
  queues.first_psn = memory.first_psn & 0xffffff;
  queues.cq = completions(memory.send_cq);

  if (queues.no_receives.empty() && memory.receive_ring == nullptr)
    queues.no_receives = "BnxtMemory::receive_ring is null";
  if (queues.no_receives.empty()) {
    queues.rq = memory.receive_ring;
    queues.rq_doorbell = doorbell;
    queues.receive_shape.entries = memory.receive_entries;
    queues.receive_shape.entry_shift = 7;
    if (queues.receive_depth >= memory.receive_entries) queues.receive_depth = memory.receive_entries - 1;
    queues.receive_cq = completions(memory.receive_cq);
  }
  return queues;
}

/// Hands an existing RC queue pair in state RTS, to which nothing was posted yet, to kernels. The caller still owns it,
/// and must destroy it, and free `memory`, after the returned object. Its completion queues must serve it alone. Throws
/// Error if it cannot be adopted: always without `memory`, since no call reports where the rings lie.
/// @param pages  needed if kernels do not run on the CPU
///
/// @snippet rdma_host.cpp adopt_bnxt
template <class Variant = bnxt::Options>
DirectQueuePair<bnxt::Vendor<Variant>> adopt_bnxt(ibv_qp* qp, const BnxtMemory& memory = {},
                                                  std::shared_ptr<ReachablePages> pages = nullptr) {
  return DirectQueuePair<bnxt::Vendor<Variant>>(bnxt_queues<Variant>(qp, memory), std::move(pages));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
