/* SPDX-License-Identifier: MIT */
/* xio as an engine of fio, ioengine=external:libxio_fio.so: the part that fio sees. docs/fio.md */
#include "config-host.h"

#include "fio.h"
#include "optgroup.h"

#include "fio/job.h"
#include "fio/zoned.h"

/* The version of fio whose headers these are. */
#ifndef XIO_FIO_VERSION
#error "XIO_FIO_VERSION is not defined"
#endif

struct xio_options {
  void* pad; /* fio's: no option lies at offset 0 */
  char* controller;
  unsigned int nsid;
  unsigned int cq_entries;
  unsigned int shadow;
  unsigned int executor;
  unsigned int gpu;
  unsigned int waves;
};

enum { EXECUTOR_CPU, EXECUTOR_GPU };

#define XIO_OPTION(member) \
  .off1 = offsetof(struct xio_options, member), .category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID

static struct fio_option options[] = {
    {.name = "controller",
     .lname = "NVMe controller",
     .type = FIO_OPT_STR_STORE,
     .help = "vfio:BDF, /dev/nvmeN, qemu[:...] or emulated[:...], as of xio-tester",
     XIO_OPTION(controller)},
    {.name = "nsid",
     .lname = "Namespace",
     .type = FIO_OPT_INT,
     .def = "0",
     .help = "identifier of the namespace; 0: the one that controller names, else 1",
     XIO_OPTION(nsid)},
    {.name = "cq_entries",
     .lname = "Entries of the completion queue",
     .type = FIO_OPT_INT,
     .def = "0",
     .help = "a power of two; 0: 1024, or as many as the controller's queues hold",
     XIO_OPTION(cq_entries)},
    {.name = "shadow",
     .lname = "Shadow doorbells",
     .type = FIO_OPT_BOOL,
     .def = "0",
     .help = "doorbells in memory, for controllers with Doorbell Buffer Config",
     XIO_OPTION(shadow)},
    {.name = "executor",
     .lname = "Executor",
     .type = FIO_OPT_STR,
     .def = "cpu",
     .posval = {{.ival = "cpu", .oval = EXECUTOR_CPU, .help = "the job's own thread submits"},
                {.ival = "gpu", .oval = EXECUTOR_GPU, .help = "a kernel on a GPU does, for the whole job"}},
     .help = "who submits commands, and takes completions",
     XIO_OPTION(executor)},
    {.name = "gpu",
     .lname = "GPU",
     .type = FIO_OPT_INT,
     .def = "0",
     .help = "number of the GPU, with executor=gpu",
     XIO_OPTION(gpu)},
    {.name = "waves",
     .lname = "Waves",
     .type = FIO_OPT_INT,
     .def = "1",
     .minval = 1,
     .maxval = 64,
     .help = "of the kernel of executor=gpu, each with a queue of its own",
     XIO_OPTION(waves)},
    {.name = NULL},
};

struct xio_data {
  xf_job* job;
  struct io_u** queued; /* submitted, and not yet announced */
  unsigned int pending;
  void* const* ended; /* returned by the last getevents() */
  int error;          /* of the allocation of buffers, after which fio goes on */
};

_Static_assert((int)XF_READ == DDIR_READ && (int)XF_WRITE == DDIR_WRITE && (int)XF_TRIM == DDIR_TRIM,
               "operations are numbered like fio's");

uint32_t xf_index(const void* tag) { return ((const struct io_u*)tag)->index; }
void xf_fail(void* tag, int error) { ((struct io_u*)tag)->error = (unsigned int)error; }
void xf_say(const char* line) { log_err("xio: %s\n", line); }

xf_job* xio_job(const struct thread_data* td) { return ((const struct xio_data*)td->io_ops_data)->job; }

static int fail(struct thread_data* td, int error, const char* function) {
  td_verror(td, error, function);
  return 1;
}

