// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Responder of an emulated NIC: moves data, executes atomics, fills receives.

#include <cstring>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/fabric.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Returns the access (rdma_access) that a queue pair must grant its peer for an operation, even one without data
/// (Linux, drivers/infiniband/sw/rxe/rxe_resp.c).
inline uint32_t required_access(RdmaOperation operation) {
  switch (operation) {
    case RdmaOperation::write:
    case RdmaOperation::write_immediate: return rdma_access::remote_write;
    case RdmaOperation::read: return rdma_access::remote_read;
    case RdmaOperation::compare_swap:
    case RdmaOperation::fetch_add: return rdma_access::remote_atomic;
    default: return 0;
  }
}

/// Executes requests on registered memory. Called under the fabric's lock.
struct RdmaResponder {
  MemoryKeys& keys;

  /// Executes `request`, using `receive` if the operation consumes one. Sets `bytes` or `outcome` of `completion`.
  RdmaOutcome apply(const RdmaRequest& request, const RdmaReceive& receive, RdmaReceiveCompletion& completion) {
    const auto remote = [&](uint64_t bytes, uint32_t access) {
      return keys.find(request.rkey, request.remote, bytes, access);
    };
    switch (request.operation) {
      case RdmaOperation::write:
      case RdmaOperation::write_immediate: {
        const uint64_t bytes = request.data->size();
        void* const to = bytes == 0 ? nullptr : remote(bytes, rdma_access::remote_write);
        if (bytes != 0 && !to) return RdmaOutcome::remote_access;
        copy_as_device(to, request.data->data(), bytes);
        completion.bytes = static_cast<uint32_t>(bytes);
        return RdmaOutcome::ok;
      }
      case RdmaOperation::read: {
        const uint64_t bytes = request.answer->size();
        const void* const from = bytes == 0 ? nullptr : remote(bytes, rdma_access::remote_read);
        if (bytes != 0 && !from) return RdmaOutcome::remote_access;
        if (bytes != 0) std::memcpy(request.answer->data(), from, bytes);
        return RdmaOutcome::ok;
      }
      case RdmaOperation::compare_swap:
      case RdmaOperation::fetch_add: {
        auto* const word = static_cast<uint64_t*>(remote(8, rdma_access::remote_atomic));
        if (!word) return RdmaOutcome::remote_access;
        if (request.remote % 8 != 0) return RdmaOutcome::remote_invalid;
        uint64_t before = request.compare;
        if (request.operation == RdmaOperation::fetch_add) {
          before = __atomic_fetch_add(word, request.swap_add, __ATOMIC_ACQ_REL);
        } else {
          __atomic_compare_exchange_n(word, &before, request.swap_add, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        }
        request.answer->resize(8);
        std::memcpy(request.answer->data(), &before, 8);
        return RdmaOutcome::ok;
      }
      default: return scatter(request, receive, completion);
    }
  }

 private:
  RdmaOutcome scatter(const RdmaRequest& request, const RdmaReceive& receive, RdmaReceiveCompletion& completion) {
    const uint64_t bytes = request.data->size();
    uint64_t done = 0;
    for (const RdmaPiece& piece : receive.pieces) {
      if (done == bytes) break;
      const uint64_t part = bytes - done < piece.length ? bytes - done : piece.length;
      void* const to = keys.find(piece.lkey, piece.address, part, rdma_access::local_write);
      if (!to) {
        completion.outcome = RdmaOutcome::local_protection;
        return RdmaOutcome::remote_operation;
      }
      copy_as_device(to, request.data->data() + done, part);
      done += part;
    }
    if (done != bytes) {
      completion.outcome = RdmaOutcome::local_length;
      return RdmaOutcome::remote_invalid;
    }
    if (request.operation == RdmaOperation::send_invalidate) keys.remove(request.immediate);
    completion.bytes = static_cast<uint32_t>(bytes);
    return RdmaOutcome::ok;
  }
};

}  // namespace emulation

XIO_NAMESPACE_END
