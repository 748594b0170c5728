#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""errors.py ENGINE [OPERATIONS]: every error of the model reaches fio as an errno, with one line for each status; what the engine refuses,
it refuses with the reason."""
import errno
import sys

from fio import Fio

# Beside those that fio goes on after by itself.
IGNORED = f"{errno.EIO}:{errno.ENODATA},{errno.EIO}:{errno.ENODATA}"
# What the drive reports, and what fio is told: as by the engines that go through the kernel.
STATUSES = {
    0x281: (errno.ENODATA, "Unrecovered Read Error"),
    0x280: (errno.ENODATA, "Write Fault"),
    0x002: (errno.EOPNOTSUPP, "Invalid Field"),
    0x081: (errno.ENOSPC, "Capacity Exceeded"),
    0x282: (errno.EILSEQ, "Guard Check"),
    0x083: (errno.EBADE, "Reservation Conflict"),
    0x006: (errno.EIO, "Internal Error"),
}


def faults(fio, operations):
    """One of 100 reads and one of 50 writes fail: so many errors, and one line for each status."""
    job = {"rw": "randrw", "rwmixread": 50, "io_size": operations * 4096, "size": "32m", "continue_on_error": "all", "norandommap": 1,
           "ignore_error": IGNORED}
    status, reports, text = fio.run([("a", job)], controller="emulated:fail=read-281-100/write-280-50")
    fio.check(status == 0, f"faults: status {status}\n{text}")
    done = reports["a"][0]
    reads, writes = done["read"]["total_ios"], done["write"]["total_ios"]
    fio.check(reads + writes >= operations, f"faults: {reads} + {writes} operations")
    wanted = (reads + 99) // 100 + (writes + 49) // 50
    fio.check(done["total_err"] == wanted, f"faults: {done['total_err']} errors of {wanted} in {reads} reads and {writes} writes")
    fio.check(text.count("xio: ") == 2, f"faults: not one line for each status:\n{text}")
    print(f"{reads} reads, {writes} writes, {done['total_err']} errors of {wanted}")


def statuses(fio):
    jobs = [(f"{status:03x}", {"rw": "read", "controller": f"emulated:fail=read-{status:03x}"}) for status in STATUSES]
    code, reports, text = fio.run(jobs)
    fio.check(code != 0, "statuses: no failure")
    for status, (error, words) in STATUSES.items():
        (job,) = reports[f"{status:03x}"]
        fio.check(job["error"] == error, f"{status:03x}: error {job['error']}, not {error}")
        fio.check(any(words.lower() in line.lower() and f"0x{status:03x}" in line for line in text.splitlines()),
                  f"{status:03x}: not said:\n{text}")


def commands(fio):
    """Of what is no read and no write: that it is sent at all, and what becomes of its error."""
    for name, job in {"flush": {"rw": "write", "fsync": 8}, "trim": {"rw": "randtrim"}}.items():
        code, reports, text = fio.run([("a", job)], controller=f"emulated:fail={name}-006")
        fio.check(code != 0 and reports["a"][0]["error"] == errno.EIO and "0x006" in text, f"{name}: status {code}\n{text}")
    # 2 MiB are four commands by this controller: one of them fails.
    job = {"rw": "read", "bs": "2m", "size": "16m", "iodepth": 2, "continue_on_error": "all", "ignore_error": IGNORED}
    _, reports, text = fio.run([("a", job)], controller="emulated:fail=read-281-4")
    fio.check(reports["a"][0]["total_err"] == 8, f"split: {reports['a'][0]['total_err']} errors of 8\n{text}")


REFUSED = [
    ("please name a controller", {"controller": None}),
    ("describes no NVMe controller", {"controller": "nvme0"}),
    ("unknown key", {"controller": "emulated:colour=red"}),
    ("please set thread=1", {"controller": "vfio:0000:01:00.0", "thread": None}),
    ("namespace 5 of emulated is not active", {"nsid": 5}),
    ("whole number of blocks of 512 bytes", {"bs": 700}),
    ("whole number of blocks of 4096 bytes", {"controller": "emulated:lba=4096", "bs": 512}),
    ("cq_entries = 48 is not accepted", {"cq_entries": 48}),
    ("a job has one drive", {"filename": "a:b"}),
    ("doorbell", {"controller": "emulated:dbbuf=0", "shadow": 1}),
    ("a depth of 100000 is more than", {"iodepth": 100000, "bs": 512}),
    ("is 128 commands on this drive", {"controller": "emulated:mqes=31,mdts=1", "bs": "1m", "iodepth": 1}),
    ("offload", {"io_submit_mode": "offload"}),
    ("DMA memory is full", {"controller": "qemu:size=64M,dma=4M", "bs": "1m"}),
]


def main():
    fio = Fio(sys.argv[1], "emulated")
    if len(sys.argv) > 2:
        fio.limit = 1700  # of the test's 1800 seconds
        faults(fio, int(sys.argv[2]))
        fio.finish("faults")
    faults(fio, 20000)
    statuses(fio)
    commands(fio)
    for words, options in REFUSED:
        status, _, text = fio.run([("a", {"rw": "randread"})], **options)
        fio.check(status != 0 and words in text, f"{options}: status {status}, no '{words}':\n{text}")
    # What the options of the engine do.
    for options, reads in ({"controller": "emulated:size=1M/2M", "nsid": 2}, 512), ({"shadow": 1, "numjobs": 2}, 2048), \
            ({"controller": "emulated:lba=4096,mqes=31", "iodepth": 31}, 2048):
        status, reports, text = fio.run([("a", {"rw": "randread"})], size="8m" if reads == 2048 else "100%",
                                        **options)
        counts = [job["read"]["total_ios"] for job in reports.get("a", [])]
        fio.check(status == 0 and set(counts) == {reads}, f"{options}: status {status}, {counts}\n{text}")
    fio.finish("errors")


if __name__ == "__main__":
    main()
