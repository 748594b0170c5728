// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Protection domains, registered memory and completion queues. Empty without the header of libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <cerrno>
#include <memory>
#include <string>

#include <xio/host/error.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/rdma/address.hpp>
#include <xio/host/rdma/device.hpp>
#include <xio/host/rdma/verbs_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// All access rights that a peer can be granted.
constexpr int rdma_access_all =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// Associates queue pairs with the memory that they may use. Movable; objects created from it keep it alive.
class ProtectionDomain {
 public:
  explicit ProtectionDomain(const RdmaDevice& device) {
    ibv_pd* pd = verbs().alloc_pd(device.context());
    if (pd == nullptr) throw_system_error("rdma: cannot make a protection domain on " + device.name(), errno);
    pd_ = std::shared_ptr<ibv_pd>(pd, [keep = device.shared()](ibv_pd* owned) { verbs().dealloc_pd(owned); });
  }

  ibv_pd* get() const { return pd_.get(); }
  std::shared_ptr<ibv_pd> shared() const { return pd_; }

 private:
  std::shared_ptr<ibv_pd> pd_;
};

/// Memory registered for a device; owns the registration, not the memory. Movable.
class MemoryRegion {
 public:
  /// @param data    must stay mapped at this address for the lifetime of the region
  /// @param access  IBV_ACCESS_ flags: operations allowed to the device and to peers
  MemoryRegion(const ProtectionDomain& domain, void* data, size_t bytes, int access = rdma_access_all) {
    ibv_mr* mr = verbs().reg_mr(domain.get(), data, bytes, access);
    if (mr == nullptr) {
      const int error = errno;
      throw_system_error("rdma: cannot register " + std::to_string(bytes) + " bytes" +
                             (error == ENOMEM ? " (raise the limit of locked memory: ulimit -l)" : ""),
                         error);
    }
    own(domain, mr, data, access);
  }

  /// Registers GPU memory, which the device accesses directly, without host memory.
  /// @param exported  dma-buf export of the memory; may be closed after construction
  /// @param gpu       address of the memory for kernels, and in work requests
  /// @param atomics   remote atomics need PCIe atomics on the whole path between NIC and GPU: false disables them
  MemoryRegion(const ProtectionDomain& domain, const DmaBufExport& exported, void* gpu, bool atomics) {
    if (verbs().reg_dmabuf_mr == nullptr)
      throw Error("rdma: this libibverbs has no ibv_reg_dmabuf_mr; install rdma-core 34 or later");
    const int access = rdma_access_all & ~(atomics ? 0 : IBV_ACCESS_REMOTE_ATOMIC);
    const auto iova = reinterpret_cast<uintptr_t>(gpu);
    ibv_mr* mr = verbs().reg_dmabuf_mr(domain.get(), exported.offset, exported.bytes, iova, exported.fd.get(), access);
    if (mr == nullptr) {
      const int error = errno;
      const std::string start = "rdma: cannot register " + std::to_string(exported.bytes) + " bytes of GPU memory";
      if (error == EOPNOTSUPP || error == EPROTONOSUPPORT)
        throw Error(start + ": this device's driver, or its kernel, supports no dma-bufs; keep data in host memory");
      throw_system_error(start, error);
    }
    own(domain, mr, gpu, access);
  }

  void* data() const { return data_; }
  size_t size() const { return mr_->length; }
  uint32_t lkey() const { return mr_->lkey; }
  uint32_t rkey() const { return mr_->rkey; }
  /// Description of the memory for the peer.
  PeerMemory remote() const { return {reinterpret_cast<uintptr_t>(data_), mr_->length, mr_->rkey, flags_}; }

 private:
  void own(const ProtectionDomain& domain, ibv_mr* mr, void* data, int access) {
    mr_ = std::shared_ptr<ibv_mr>(mr, [keep = domain.shared()](ibv_mr* owned) { verbs().dereg_mr(owned); });
    data_ = data;  // for a dma-buf, ibv_mr holds its offset in place of an address
    if ((access & IBV_ACCESS_REMOTE_ATOMIC) == 0) flags_ = remote_memory_flag::no_atomics;
  }

  void* data_ = nullptr;
  std::shared_ptr<ibv_mr> mr_;
  uint32_t flags_ = 0;
};

/// A completion queue. Movable; queue pairs keep it alive.
class CompletionQueue {
 public:
  /// @param entries  minimum number; the device may round it up
  CompletionQueue(const RdmaDevice& device, uint32_t entries) {
    ibv_cq* cq = verbs().create_cq(device.context(), static_cast<int>(entries), nullptr, nullptr, 0);
    if (cq == nullptr)
      throw_system_error("rdma: cannot make a completion queue of " + std::to_string(entries) + " entries on " +
                             device.name() + " (does it exceed the device's limit?)",
                         errno);
    cq_ = std::shared_ptr<ibv_cq>(cq, [keep = device.shared()](ibv_cq* owned) { verbs().destroy_cq(owned); });
  }

  ibv_cq* get() const { return cq_.get(); }
  std::shared_ptr<ibv_cq> shared() const { return cq_; }
  /// Number of entries.
  uint32_t capacity() const { return static_cast<uint32_t>(cq_->cqe); }

 private:
  std::shared_ptr<ibv_cq> cq_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
