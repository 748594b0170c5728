/* SPDX-License-Identifier: MIT */
#ifndef XIO_HOST_H
#define XIO_HOST_H

/// @file
/// @brief The host side in plain C, for programs of other languages: libxio_host.so.
///
/// Opens drives and GPUs, creates queues and buffers, and launches kernels that call queues (xio/device/abi). What a
/// call has created belongs to the caller, who gives it back to the call `..._close`; null may be given back, too. A
/// queue, a buffer or a kernel keeps what it needs, so that the order does not matter. Objects may be used by several
/// threads, each by one at a time.

#include <stddef.h>
#include <stdint.h>

/// @addtogroup host_c
/// @{

/** Version of this interface: raised when calls are added. A call whose arguments or effect change gets
 *  another name. */
#define XIO_HOST_VERSION 4

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define XIO_HOST_CALL __attribute__((visibility("default")))
#else
#define XIO_HOST_CALL
#endif

/** How a call has ended. Every call that returns an `int` returns one of these. */
enum xio_host_code {
  XIO_HOST_OK = 0,
  XIO_HOST_ERROR,       /**< see xio_host_message() */
  XIO_HOST_UNAVAILABLE, /**< this machine lacks something that is not installed, or has no GPU */
  XIO_HOST_TIMED_OUT,   /**< a kernel is still running: nothing that it uses may be closed */
  XIO_HOST_NO_MEMORY,
  XIO_HOST_STATUS /**< an operation of the CPU's was refused or has failed: see xio_host_status() */
};

typedef struct xio_gpu xio_gpu;             /**< one GPU */
typedef struct xio_drive xio_drive;         /**< an NVMe controller, and who runs kernels on its queues */
typedef struct xio_queue xio_queue;         /**< a pair of queues */
typedef struct xio_buffer xio_buffer;       /**< memory of the host that drive, GPU and CPU access */
typedef struct xio_drive_set xio_drive_set; /**< several drives as one address space */
typedef struct xio_module xio_module;       /**< a program loaded on a GPU */
typedef struct xio_work xio_work;           /**< a kernel that was launched */

/** XIO_HOST_VERSION of the library. */
XIO_HOST_CALL uint32_t xio_host_version(void);
/** Number of the ABI of handles: kernels linked with bitcode of another one are refused. */
XIO_HOST_CALL uint32_t xio_host_abi(void);
/** Why the calling thread's last call that failed did so, in one line; valid until its next call. */
XIO_HOST_CALL const char* xio_host_message(void);
/** The status of the calling thread's last operation that ended with XIO_HOST_STATUS or XIO_HOST_TIMED_OUT, as kernels
 *  return them (xio_status). */
XIO_HOST_CALL uint32_t xio_host_status(void);
/** Name of the code of a status that a kernel has returned: "ok", "read_error". Valid for ever. */
XIO_HOST_CALL const char* xio_status_name(uint32_t status);
/** What a status says, in one line: "unrecovered read error (status 0x281, read_error)". Valid until the calling
 *  thread's next call. */
XIO_HOST_CALL const char* xio_status_text(uint32_t status);

/** Finds GPU number `device` by HIP, then by CUDA. */
XIO_HOST_CALL int xio_gpu_open(int device, xio_gpu** gpu);
XIO_HOST_CALL void xio_gpu_close(xio_gpu* gpu);
/** What code must be compiled for: "gfx942", "sm_90". */
XIO_HOST_CALL const char* xio_gpu_target(const xio_gpu* gpu);
/** Lanes of a wave. */
XIO_HOST_CALL uint32_t xio_gpu_wave_size(const xio_gpu* gpu);

/** What xio_drive_describe() tells of a namespace. */
typedef struct xio_drive_info {
  uint64_t blocks;             /**< capacity in logical blocks */
  uint64_t max_transfer_bytes; /**< data of one command; longer ones are split. 0: no limit */
  uint32_t block_bytes;        /**< size of a logical block */
  uint32_t nsid;
} xio_drive_info;

/** Opens a controller.
 *  @param spec as host::open_nvme(): "emulated", "qemu:image=disk.img", "vfio:0000:04:00.0", "/dev/nvme0"
 *  @param gpu  whose kernels use the queues; null: the CPU's, for drives that C++ or nobody drives */
XIO_HOST_CALL int xio_drive_open(const char* spec, const xio_gpu* gpu, xio_drive** drive);
/** Opens a controller for each spec, for a set: QEMU's get one memory, so that all can access the set's buffers. All or
 *  none are opened; each is closed by itself. Arguments as xio_drive_open().
 *  @param drives a place for each of the `count` drives */
