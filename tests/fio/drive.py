#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drive.py ENGINE: what fio + xio writes is in QEMU's image, a changed byte is found, and a QEMU that is killed ends the job."""
import errno
import os
import signal
import subprocess
import sys
import time

from fio import Fio

SIZE = 8 << 20
BLOCK = 4096


def data(fio):
    image = fio.path("image")
    spec = f"qemu:image={image},size=8M"
    job = {"rw": "randwrite", "verify": "crc32c"}
    # The image belongs to one QEMU: fio's child opens it when its parent has closed it.
    for thread in 1, None:
        status, _, text = fio.run([("a", {**job, "do_verify": 0, "end_fsync": 1})], controller=spec, thread=thread)
        fio.check(status == 0, f"write: {status}\n{text}")
    check = {**job, "verify_only": 1}
    status, _, text = fio.run([("a", check)], controller=spec)
    fio.check(status == 0, f"verify: {status}\n{text}")

    place = 777 * BLOCK + 1234
    with open(image, "r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))
    status, reports, text = fio.run([("a", check)], controller=spec)
    fio.check(status != 0 and reports["a"][0]["error"] == errno.EILSEQ and f"offset {777 * BLOCK}" in text,
              f"a changed byte: {status}\n{text}")

    # A pattern, of which the second half is trimmed: the blocks of the image that a trim covers read as zeros.
    status, _, text = fio.run([("a", {"rw": "write", "buffer_pattern": "0xab", "end_fsync": 1}),
                               ("b", {"stonewall": 1, "rw": "trim", "bs": "64k", "offset": "4m", "size": "4m", "end_fsync": 1})],
                              controller=spec)
    with open(image, "rb") as file:
        halves = file.read(SIZE // 2), file.read(SIZE // 2)
    fio.check(status == 0 and halves == (b"\xab" * (SIZE // 2), bytes(SIZE // 2)), f"trim: {status}\n{text}")


def has_read(fio, running):
    """Waits until fio reports that a read has ended: the engine that loses its QEMU before starts another one, of which nobody knows."""
    until = time.monotonic() + 100
    while running.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
        try:
            if any(job["read"]["total_ios"] for job in fio.reports().get("a", [])):
                return True
        except ValueError:
            pass  # fio is writing it
    return False


def loss(fio, **options):
    """QEMU is killed while a job reads, as fast as it can, and seldom."""
    image = fio.path("lost")
    for rate in {}, {"rate_iops": 200}:
        job = {"rw": "randread", "time_based": 1, "runtime": 60, "continue_on_error": "all", **rate}
        words = fio.words([("a", job)], "--status-interval=300ms", controller=f"qemu:image={image},size=8M", **options)
        with open(fio.path("out.json"), "w", encoding="utf-8"):
            pass  # what the job before reported
        with subprocess.Popen(words, cwd=fio.folder.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            found = []
            if has_read(fio, running):
                found = subprocess.run(["pgrep", "-f", f"qemu-system.*{image}"], stdout=subprocess.PIPE, text=True,
                                       check=False).stdout.split()
            for pid in found:
                os.kill(int(pid), signal.SIGKILL)
            killed = time.monotonic()
            try:
                text, _ = running.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                running.kill()
                text = "fio does not end"
            took = time.monotonic() - killed
        # Some 0.15 s where the processors are free.
        fio.check(found and running.returncode != 0 and took < 5, f"loss: status {running.returncode} after {took:.1f} s\n{text}")
        fio.check([line.startswith("xio: QEMU is gone: killed by signal 9") for line in text.splitlines()].count(True) == 1, f"loss:\n{text}")
        errors = [one["error"] for one in fio.reports().get("a", [])]
        fio.check(errors == [errno.ENODEV], f"loss: errors {errors}")
        print(f"ended {took:.2f} s after its drive")


def main():
    fio = Fio(sys.argv[1], "qemu")
    data(fio)
    loss(fio)
    fio.finish("a drive of QEMU's")


if __name__ == "__main__":
    main()
