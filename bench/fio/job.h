/* SPDX-License-Identifier: MIT */
#pragma once

/** @file
 * @brief Between fio's part of the engine (engine.c, with fio's headers) and xio's (C++): one job of fio on one drive.
 *
 * A job is used by one thread at a time. Functions that fail have told the user why, by xf_say(). Errors are those of
 * errno.h. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xf_job xf_job;

/** Numbered like fio's. */
enum xf_operation { XF_READ, XF_WRITE, XF_TRIM };

/** Of one job: what fio's options of the engine say. */
struct xf_options {
  const char* controller; /**< as of host::open_nvme() */
  uint32_t nsid;          /**< 0: the namespace that `controller` names, else 1 */
  uint32_t cq_entries;    /**< 0: 1024, or as many as the controller's queues hold */
  int shadow;             /**< whether the queues have shadow doorbells */
  int gpu;                /**< number of the GPU whose kernel submits; -1: the job's own thread does */
  uint32_t waves;         /**< of that kernel, each with a queue of its own; 1 without a GPU */
};

/** Sizes of a job, in bytes where nothing else is said. */
struct xf_sizes {
  uint32_t depth;        /**< operations in flight */
  uint64_t largest;      /**< of reads and writes */
  uint64_t largest_trim; /**< 0: the job does not trim */
};

/** Defined by fio's part: prints a line to fio's log of errors. */
void xf_say(const char* line);

/** Defined by fio's part: the number of an operation among those in flight, below xf_sizes::depth. */
uint32_t xf_index(const void* tag);
/** Defined by fio's part: keeps the error of an operation that has ended. */
void xf_fail(void* tag, int error);

/** Opens the drive; jobs of one process that name the same controller share it. Null: failed. */
xf_job* xf_open(const struct xf_options* options);
/** Ends the job, and the drive with its last one. */
void xf_close(xf_job* job);
/** Capacity of the namespace. */
uint64_t xf_bytes(const xf_job* job);
/** 0, or EROFS where the namespace must not be written to. */
int xf_check_writable(const xf_job* job);

/** Memory of the controller for all buffers of the job; null: failed. */
void* xf_allocate(xf_job* job, size_t bytes);
/** Ends the queue and releases the memory. */
void xf_release(xf_job* job);
/** Creates the queue. 0, or an error. */
int xf_start(xf_job* job, const struct xf_sizes* sizes);

/** Submits an operation, which xf_commit() announces. `data` lies in the memory of xf_allocate(), `tag` at an even
 * address.
 * @return 0, EAGAIN where the queue is full, or the error with which it is refused */
int xf_submit(xf_job* job, enum xf_operation operation, uint64_t offset, uint64_t bytes, const void* data, void* tag);
/** Announces what was submitted. */
void xf_commit(xf_job* job);
/** Flushes the drive's cache, and waits for that. 0, or the error of the flush. */
int xf_flush(xf_job* job);

/** Waits until at least `least` operations have ended that no earlier call has returned, and returns how many have, at
 * most `most`: their tags are *ended, until the next call. Of those that failed it tells the error by xf_fail(). */
int xf_reap(xf_job* job, uint32_t least, uint32_t most, void* const** ended);
/** 0, or the error of a drive that is gone, or does not answer: what was in flight has ended with it, and so does all
 * that follows. */
int xf_lost(const xf_job* job);

#ifdef __cplusplus
}
#endif