/* Opens the job's drive, once. */
static int attach(struct thread_data* td) {
  const struct xio_options* o = td->eo;
  /* The file's name has no escaped colons any more. */
  const char* file = td->o.filename && td->files_index ? td->files[0]->file_name : NULL;
  struct xf_options wanted = {.controller = o->controller ? o->controller : file,
                              .nsid = o->nsid,
                              .cq_entries = o->cq_entries,
                              .shadow = (int)o->shadow,
                              .gpu = o->executor == EXECUTOR_GPU ? (int)o->gpu : -1,
                              .waves = o->waves};
  struct xio_data* d = td->io_ops_data;
  if (d) return 0;
  if (strcmp(fio_version_string, XIO_FIO_VERSION) != 0) {
    log_err("xio: this engine was built for " XIO_FIO_VERSION
            ", not for %s; please build it again: scripts/fio-engine\n",
            fio_version_string);
    return fail(td, ENOEXEC, "xio");
  }
  if (!wanted.controller) {
    xf_say("please name a controller: controller=vfio:0000:01:00.0, for example");
    return fail(td, EINVAL, "xio");
  }
  /* -1 is the CPU where xf_options say so. */
  if (o->executor == EXECUTOR_GPU && wanted.gpu < 0) {
    xf_say("gpu is the number of a GPU, 0 or more");
    return fail(td, EINVAL, "xio");
  }
  if (o->executor != EXECUTOR_GPU && o->waves != 1) {
    xf_say("waves are those of a kernel; please set executor=gpu");
    return fail(td, EINVAL, "xio");
  }
  if (!td->o.use_thread && strncmp(wanted.controller, "vfio", 4) == 0) {
    xf_say("a drive bound to vfio-pci belongs to one process; please set thread=1");
    return fail(td, EINVAL, "xio");
  }
  d = calloc(1, sizeof *d);
  if (!d) return fail(td, ENOMEM, "xio");
  d->queued = calloc(td->o.iodepth, sizeof *d->queued);
  d->job = d->queued ? xf_open(&wanted) : NULL;
  if (!d->job) {
    free(d->queued);
    free(d);
    return fail(td, ENODEV, "xio");
  }
  td->io_ops_data = d;
  return 0;
}

static void detach(struct thread_data* td) {
  struct xio_data* d = td->io_ops_data;
  if (!d) return;
  /* continue_on_error may have made fio forget it. */
  if (xf_lost(d->job)) td_verror(td, xf_lost(d->job), "xio");
  xf_close(d->job);
  free(d->queued);
  free(d);
  td->io_ops_data = NULL;
}

static void set_size(const struct thread_data* td, struct fio_file* f) {
  const struct xio_data* d = td->io_ops_data;
  f->filetype = FIO_TYPE_BLOCK;
  f->real_file_size = xf_bytes(d->job);
  fio_file_set_size_known(f);
}

/* In the parent of the jobs, which needs the size; by create_serialize=0 in the job, after init(). */
static int xio_setup(struct thread_data* td) {
  struct fio_file* f;
  unsigned int i;
  if (!td->files_index) {
    add_file(td, "xio", 0, 0);
    td->o.nr_files = 1;
    td->o.open_files++;
  }
  if (td->o.nr_files > 1) {
    xf_say("a job has one drive; please give each drive a job of its own (in a name, write \\: for a colon)");
    return fail(td, EINVAL, "xio");
  }
  const char* const why = xio_why_no_zones(td);
  if (why) {
    xf_say(why);
    return fail(td, EINVAL, "xio");
  }
  if (attach(td)) return 1;
  for_each_file(td, f, i) set_size(td, f);
  /* A job that is a process opens the drive by itself: no thread of the parent's may be behind it. */
  if (!td->o.use_thread && !td->io_ops_init) detach(td);
  return 0;
}

static int xio_init(struct thread_data* td) {
  const struct xio_data* d;
  int error = 0;
  if (attach(td)) return 1;
  d = td->io_ops_data;
  if ((td_write(td) && !td->o.verify_only) || td_trim(td) || td->o.trim_percentage) error = xf_check_writable(d->job);
  return error ? fail(td, error, "xio") : 0;
}

/* After the buffers were allocated; a job that only trims has none. */
static int xio_post_init(struct thread_data* td) {
  const struct xio_data* d = td->io_ops_data;
  struct xf_sizes sizes = {.depth = td->o.iodepth,
                           .largest = max(td->o.max_bs[DDIR_READ], td->o.max_bs[DDIR_WRITE]),
                           .largest_trim = td_trim(td) || td->o.trim_percentage ? td->o.max_bs[DDIR_TRIM] : 0};
  const int error = d->error ? d->error : xf_start(d->job, &sizes);
  return error ? fail(td, error, "xio") : 0;
}

