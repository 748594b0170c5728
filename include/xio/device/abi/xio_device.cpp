// SPDX-License-Identifier: MIT

/// @file
/// @brief The calls of xio_device.h: compiled to bitcode for each target by xio_add_bitcode() of the CMake package.

#include <xio/nvme.hpp>
#include <xio/rdma.hpp>

#include <xio/device/abi/xio_device.h>

using namespace xio;

namespace {

static_assert(XIO_PENDING == static_cast<int>(Status::pending), "codes are counted as in xio::Status");
static_assert(XIO_FROM_DEVICE == static_cast<int>(Status::invalid_command), "codes are counted as in xio::Status");
static_assert(XIO_KEEP == KeptResult::mark, "a kept result is marked as in xio::Options");
static_assert(sizeof(xio_notification) == sizeof(Notification) && sizeof(xio_kept_result) == sizeof(KeptResult) &&
                  sizeof(xio_nvme_piece) == sizeof(nvme::Piece) &&
                  XIO_OFFSETOF(xio_nvme_piece, blocks) == XIO_OFFSETOF(nvme::Piece, blocks),
              "the structs are those of the library");
static_assert(XIO_NVME_READ == static_cast<int>(nvme::Opcode::read) &&
                  XIO_NVME_WRITE == static_cast<int>(nvme::Opcode::write),
              "opcodes of the NVM Command Set");

template <class T>
XIO_DEVICE_INLINE T* at(xio_address address) {
  return arch::in_global(reinterpret_cast<T*>(address));
}
// Of a variable of the caller, perhaps.
template <class T>
XIO_DEVICE_INLINE T& anywhere(xio_address address) {
  return *reinterpret_cast<T*>(address);
}

// Whoever takes completions must know of notifications: one policy for all calls.
template <Sharing S>
XIO_DEVICE_INLINE nvme::Queue<S, Policy<Notify>> queue_at(xio_address handle) {
  return nvme::Queue<S, Policy<Notify>>(*arch::unchanging<nvme::QueueHandle>(handle));
}
template <class Vendor>
XIO_DEVICE_INLINE rdma::QueuePair<Vendor> pair_at(xio_address handle) {
  return rdma::QueuePair<Vendor>(*arch::unchanging<rdma::QueuePairHandle>(handle));
}

XIO_DEVICE_INLINE Options<true> notify(xio_address notification) {
  return Options<>().notify(reinterpret_cast<Notification*>(notification));
}

XIO_DEVICE_INLINE xio_status pack(Status status) { return status.pack(); }

XIO_DEVICE_INLINE xio_token pack(Token token, xio_until until) {
  if (until == XIO_NOW && token.status == Status::timed_out) token.status = Status::would_block;
  return token.pack();
}
XIO_DEVICE_INLINE Token unpack(xio_token packed) { return Token::unpack(packed); }

template <Sharing S, class Pages>
XIO_DEVICE_INLINE xio_token submit(xio_address queue, const nvme::Command& command, const Pages& pages,
                                   xio_address notification, xio_until until) {
  return pack(queue_at<S>(queue).submit(command, pages, Deadline{until}, notify(notification)), until);
}

// Entries of some vendors hold no data.
template <class Vendor>
XIO_DEVICE_INLINE Token put_signal(rdma::QueuePair<Vendor> pair, const rdma::RemoteSpan& to, const RegionSpan& from,
                                   const rdma::RemoteSpan& signal, uint64_t value, xio_until until) {
  if constexpr (Vendor::has_inline) {
    return pair.put_signal(to, from, signal, value, Deadline{until});
  } else {
    return Token::refused(Status::unsupported);
  }
}

XIO_DEVICE_INLINE nvme::PageArray page_array(xio_address pages, xio_u32 page_shift) {
  return {at<const uint64_t>(pages), page_shift};
}

XIO_DEVICE_INLINE nvme::Command command_of(const nvme::Sqe& entry) {
  nvme::Command command = nvme::command(static_cast<nvme::Opcode>(entry.cdw0 & 0xff));
  command.cdw0 = entry.cdw0 & 0x3fff;
  command.namespace_id = entry.nsid;
  command.cdw2 = entry.cdw2;
  command.cdw3 = entry.cdw3;
  command.mptr = entry.mptr;
  command.cdw10 = entry.cdw10;
  command.cdw11 = entry.cdw11;
  command.cdw12 = entry.cdw12;
  command.cdw13 = entry.cdw13;
  command.cdw14 = entry.cdw14;
  command.cdw15 = entry.cdw15;
  return command;
}
XIO_DEVICE_INLINE nvme::DataPointer data_of(const nvme::Sqe& entry) {
  return {entry.prp1, entry.prp2, (entry.cdw0 & nvme::psdt_sgl) != 0};
}

}  // namespace

