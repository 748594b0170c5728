/* SPDX-License-Identifier: MIT */

/// @file
/// @brief Calls on an NVMe queue, declared once for each sharing: `xio_nvme_read_grid` and so on. Included by
/// xio/device/abi/xio_device.h only.
///
/// `queue` is the address of an xio::nvme::QueueHandle in global memory that nothing writes while the kernel runs. All
/// users of the queue in C++ have the policy Policy<Notify>. `bus` is an address for the controller; `notification` the
/// address of an xio_notification, or of an xio_kept_result | XIO_KEEP, or 0: none. See xio::Sharing for which lanes
/// call together.

/// @addtogroup kernel_abi
/// @{

/** Reads `blocks` logical blocks from `lba` into contiguous memory. A long command is split; the token denotes all. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(read)(xio_address queue, xio_u64 lba, xio_u32 blocks, xio_u64 bus,
                                              xio_address notification, xio_until until);
/** Writes contiguous memory, as `read`. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(write)(xio_address queue, xio_u64 lba, xio_u32 blocks, xio_u64 bus,
                                               xio_address notification, xio_until until);
/** Reads into pages of 1 << `page_shift` bytes: `pages` is the address of their bus addresses, 64 bits each, aligned
 *  to the size of a page, which is at least the controller's. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(read_pages)(xio_address queue, xio_u64 lba, xio_u32 blocks, xio_address pages,
                                                    xio_u32 page_shift, xio_address notification, xio_until until);
/** Writes pages, as `read_pages`. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(write_pages)(xio_address queue, xio_u64 lba, xio_u32 blocks, xio_address pages,
                                                     xio_u32 page_shift, xio_address notification, xio_until until);
/** Puts what was written on the medium. Commands that have not ended before are not waited for: see `fence`. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(flush)(xio_address queue, xio_address notification, xio_until until);
/** Submits a command as it stands: `entry` is the address of its 64 bytes, data pointer included. The library adds the
 *  command identifier, and the queue's namespace where dword 1 is 0. Nothing is checked or split. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(submit)(xio_address queue, xio_address entry, xio_address notification,
                                                xio_until until);
/** Submits `count` pieces, at `pieces`, together: at most the queue's depth. Threads as of xio::nvme::Queue. */
XIO_DEVICE_CALL xio_token XIO_NVME_CALL(batch)(xio_address queue, xio_u32 opcode, xio_address pieces, xio_u32 count,
                                               xio_address notification, xio_until until);
/** Waits for a batch that the whole group has submitted. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(wait_batch)(xio_address queue, xio_token token, xio_until until);
/** Moves any number of pieces and waits for them all. `progress` is the address of an xio_notification. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(transfer)(xio_address queue, xio_u32 opcode, xio_address pieces, xio_u32 count,
                                                   xio_address progress, xio_until until);
/** Waits until the token's operation has ended. Each lane waits for its own. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(wait)(xio_address queue, xio_token token, xio_until until);
/** Waits until `count` operations have counted in a notification, and takes completions meanwhile. Their data is
 * visible then, but for data in GPU memory: see `flush_inbound`. Each lane has its own arguments.
 *  @return the status of one of the first that failed; XIO_TIMED_OUT or XIO_BROKEN with fewer counted */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(wait_count)(xio_address queue, xio_address notification, xio_u64 count,
                                                     xio_until until);
/** Polls once: XIO_PENDING if the operation has not ended yet. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(test)(xio_address queue, xio_token token);
/** Stores the command specific result of an operation that has ended, 64 bits, at the address `value`. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(result)(xio_address queue, xio_token token, xio_address value);
/** Takes the completions that are there, without waiting. Returns how many. */
XIO_DEVICE_CALL xio_u32 XIO_NVME_CALL(drain)(xio_address queue);
/** Waits until every operation that was submitted before, by any user of the queue, has ended. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(fence)(xio_address queue, xio_until until);
/** Waits like `fence`, then returns the first error that nobody has waited for, and clears all of them. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(quiet)(xio_address queue, xio_until until);
/** Makes data in GPU memory visible whose completions, in host memory, were taken before: PCIe does not order the two.
 *  Needed after each wait in that case only. */
XIO_DEVICE_CALL xio_status XIO_NVME_CALL(flush_inbound)(xio_address queue, xio_until until);

/// @}