XIO_HOST_CALL int xio_drives_open(const char* const* specs, uint32_t count, const xio_gpu* gpu, xio_drive** drives);
XIO_HOST_CALL void xio_drive_close(xio_drive* drive);
/** @param nsid 0: the namespace that the spec names, else 1 */
XIO_HOST_CALL int xio_drive_describe(const xio_drive* drive, uint32_t nsid, xio_drive_info* info);
/** XIO_HOST_OK if the namespace may be written to; otherwise the message says why not. Of all calls
 *  only xio_queue_write() asks. */
XIO_HOST_CALL int xio_drive_may_write(const xio_drive* drive, uint32_t nsid);
/** XIO_HOST_OK if the controller is there; otherwise the message says what became of it. */
XIO_HOST_CALL int xio_drive_alive(const xio_drive* drive);

/** Creates a queue for the kernels of the drive's GPU.
 *  @param depth commands in flight at most; 0: 64
 *  @param nsid  0: the namespace that the spec names, else 1 */
XIO_HOST_CALL int xio_queue_create(const xio_drive* drive, uint32_t depth, uint32_t nsid, xio_queue** queue);
/** Creates a queue for the CPU's operations, whatever the drive's GPU. Arguments as xio_queue_create(). */
XIO_HOST_CALL int xio_queue_create_for_cpu(const xio_drive* drive, uint32_t depth, uint32_t nsid, xio_queue** queue);
XIO_HOST_CALL void xio_queue_close(xio_queue* queue);
/** The argument `queue` of the calls in kernels: the address of the handle, in memory of the GPU. */
XIO_HOST_CALL uint64_t xio_queue_address(const xio_queue* queue);

/** Allocates zeroed memory for data, results and notifications, which begins at a page. */
XIO_HOST_CALL int xio_buffer_create(const xio_drive* drive, size_t bytes, xio_buffer** buffer);
/** Makes the caller's pages accessible, where the drive's transport can: `data` and `bytes` are multiples of a page.
 * The caller frees them after the buffer. */
XIO_HOST_CALL int xio_buffer_map(const xio_drive* drive, void* data, size_t bytes, xio_buffer** buffer);
XIO_HOST_CALL void xio_buffer_close(xio_buffer* buffer);
XIO_HOST_CALL void* xio_buffer_data(const xio_buffer* buffer);       /**< for the CPU */
XIO_HOST_CALL uint64_t xio_buffer_address(const xio_buffer* buffer); /**< for kernels */
XIO_HOST_CALL uint64_t xio_buffer_bus(const xio_buffer* buffer); /**< for the drive: `bus` of the calls in kernels */
XIO_HOST_CALL size_t xio_buffer_bytes(const xio_buffer* buffer);

/** Reads blocks into a buffer of the queue's drive, by the CPU, and waits for them. As many commands as it takes, up to
 *  the queue's depth at a time.
 *  @param queue        for the CPU: of xio_queue_create_for_cpu(), or of a drive that was opened without a GPU
 *  @param offset       where in the buffer, in bytes: a multiple of 4
 *  @param milliseconds at most 10^9
 *  @return XIO_HOST_TIMED_OUT: the drive may store into the buffer until the queue is closed, which is all that may be
 *          done with it then. XIO_HOST_STATUS: some of the blocks may have been moved. */
XIO_HOST_CALL int xio_queue_read(xio_queue* queue, uint64_t lba, uint32_t blocks, const xio_buffer* buffer,
                                 size_t offset, uint32_t milliseconds);
/** Writes blocks as xio_queue_read() reads them. A namespace that must not be written to is refused by
 *  XIO_HOST_ERROR, see xio_drive_may_write(). */
XIO_HOST_CALL int xio_queue_write(xio_queue* queue, uint64_t lba, uint32_t blocks, const xio_buffer* buffer,
                                  size_t offset, uint32_t milliseconds);
/** Makes what was written durable, by the CPU: NVMe Flush. */
XIO_HOST_CALL int xio_queue_flush(xio_queue* queue, uint32_t milliseconds);

/** Creates queues of several drives whose blocks become one address space, in stripes: stripe n lies on drive
 *  n modulo `count` (xio::nvme::DriveSet). All drives have blocks of one size, and were opened for one GPU, or for
 * none.
 *  @param depth            of each queue: commands in flight at most; 0: 64
 *  @param queues_per_drive waves with different numbers use different ones; 0: 1
 *  @param stripe_blocks    logical blocks in a stripe, a power of two; 0: 8 */
