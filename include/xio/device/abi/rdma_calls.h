/* SPDX-License-Identifier: MIT */

/// @file
/// @brief Calls on an RDMA queue pair, declared once for each vendor: `xio_mlx5_put` and so on. Included by
/// xio/device/abi/xio_device.h only.
///
/// `queue` is the address of an xio::rdma::QueuePairHandle in global memory that nothing writes while the kernel runs;
/// all waves of the grid may use it. Addresses of local and remote memory are those that it was registered with, `lkey`
/// and `rkey` its keys. Lengths are in bytes. Whether they are inside the memory is checked by the device.

/// @addtogroup kernel_abi
/// @{

/** The deadline `nanoseconds` from now, for all calls on this queue pair. At most 18 years. */
XIO_DEVICE_CALL xio_until XIO_RDMA_CALL(deadline)(xio_address queue, xio_u64 nanoseconds);
/** RDMA write of `bytes` bytes `from` local memory `to` the peer's. */
XIO_DEVICE_CALL xio_token XIO_RDMA_CALL(put)(xio_address queue, xio_u64 to, xio_u32 rkey, xio_u64 from, xio_u32 lkey,
                                             xio_u32 bytes, xio_until until);
/** RDMA read of `bytes` bytes `from` the peer's memory `to` local memory. */
XIO_DEVICE_CALL xio_token XIO_RDMA_CALL(get)(xio_address queue, xio_u64 to, xio_u32 lkey, xio_u64 from, xio_u32 rkey,
                                             xio_u32 bytes, xio_until until);
/** RDMA write of data, then of `value` to 8 bytes of the peer's memory: who sees the value sees the data. Refused with
 *  XIO_UNSUPPORTED for NICs without inline data: see `put_signal_from`. */
XIO_DEVICE_CALL xio_token XIO_RDMA_CALL(put_signal)(xio_address queue, xio_u64 to, xio_u32 rkey, xio_u64 from,
                                                    xio_u32 lkey, xio_u32 bytes, xio_u64 signal, xio_u32 signal_rkey,
                                                    xio_u64 value, xio_until until);
/** `put_signal` of 8 bytes of registered memory at `value`, for every NIC. */
XIO_DEVICE_CALL xio_token XIO_RDMA_CALL(put_signal_from)(xio_address queue, xio_u64 to, xio_u32 rkey, xio_u64 from,
                                                         xio_u32 lkey, xio_u32 bytes, xio_u64 signal,
                                                         xio_u32 signal_rkey, xio_u64 value, xio_u32 value_lkey,
                                                         xio_until until);
/** Adds to 8 bytes of the peer's memory, which must allow atomics; the previous value goes to local memory, `old`. */
XIO_DEVICE_CALL xio_token XIO_RDMA_CALL(fetch_add)(xio_address queue, xio_u64 where, xio_u32 rkey, xio_u64 add,
                                                   xio_u64 old, xio_u32 lkey, xio_until until);
/** Stores `swap` in 8 bytes of the peer's memory if they hold `compare`; the previous value goes to `old`. */
XIO_DEVICE_CALL xio_token XIO_RDMA_CALL(compare_swap)(xio_address queue, xio_u64 where, xio_u32 rkey, xio_u64 compare,
                                                      xio_u64 swap, xio_u64 old, xio_u32 lkey, xio_until until);
/** Waits until the token's operation has ended. Each lane waits for its own. */
XIO_DEVICE_CALL xio_status XIO_RDMA_CALL(wait)(xio_address queue, xio_token token, xio_until until);
/** Polls once: XIO_PENDING if the operation has not ended yet. */
XIO_DEVICE_CALL xio_status XIO_RDMA_CALL(test)(xio_address queue, xio_token token);
/** Waits until every operation that was posted before has ended; returns the status of the first that failed. */
XIO_DEVICE_CALL xio_status XIO_RDMA_CALL(quiet)(xio_address queue, xio_until until);
/** Makes data of gets and atomics in GPU memory visible whose completions, in host memory, were taken before. */
XIO_DEVICE_CALL xio_status XIO_RDMA_CALL(flush_inbound)(xio_address queue, xio_until until);

/// @}
