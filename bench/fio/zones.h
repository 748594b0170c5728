/* SPDX-License-Identifier: MIT */
#pragma once

/** @file
 * @brief Zones of the namespace of a job, for zonemode=zbd. Functions return -errno where they fail, and have told the
 * user why. They may be called beside the job's operations. */

#include "fio/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes; type and condition are numbered like NVMe's, and like fio's. */
struct xf_zone {
  uint64_t start;
  uint64_t wp; /**< write pointer */
  uint64_t bytes;
  uint64_t capacity;
  unsigned int type;
  unsigned int condition;
};

/** 1: the namespace has zones; 0: not. */
int xf_is_zoned(const xf_job* job);
/** The zones from `offset` on, at most `count`. Returns how many, which may be fewer. */
int xf_report_zones(const xf_job* job, uint64_t offset, struct xf_zone* zones, unsigned int count);
/** Resets all zones in `bytes` from the start of one. */
int xf_reset_zones(const xf_job* job, uint64_t offset, uint64_t bytes);
/** How many zones may be open; 0: all. */
int xf_most_open_zones(const xf_job* job, unsigned int* most);

#ifdef __cplusplus
}
#endif
