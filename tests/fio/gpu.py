#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu.py ENGINE PLAYED TARGET CONTROLLER [OPERATIONS]: executor=gpu of the engine of fio, whose kernel runs on a GPU that is played (PLAYED: the folder
of its runtimes): jobs of every kind by one wave and by several, one after the other since this GPU runs one kernel at a time, a drive that goes away, and errors. With OPERATIONS only errors, among so many of the in-process controller."""
import errno
import os
import sys

from drive import loss
from fio import Fio
from jobs import counts

IGNORED = f"{errno.EIO}:{errno.ENODATA},{errno.EIO}:{errno.ENODATA}"
# Name, options, and the operations: read, write, trim.
JOBS = [
    ("write-verify", {"rw": "randwrite", "verify": "crc32c"}, (256, 256, 0)),
    ("mixed", {"rw": "randrw", "verify": "crc32c", "norandommap": 0}, None),
    ("batches", {"rw": "randread", "iodepth": 64, "iodepth_batch_submit": 16, "iodepth_batch_complete_min": 16,
                 "iodepth_batch_complete_max": 32}, (256, 0, 0)),
    ("split", {"rw": "randwrite", "bs": "2m", "iodepth": 2, "size": "8m", "verify": "crc32c"}, (4, 4, 0)),
    ("range", {"rw": "randrw", "bsrange": "4k-1m", "size": "4m", "verify": "md5"}, None),
    ("blocks", {"rw": "randread", "bs": 512, "size": "64k"}, (128, 0, 0)),
    ("trim-write", {"rw": "trimwrite", "size": "512k"}, (0, 128, 128)),
    ("fsync", {"rw": "write", "fsync": 32}, (0, 256, 0)),
    ("small-cq", {"rw": "randread", "iodepth": 6, "cq_entries": 8}, (256, 0, 0)),
    ("depth-1", {"rw": "randread", "iodepth": 1, "size": "128k"}, (32, 0, 0)),
    # Between two operations the kernel ends, and is launched again.
    ("seldom", {"rw": "read", "rate_iops": "0.7", "size": "12k", "iodepth": 1}, (3, 0, 0)),
    # Of four waves one has ended when its turn comes, and others have not.
    ("in-turn", {"rw": "read", "rate_iops": "3", "size": "40k", "iodepth": 1}, (10, 0, 0)),
]


def faults(fio, gpu, operations):
    """One of 10 reads and one of 5 writes fail: so many errors, and one line for each status."""
    job = {"rw": "randrw", "continue_on_error": "all", "io_size": operations * 4096, "norandommap": 1, "ignore_error": IGNORED}
    status, reports, text = fio.run([("a", job)], **{**gpu, "controller": "emulated:fail=read-281-10/write-280-5"})
    (done,) = reports["a"]
    reads, writes = done["read"]["total_ios"], done["write"]["total_ios"]
    wanted = (reads + 9) // 10 + (writes + 4) // 5
    fio.check(status == 0 and reads + writes >= operations and done["total_err"] == wanted and text.count("xio: ") == 2,
              f"errors: status {status}, {done['total_err']} of {wanted} in {reads} reads and {writes} writes\n{text}")
    print(f"{reads} reads, {writes} writes, {done['total_err']} errors of {wanted}")


def main():
    engine, played, target, controller = sys.argv[1:5]
    os.environ["LD_LIBRARY_PATH"] = os.path.abspath(played)
    os.environ["XIO_PLAYED_GPU"] = target
    fio = Fio(engine, controller)
    gpu = {"executor": "gpu", "size": "1m"}
    title = f"executor=gpu, {target}, {controller}"
    if len(sys.argv) > 5:
        fio.limit = 3500
        faults(fio, gpu, int(sys.argv[5]))
        fio.finish(title)
    jobs = [(name, {"stonewall": 1, "offset": f"{16 * i}m", **options}) for i, (name, options, _) in enumerate(JOBS)]
    for waves in 1, 2, 4:
        status, reports, text = fio.run(jobs, waves=waves, **gpu)
        fio.check(status == 0 and not text, f"waves={waves}: status {status}:\n{text}")
        for name, _, wanted in JOBS:
            (job,) = reports[name]
            fio.check(job["error"] == 0 and job.get("total_err", 0) == 0, f"waves={waves}, {name}: error {job['error']}")
            fio.check(counts(job) == wanted if wanted else sum(counts(job)) > 0, f"waves={waves}, {name}: {counts(job)} operations, not {wanted}")
    # Jobs that are processes have a GPU each.
    status, reports, text = fio.run([("a", {"rw": "randwrite", "verify": "crc32c", "numjobs": 2})], thread=None, **gpu)
    fio.check(status == 0 and [counts(job) for job in reports["a"]] == [(256, 256, 0)] * 2, f"processes: {status}\n{text}")
    if controller.startswith("qemu"):
        loss(fio, **gpu)
        loss(fio, waves=3, **gpu)
        # The image is QEMU's alone while it runs: what the kernel has written, the CPU verifies, and the other way round.
        image = f"qemu:image={fio.path('image')},size=8M"
        for by in ("gpu", "cpu"), ("cpu", "gpu"):
            job = {"rw": "randwrite", "verify": "crc32c", "randseed": 7 if by[0] == "gpu" else 8}
            status, _, text = fio.run([("a", {**job, "do_verify": 0, "end_fsync": 1})], controller=image, size="1m", executor=by[0])
            fio.check(status == 0, f"written by {by[0]}: {status}\n{text}")
            status, _, text = fio.run([("a", {**job, "verify_only": 1})], controller=image, size="1m", executor=by[1])
            fio.check(status == 0, f"verified by {by[1]}: {status}\n{text}")
            with open(fio.path("image"), "r+b") as file:
                file.seek(100 * 4096 + 99)
                byte = file.read(1)
                file.seek(100 * 4096 + 99)
                file.write(bytes([byte[0] ^ 1]))
            status, reports, text = fio.run([("a", {**job, "verify_only": 1})], controller=image, size="1m", executor=by[1])
            fio.check(status != 0 and reports["a"][0]["error"] == errno.EILSEQ, f"a changed byte by {by[1]}: {status}\n{text}")
        fio.finish(title)

    # Threads share one, and the controller.
    status, reports, text = fio.run([("a", {"rw": "randread", "numjobs": 4})], **gpu)
    fio.check(status == 0 and [counts(job) for job in reports.get("a", [])] == [(256, 0, 0)] * 4, f"threads: {status}\n{text}")
    status, reports, text = fio.run([("a", {"rw": "randread"})], shadow=1, **gpu)
    fio.check(status == 0 and counts(reports["a"][0]) == (256, 0, 0), f"shadow: {status}\n{text}")
    for waves in 1, 2, 4:
        faults(fio, {**gpu, "waves": waves}, 1024)
    status, reports, text = fio.run([("a", {"rw": "read", "bs": "2m", "iodepth": 2, "continue_on_error": "all", "ignore_error": IGNORED})],
                                    **{**gpu, "controller": "emulated:fail=read-281-4", "size": "8m"})
    fio.check(reports["a"][0]["total_err"] == 4, f"split: {reports['a'][0]['total_err']} errors of 4\n{text}")
    for words, options in ("there is no GPU 3", {"gpu": 3}), ("number of a GPU", {"gpu": -1}), ("please set executor=gpu", {"executor": "cpu", "waves": 2}), \
            ("max value out of range", {"waves": 65}), ("whole number of blocks of 512 bytes", {"bs": 700}):
        status, _, text = fio.run([("a", {"rw": "randread"})], **{**gpu, **options})
        fio.check(status != 0 and words in text, f"{options}: status {status}, no '{words}':\n{text}")
    os.environ["XIO_PLAYED_GPU"] = "gfx803"
    status, _, text = fio.run([("a", {"rw": "randread"})], **gpu)
    fio.check(status != 0 and "has no" in text or "no kernels" in text, f"a GPU without kernels: status {status}\n{text}")
    fio.finish(title)


if __name__ == "__main__":
    main()