static int xio_iomem_alloc(struct thread_data* td, size_t bytes) {
  struct xio_data* d = td->io_ops_data;
  td->orig_buffer = xf_allocate(d->job, bytes);
  d->error = td->orig_buffer ? 0 : ENOMEM;
  return d->error;
}

static void xio_iomem_free(struct thread_data* td) {
  const struct xio_data* d = td->io_ops_data;
  if (d) xf_release(d->job);
  td->orig_buffer = NULL;
}

static int xio_commit(struct thread_data* td) {
  struct xio_data* d = td->io_ops_data;
  struct io_u* const* one = d->queued;
  struct io_u* const* const end = one + d->pending;
  if (one == end) return 0;
  if (fio_fill_issue_time(td)) {
    struct timespec now;
    fio_gettime(&now, NULL);
    for (; one != end; ++one) {
      (*one)->issue_time = now;
      io_u_queued(td, *one);
    }
    if (td->o.read_iolog_file) td->last_issue = now;
  }
  io_u_mark_submit(td, d->pending);
  d->pending = 0;
  xf_commit(d->job);
  return 0;
}

/* A job whose drive is gone ends, whatever continue_on_error says. */
static void end_if_lost(struct thread_data* td) {
  const struct xio_data* d = td->io_ops_data;
  const int error = xf_lost(d->job);
  if (!error) return;
  td_verror(td, error, "xio");
  fio_mark_td_terminate(td);
}

static __attribute__((noinline)) enum fio_q_status complete(struct thread_data* td, struct io_u* io_u, int error) {
  if (error == EAGAIN) return FIO_Q_BUSY;
  io_u->error = (unsigned int)error;
  end_if_lost(td);
  return FIO_Q_COMPLETED;
}

/* Of what is no read and no write: a trim, unless it resets a zone. */
static int is_command(const struct thread_data* td, const struct io_u* io_u) {
  return io_u->ddir == DDIR_TRIM && td->o.zone_mode != ZONE_MODE_ZBD;
}

static enum fio_q_status xio_queue(struct thread_data* td, struct io_u* io_u) {
  struct xio_data* d = td->io_ops_data;
  int error;
  if (io_u->ddir >= DDIR_TRIM && !is_command(td, io_u)) {
    /* Completed here: fio counts the next sync from the completion of the last one. */
    if (d->pending) return FIO_Q_BUSY;
    if (io_u->ddir == DDIR_TRIM) return complete(td, io_u, xio_trim_zone(td, io_u));
    return complete(td, io_u, ddir_sync(io_u->ddir) ? xf_flush(d->job) : EINVAL);
  }
  error = xf_submit(d->job, (enum xf_operation)io_u->ddir, io_u->offset, io_u->xfer_buflen, io_u->xfer_buf, io_u);
  if (error) return complete(td, io_u, error);
  d->queued[d->pending++] = io_u;
  return FIO_Q_QUEUED;
}

static int xio_getevents(struct thread_data* td, unsigned int min, unsigned int max, const struct timespec* t) {
  struct xio_data* d = td->io_ops_data;
  const int ended = xf_reap(d->job, min, max, &d->ended);
  (void)t; /* fio's limit is 0, with min = 0 */
  end_if_lost(td);
  return ended;
}

static struct io_u* xio_event(struct thread_data* td, int event) {
  const struct xio_data* d = td->io_ops_data;
  return d->ended[event];
}

static int do_nothing(struct thread_data* td, struct fio_file* f) {
  (void)td;
  (void)f;
  return 0;
}

struct ioengine_ops ioengine = {
    .name = "xio",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_RAWIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_MEMALIGN | FIO_DISKLESSIO | FIO_NO_OFFLOAD |
             FIO_ASYNCIO_SETS_ISSUE_TIME,
    .setup = xio_setup,
    .init = xio_init,
    .post_init = xio_post_init,
    .cleanup = detach,
    .queue = xio_queue,
    .commit = xio_commit,
    .getevents = xio_getevents,
    .event = xio_event,
    .iomem_alloc = xio_iomem_alloc,
    .iomem_free = xio_iomem_free,
    .open_file = do_nothing,
    .close_file = do_nothing,
    .invalidate = do_nothing,
    .get_file_size = do_nothing,
    .get_zoned_model = xio_get_zoned_model,
    .report_zones = xio_report_zones,
    .reset_wp = xio_reset_wp,
    .get_max_open_zones = xio_get_max_open_zones,
    .options = options,
    .option_struct_size = sizeof(struct xio_options),
};