XIO_HOST_CALL int xio_drive_set_create(const xio_drive* const* drives, uint32_t count, uint32_t depth,
                                       uint32_t queues_per_drive, uint32_t stripe_blocks, xio_drive_set** set);
XIO_HOST_CALL void xio_drive_set_close(xio_drive_set* set);
/** For kernels in C++: the address of an xio::nvme::DriveSetHandle, in memory of the GPU. */
XIO_HOST_CALL uint64_t xio_drive_set_address(const xio_drive_set* set);
/** For kernels in C: the argument `queue` of calls on one drive, whose pieces have addresses of xio_buffer_bus_of().
 *  @param number below `queues_per_drive`
 *  @return 0: there is no such drive or queue */
XIO_HOST_CALL uint64_t xio_drive_set_queue(const xio_drive_set* set, uint32_t drive, uint32_t number);
/** Capacity in blocks: as many whole stripes of each drive as the smallest one holds. */
XIO_HOST_CALL uint64_t xio_drive_set_blocks(const xio_drive_set* set);
XIO_HOST_CALL uint32_t xio_drive_set_block_bytes(const xio_drive_set* set);
/** Allocates zeroed memory that all drives of the set access, where their transports can: QEMU's, if xio_drives_open()
 *  has opened them. Its bus address is the first drive's. */
XIO_HOST_CALL int xio_drive_set_buffer(const xio_drive_set* set, size_t bytes, xio_buffer** buffer);
/** For kernels in C++: the address of an xio::nvme::DriveRegion, in memory of the GPU; 0: not a buffer of a set. */
XIO_HOST_CALL uint64_t xio_buffer_region(const xio_buffer* buffer);
/** The address of a set's buffer for one of its drives: `bus` of the calls in kernels. 0: not a buffer of a set, or no
 *  such drive. */
XIO_HOST_CALL uint64_t xio_buffer_bus_of(const xio_buffer* buffer, uint32_t drive);
/** Reads blocks of the set's address space into a buffer of the set, by the CPU, one drive behind the other. Arguments
 *  and errors as xio_queue_read(), the time for each drive; after XIO_HOST_TIMED_OUT the drive may store into the
 *  buffer until the set is closed, or used once more. */
XIO_HOST_CALL int xio_drive_set_read(xio_drive_set* set, uint64_t block, uint32_t blocks, const xio_buffer* buffer,
                                     size_t offset, uint32_t milliseconds);
/** Writes as xio_drive_set_read() reads. Refused by XIO_HOST_ERROR if one of the drives must not be written to. */
XIO_HOST_CALL int xio_drive_set_write(xio_drive_set* set, uint64_t block, uint32_t blocks, const xio_buffer* buffer,
                                      size_t offset, uint32_t milliseconds);
/** Makes what was written to all drives durable, by the CPU. */
XIO_HOST_CALL int xio_drive_set_flush(xio_drive_set* set, uint32_t milliseconds);

/** Loads a code object, a fat binary or PTX, which ends with a null that counts. */
XIO_HOST_CALL int xio_module_load(const xio_gpu* gpu, const void* image, size_t bytes, xio_module** module);
XIO_HOST_CALL void xio_module_close(xio_module* module);
/** Launches a kernel. Its waves may wait for each other only if all blocks run at the same time, which is not checked.
 *  @param threads   of a block
 *  @param lds       bytes of dynamic LDS or shared memory of a block
 *  @param arguments the address of each argument, in order */
XIO_HOST_CALL int xio_kernel_launch(const xio_module* module, const char* kernel, uint32_t blocks, uint32_t threads,
                                    size_t lds, void** arguments, xio_work** work);
/** Launches a kernel on a stream of the program's own, behind the work that it has, as xio_kernel_launch() does. The
 *  stream tells of its end; until then nothing that it uses may be closed, nor the module.
 *  @param stream a hipStream_t, cudaStream_t or CUstream of the module's GPU; null: the default one */
XIO_HOST_CALL int xio_kernel_enqueue(const xio_module* module, const char* kernel, uint32_t blocks, uint32_t threads,
                                     size_t lds, void** arguments, void* stream);
/** Waits for the end of a kernel, at most so long. */
XIO_HOST_CALL int xio_work_wait(xio_work* work, uint32_t milliseconds);
/** Waits for a kernel that is still running, however long. */
XIO_HOST_CALL void xio_work_close(xio_work* work);

#ifdef __cplusplus
}
#endif

/// @}
#endif
