/* SPDX-License-Identifier: MIT */
#ifndef XIO_DEVICE_H
#define XIO_DEVICE_H

/// @file
/// @brief xio for kernels of any language: plain C calls, implemented by bitcode that xio_add_bitcode() makes.
///
/// The calls are those of xio::nvme::Queue and of xio::rdma::QueuePair, with numbers for arguments. Their names say who
/// uses the queue at the same time (xio::Sharing: thread, wave, block, grid), or whose NIC it is:
///
/// | names                                | calls                                                            |
/// |--------------------------------------|------------------------------------------------------------------|
/// | `xio_nvme_<call>_<sharing>`          | xio/device/abi/nvme_calls.h                                      |
/// | `xio_<vendor>_<call>`                | xio/device/abi/rdma_calls.h; queue pairs that the whole grid uses |
/// | `xio_...`                            | below                                                            |
///
/// A call whose arguments or effect change gets another name. All may be called by any number of lanes, as the sharing
/// allows; errors are values.

/// @addtogroup kernel_abi
/// @{

/** Version of these calls: raised when calls are added. */
#define XIO_DEVICE_VERSION 1

#if defined(__CUDACC__) && !defined(__clang__)
#define XIO_DEVICE_CALL __device__
#elif defined(__HIP__) || defined(__CUDA__)
#define XIO_DEVICE_CALL __attribute__((device))
#else
#define XIO_DEVICE_CALL
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned int xio_u32;       /**< 32 bits */
typedef unsigned long long xio_u64; /**< 64 bits */

/** Address that the executing side uses: of a handle, of pages, of a notification. */
typedef xio_u64 xio_address;
/** Operations in flight: xio::Token in one word. A refused one holds the reason, and waits return it at once. */
typedef xio_u64 xio_token;
/** xio::Status in one word: xio_code in bits 15:0, the device's own status in bits 31:16. 0: success. */
typedef xio_u32 xio_status;
/** Point in time, in ticks of the clock of the executing side: see the calls `deadline`. XIO_NOW: does not wait. */
typedef xio_u64 xio_until;

enum {
  XIO_NOW = 0, /**< deadline of a call that does not wait; a full queue refuses with XIO_WOULD_BLOCK */
  XIO_KEEP = 1 /**< added to the address of an xio_kept_result that is passed as a notification */
};

/** xio::Status::Code. */
enum xio_code {
  XIO_OK = 0,
  XIO_WOULD_BLOCK,      /**< queue full; nothing was changed */
  XIO_TIMED_OUT,        /**< the deadline passed; the operation is still in flight and keeps its buffer */
  XIO_EXPIRED,          /**< the outcome is no longer on record */
  XIO_BROKEN,           /**< the queue cannot be used until the host recovers it */
  XIO_INVALID_ARGUMENT, /**< refused before it reached the device */
  XIO_OUT_OF_RANGE,     /**< outside the namespace or the memory */
  XIO_MISALIGNED,       /**< address alignment not usable by the device */
  XIO_UNSUPPORTED,      /**< not supported by this queue or device */
  XIO_LAYOUT_MISMATCH,  /**< the host has filled the handle for another version of xio than the bitcode's */
  XIO_PENDING,          /**< the operation has not ended yet */
  XIO_FROM_DEVICE = 64  /**< codes from here on were reported by a device; see xio/device/core/status.hpp */
};

/** xio::Notification: counts operations as they end. 16 bytes, aligned, zeroed by its owner. */
typedef struct xio_notification {
  xio_u64 done;   /**< operations ended, failed ones included */
  xio_u32 failed; /**< operations ended with an error */
  xio_u32 status; /**< the device's status of one of the first that failed; 0: none has */
} xio_notification;

/** xio::KeptResult: the result of one operation. 16 bytes, aligned, zeroed by its owner before each use. */
typedef struct xio_kept_result {
  xio_u64 ended;  /**< bit 63: it has ended; bits 14:0: the device's status */
  xio_u64 result; /**< NVMe: dword 0 of the completion in bits 31:0, dword 1 above */
} xio_kept_result;

/** xio::nvme::Piece: `blocks` logical blocks from `lba`, to or from contiguous memory at bus address `bus`. */
typedef struct xio_nvme_piece {
  xio_u64 lba;
  xio_u64 bus;
  xio_u32 blocks; /**< 1 to QueueHandle::max_blocks; pieces are not split */
} xio_nvme_piece;

/** Opcodes for batches. Others: the NVM Command Set. */
enum { XIO_NVME_WRITE = 1, XIO_NVME_READ = 2 };

#define XIO_NVME_CALL(call) xio_nvme_##call##_thread
#include <xio/device/abi/nvme_calls.h>
#undef XIO_NVME_CALL
#define XIO_NVME_CALL(call) xio_nvme_##call##_wave
#include <xio/device/abi/nvme_calls.h>
#undef XIO_NVME_CALL
#define XIO_NVME_CALL(call) xio_nvme_##call##_block
#include <xio/device/abi/nvme_calls.h>
#undef XIO_NVME_CALL
#define XIO_NVME_CALL(call) xio_nvme_##call##_grid
#include <xio/device/abi/nvme_calls.h>
#undef XIO_NVME_CALL

#define XIO_RDMA_CALL(call) xio_mlx5_##call
#include <xio/device/abi/rdma_calls.h>
#undef XIO_RDMA_CALL
#define XIO_RDMA_CALL(call) xio_bnxt_##call
#include <xio/device/abi/rdma_calls.h>
#undef XIO_RDMA_CALL
#define XIO_RDMA_CALL(call) xio_ionic_##call
#include <xio/device/abi/rdma_calls.h>
#undef XIO_RDMA_CALL
#define XIO_RDMA_CALL(call) xio_ernic_##call
#include <xio/device/abi/rdma_calls.h>
#undef XIO_RDMA_CALL
#define XIO_RDMA_CALL(call) xio_rxe_##call
#include <xio/device/abi/rdma_calls.h>
#undef XIO_RDMA_CALL

/** The deadline `nanoseconds` from now, for all calls on this NVMe queue. At most 18 years. */
XIO_DEVICE_CALL xio_until xio_nvme_deadline(xio_address queue, xio_u64 nanoseconds);

/** Whether the host has filled the handle for the version of xio that the bitcode is made of: XIO_OK, or
 *  XIO_LAYOUT_MISMATCH, and then no other call may follow. A kernel may check this once. */
XIO_DEVICE_CALL xio_status xio_nvme_agrees(xio_address queue);

/** One batch for the whole block, however its threads hold the arguments: the first wave submits all `count` pieces,
 *  more than the queue holds too, and the others return at once. Blocks have one dimension, and their threads all call
 *  with the same arguments, after a barrier if other waves have stored the pieces.
 *  @param pieces       address of xio_nvme_piece, one behind the other
 *  @param notification counts each piece that ends: for xio_nvme_wait_count_grid()
 *  @return in the first wave why it stopped, with some pieces submitted, perhaps; XIO_OK in the others */
XIO_DEVICE_CALL xio_status xio_nvme_batch_once_grid(xio_address queue, xio_u32 opcode, xio_address pieces,
                                                    xio_u32 count, xio_address notification, xio_until until);

/** Waits until the 64-bit word, which a peer, the host or a notification changes, is at least `at_least`. Takes no
 *  completions. What was written before the word is visible then. */
XIO_DEVICE_CALL xio_status xio_wait_until(xio_address word, xio_u64 at_least, xio_until until);

#ifdef __cplusplus
}
#endif

/// @}
#endif
