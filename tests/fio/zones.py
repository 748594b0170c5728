#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""zones.py ENGINE: zonemode=zbd on QEMU's zoned controller: zones are written from their start and verified, reset, and read up to the write
pointer alone; what would break their order is refused."""
import sys

from fio import Fio
from jobs import counts

ZONED = "qemu:zoned=1M,size=16M"


def main():
    fio = Fio(sys.argv[1], ZONED)
    # fio keeps zones by file name: jobs of one drive share it.
    zbd = {"zonemode": "zbd", "direct": 1, "iodepth": 1, "filename": "zones"}
    # One after the other on one controller: each begins with what the last has left.
    status, reports, text = fio.run([
        ("write", {"rw": "write", "verify": "crc32c", "size": "16m"}),
        ("again", {"stonewall": 1, "rw": "randwrite", "verify": "crc32c", "size": "8m", "io_size": "8m"}),
        ("reset", {"stonewall": 1, "rw": "trim", "bs": "1m", "offset": "8m", "size": "8m"}),
        ("empty", {"stonewall": 1, "rw": "read", "offset": "8m", "size": "8m"}),
        ("read", {"stonewall": 1, "rw": "randread", "size": "8m", "iodepth": 16}),
    ], **zbd)
    fio.check(status == 0 and "xio:" not in text, f"status {status}:\n{text}")
    wanted = {"write": (4096, 4096, 0), "reset": (0, 0, 8), "empty": (0, 0, 0), "read": (2048, 0, 0)}
    for name, operations in wanted.items():
        job = reports[name][0]
        fio.check(job["error"] == 0 and counts(job) == operations, f"{name}: error {job['error']}, {counts(job)}, not {operations}")
    fio.check(reports["again"][0]["error"] == 0 and counts(reports["again"][0])[1] == 2048, f"again: {counts(reports['again'][0])}")
    for words, options in ("set iodepth=1", {"iodepth": 2}), ("set thread=1", {"thread": None}):
        status, _, text = fio.run([("a", {"rw": "write"})], **{**zbd, **options})
        fio.check(status != 0 and words in text, f"{options}: status {status}, no '{words}':\n{text}")
    fio.finish("zones")


if __name__ == "__main__":
    main()
