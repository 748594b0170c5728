/* SPDX-License-Identifier: MIT */
#pragma once

/** @file
 * @brief zonemode=zbd: members of struct ioengine_ops, and what the others need of them. */

#include "config-host.h"

#include "fio.h"

#include "fio/job.h"

/** Defined by engine.c: the job of fio's thread. */
xf_job* xio_job(const struct thread_data* td);

int xio_get_zoned_model(struct thread_data* td, struct fio_file* f, enum zbd_zoned_model* model);
int xio_report_zones(struct thread_data* td, struct fio_file* f, uint64_t offset, struct zbd_zone* zones,
                     unsigned int count);
int xio_reset_wp(struct thread_data* td, struct fio_file* f, uint64_t offset, uint64_t length);
int xio_get_max_open_zones(struct thread_data* td, struct fio_file* f, unsigned int* most);

/** Why zonemode=zbd cannot be with these options; null: it can. */
const char* xio_why_no_zones(const struct thread_data* td);
/** A trim by zonemode=zbd, which is the reset of a zone. 0, or its error. */
int xio_trim_zone(struct thread_data* td, struct io_u* io_u);
