/* SPDX-License-Identifier: MIT */
/* zonemode=zbd: what fio asks an engine of the zones of its drive. docs/fio.md */
#include "fio/zoned.h"

#include "zbd.h"

#include "fio/zones.h"

int xio_get_zoned_model(struct thread_data* td, struct fio_file* f, enum zbd_zoned_model* model) {
  const int zoned = xf_is_zoned(xio_job(td));
  (void)f;
  *model = zoned > 0 ? ZBD_HOST_MANAGED : ZBD_NONE;
  return zoned < 0 ? zoned : 0;
}

int xio_report_zones(struct thread_data* td, struct fio_file* f, uint64_t offset, struct zbd_zone* zones,
                     unsigned int count) {
  struct xf_zone found[63];
  int i;
  const int known = xf_report_zones(xio_job(td), offset, found, min(count, (unsigned int)FIO_ARRAY_SIZE(found)));
  (void)f;
  for (i = 0; i < known; ++i)
    zones[i] = (struct zbd_zone){.start = found[i].start,
                                 .wp = found[i].wp,
                                 .len = found[i].bytes,
                                 .capacity = found[i].capacity,
                                 .type = (enum zbd_zone_type)found[i].type,
                                 .cond = (enum zbd_zone_cond)found[i].condition};
  return known;
}

int xio_reset_wp(struct thread_data* td, struct fio_file* f, uint64_t offset, uint64_t length) {
  (void)f;
  return xf_reset_zones(xio_job(td), offset, length);
}

int xio_get_max_open_zones(struct thread_data* td, struct fio_file* f, unsigned int* most) {
  (void)f;
  return xf_most_open_zones(xio_job(td), most);
}

const char* xio_why_no_zones(const struct thread_data* td) {
  if (td->o.zone_mode != ZONE_MODE_ZBD) return NULL;
  if (!td->o.use_thread) return "zonemode=zbd: please set thread=1";
  /* A controller may execute the commands of a queue in any order. */
  if (td_write(td) && td->o.iodepth > 1)
    return "zonemode=zbd: the next write of a zone starts where the last has ended; please set iodepth=1";
  return NULL;
}

int xio_trim_zone(struct thread_data* td, struct io_u* io_u) {
  const int done = zbd_do_io_u_trim(td, io_u);
  return done == io_u_completed ? 0 : done < 0 ? -done : EOPNOTSUPP;
}