// A kernel that calls them is what it would be with the headers. nvcc's linker decides for itself.
#if defined(__clang__)
#define XIO_DEVICE_DEFINITION XIO_DEVICE_CALL __attribute__((always_inline))
#else
#define XIO_DEVICE_DEFINITION XIO_DEVICE_CALL
#endif

extern "C" {

// The symbol alone stays in a program that is linked with the bitcode: host::check_device_abi() finds it.
#define XIO_ABI_SYMBOL_OF(number) xio_device_abi_##number
#define XIO_ABI_SYMBOL(number) XIO_ABI_SYMBOL_OF(number)
XIO_DEVICE_CALL __attribute__((used)) extern const xio_u32 XIO_ABI_SYMBOL(XIO_ABI_NUMBER) = XIO_ABI_NUMBER;

#define XIO_NVME_SHARING Sharing::thread
#define XIO_NVME_CALL(call) xio_nvme_##call##_thread
#include <xio/device/abi/nvme_calls.inc>
#undef XIO_NVME_CALL
#undef XIO_NVME_SHARING
#define XIO_NVME_SHARING Sharing::wave
#define XIO_NVME_CALL(call) xio_nvme_##call##_wave
#include <xio/device/abi/nvme_calls.inc>
#undef XIO_NVME_CALL
#undef XIO_NVME_SHARING
#define XIO_NVME_SHARING Sharing::block
#define XIO_NVME_CALL(call) xio_nvme_##call##_block
#include <xio/device/abi/nvme_calls.inc>
#undef XIO_NVME_CALL
#undef XIO_NVME_SHARING
#define XIO_NVME_SHARING Sharing::grid
#define XIO_NVME_CALL(call) xio_nvme_##call##_grid
#include <xio/device/abi/nvme_calls.inc>
#undef XIO_NVME_CALL
#undef XIO_NVME_SHARING

#define XIO_RDMA_VENDOR mlx5::Vendor<>
#define XIO_RDMA_CALL(call) xio_mlx5_##call
#include <xio/device/abi/rdma_calls.inc>
#undef XIO_RDMA_CALL
#undef XIO_RDMA_VENDOR
#define XIO_RDMA_VENDOR bnxt::Vendor<>
#define XIO_RDMA_CALL(call) xio_bnxt_##call
#include <xio/device/abi/rdma_calls.inc>
#undef XIO_RDMA_CALL
#undef XIO_RDMA_VENDOR
#define XIO_RDMA_VENDOR ionic::Vendor<>
#define XIO_RDMA_CALL(call) xio_ionic_##call
#include <xio/device/abi/rdma_calls.inc>
#undef XIO_RDMA_CALL
#undef XIO_RDMA_VENDOR
#define XIO_RDMA_VENDOR ernic::Vendor
#define XIO_RDMA_CALL(call) xio_ernic_##call
#include <xio/device/abi/rdma_calls.inc>
#undef XIO_RDMA_CALL
#undef XIO_RDMA_VENDOR
#define XIO_RDMA_VENDOR rxe::Vendor<>
#define XIO_RDMA_CALL(call) xio_rxe_##call
#include <xio/device/abi/rdma_calls.inc>
#undef XIO_RDMA_CALL
#undef XIO_RDMA_VENDOR

XIO_DEVICE_DEFINITION xio_until xio_nvme_deadline(xio_address queue, xio_u64 nanoseconds) {
  return queue_at<Sharing::grid>(queue).deadline(Duration{nanoseconds}).tick;
}

XIO_DEVICE_DEFINITION xio_status xio_nvme_agrees(xio_address queue) {
  const bool agrees = nvme::layout_agrees(*arch::unchanging<nvme::QueueHandle>(queue));
  return pack(agrees ? Status::ok : Status::layout_mismatch);
}

XIO_DEVICE_DEFINITION xio_status xio_nvme_batch_once_grid(xio_address queue, xio_u32 opcode, xio_address pieces,
                                                          xio_u32 count, xio_address notification, xio_until until) {
  if (arch::thread_index() >= arch::wave_size()) return XIO_OK;
  auto shared = queue_at<Sharing::grid>(queue);
  const uint32_t depth = shared.handle().depth;
  for (uint32_t done = 0; done < count;) {
    const uint32_t left = count - done;
    const uint32_t now = left < depth ? left : depth;
    const Token token = shared.submit_batch(static_cast<nvme::Opcode>(opcode), at<nvme::Piece>(pieces) + done, now,
                                            Deadline{until}, notify(notification));
    if (!token.submitted()) return static_cast<xio_status>(pack(token, until));
    done += now;
  }
  return XIO_OK;
}

XIO_DEVICE_DEFINITION xio_status xio_wait_until(xio_address word, xio_u64 at_least, xio_until until) {
  return pack(wait_until(at<const uint64_t>(word), at_least, Deadline{until}));
}

}  // extern "C"
