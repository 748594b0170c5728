#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jobs.py ENGINE CONTROLLER: jobs of every kind by the engine of fio: each ends without an error, with as many operations as it has.

CONTROLLER has at least 1 GiB. All but a few run at once, as threads on one controller."""
import glob
import sys

from fio import Fio

CHECKSUMS = ["crc7", "crc16", "crc32", "crc32c", "crc64", "md5", "sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384",
             "sha3-512", "xxhash", "pattern"]

# Name, options, and the operations: read, write, trim.
JOBS = [
    ("randread", {"rw": "randread"}, (2048, 0, 0)),
    ("whole", {"rw": "read", "bs": "1m", "offset": 0, "size": "1g"}, (1024, 0, 0)),
    ("write-verify", {"rw": "randwrite", "verify": "crc32c"}, (2048, 2048, 0)),
    ("verify-backlog", {"rw": "randwrite", "verify": "md5", "verify_backlog": 64}, (2048, 2048, 0)),
    ("verify-async", {"rw": "randwrite", "verify": "crc32c", "verify_async": 2}, (2048, 2048, 0)),
    ("mixed", {"rw": "randrw", "verify": "crc32c", "norandommap": 0}, None),
    ("split", {"rw": "randwrite", "bs": "2m", "iodepth": 4, "size": "32m", "verify": "crc32c"}, (16, 16, 0)),
    ("range", {"rw": "randrw", "bsrange": "4k-1m", "size": "32m", "verify": "md5"}, None),
    ("blocks", {"rw": "randread", "bs": 512, "size": "1m"}, (2048, 0, 0)),
    ("only-trims", {"rw": "randtrim"}, (0, 0, 2048)),
    ("trim-write", {"rw": "trimwrite"}, (0, 2048, 2048)),
    ("fsync", {"rw": "write", "fsync": 64}, (0, 2048, 0)),
    ("fdatasync", {"rw": "randwrite", "fdatasync": 64, "end_fsync": 1}, (0, 2048, 0)),
    ("threads", {"rw": "randread", "numjobs": 4}, (2048, 0, 0)),
    ("batches", {"rw": "randread", "iodepth_batch_submit": 8, "iodepth_batch_complete_min": 8, "iodepth_batch_complete_max": 16},
     (2048, 0, 0)),
    ("whenever", {"rw": "randread", "iodepth_batch_complete_min": 0}, (2048, 0, 0)),
    ("depth-1", {"rw": "randread", "iodepth": 1, "size": "1m"}, (256, 0, 0)),
    ("depth-256", {"rw": "randread", "iodepth": 256}, (2048, 0, 0)),
    ("small-cq", {"rw": "randread", "iodepth": 6, "cq_entries": 8}, (2048, 0, 0)),
    ("loops", {"rw": "read", "loops": 3, "size": "1m"}, (768, 0, 0)),
    ("strides", {"rw": "read", "zonemode": "strided", "zonesize": "64k", "zonerange": "1m", "size": "1m"}, (256, 0, 0)),
    ("late-setup", {"rw": "randread", "size": "1m", "create_serialize": 0}, (256, 0, 0)),
    ("time", {"stonewall": 1, "rw": "randread", "time_based": 1, "runtime": 1}, None),
    ("rate", {"rw": "randread", "rate_iops": 500, "time_based": 1, "runtime": 1, "write_lat_log": "rate",
              "log_avg_msec": 100}, None),
]


def counts(job):
    return tuple(job[kind]["total_ios"] for kind in ("read", "write", "trim"))


def main():
    fio = Fio(*sys.argv[1:3])
    # Each in a place of its own.
    checksums = [(f"verify-{one}", {"rw": "randwrite", "size": "512k", "offset": f"{i}m", "verify": one, "verify_pattern": "0xdeadbeef"})
                 for i, one in enumerate(CHECKSUMS)]
    jobs = [(name, {"offset": f"{32 * i + 32}m", **options}) for i, (name, options, _) in enumerate(JOBS)]
    status, reports, text = fio.run(checksums + jobs)
    fio.check(status == 0 and not text, f"status {status}:\n{text}")

    expected = {name: (128, 128, 0) for name, _ in checksums} | {name: wanted for name, _, wanted in JOBS}
    for name, wanted in expected.items():
        of = reports.get(name, [])
        fio.check(len(of) == (4 if name == "threads" else 1), f"{name}: {len(of)} reports")
        for job in of:
            fio.check(job["error"] == 0 and job.get("total_err", 0) == 0, f"{name}: error {job['error']}")
            fio.check(counts(job) == wanted if wanted else sum(counts(job)) > 0, f"{name}: {counts(job)} operations, not {wanted}")
            # From the commit to the completion, and before it from the beginning of the operation.
            for kind in ("read", "write", "trim"):
                if job[kind]["total_ios"]:
                    fio.check(0 < job[kind]["clat_ns"]["mean"] <= job[kind]["lat_ns"]["mean"], f"{name}: latencies of {kind}")
                    fio.check(job[kind]["slat_ns"]["N"] > 0, f"{name}: no slat of {kind}")
    mixed = reports["mixed"][0]
    fio.check(min(counts(mixed)[:2]) > 500, f"mixed: {counts(mixed)}")
    # One behind every 64 writes, none for the last ones; fio counts no fdatasync.
    syncs = reports["fsync"][0]["sync"]["total_ios"]
    fio.check(syncs == 31, f"fsync: {syncs} syncs")
    iops = reports["rate"][0]["read"]["iops"]
    # A loaded machine may be slower.
    fio.check(0 < iops < 550, f"rate: {iops} a second, more than 500")
    fio.check(len(glob.glob(fio.path("rate_*lat*.log"))) >= 3, "no logs of latencies")

    status, reports, text = fio.run([("a", {"rw": "randread", "time_based": 1, "runtime": 1})], "--status-interval=300ms",
                                    "--output-format=json+")
    fio.check(status == 0 and len(fio.documents) >= 3, f"status interval: {status}, {len(fio.documents)} reports\n{text}")
    fio.check("bins" in fio.documents[-1]["jobs"][0]["read"]["clat_ns"], "json+ has no bins")
    status, reports, text = fio.run([("a", {"rw": "randwrite", "verify": "crc32c", "size": "1m", "numjobs": 2})], thread=None)
    fio.check(status == 0 and [counts(job) for job in reports["a"]] == [(256, 256, 0)] * 2, f"processes: {status}\n{text}")
    # In a file name, fio splits at colons that are not escaped.
    name = fio.controller.replace(":", "\\:")
    status, reports, text = fio.run([("a", {"rw": "randread", "filename": name})], controller=None)
    fio.check(status == 0 and counts(reports["a"][0]) == (2048, 0, 0), f"filename: {status}\n{text}")
    fio.finish(f"jobs on {fio.controller}")


if __name__ == "__main__":
    main()
