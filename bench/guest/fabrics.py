#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions for each operation over RDMA: random reads of 4 KiB by xio-tester, and by fio through the kernel's nvme-rdma.

Both ask one target of the kernel (nvmet) through soft-RoCE, all in the guest of scripts/bench-guest --fabrics, whose one processor executes
what is counted: the submitter, soft-RoCE on both sides of the network, and the target. It runs each row with few operations and with MORE
times as many, and divides the difference. Programs run as SCHED_IDLE, so that the kernel's threads go first. What is left of polling in vain is
counted: in user space for xio, in the kernel for fio's polled engine.
"""

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import time

import instructions
import pages

MORE = 5
# Not io_uring_cmd: polled, it ends Linux 6.1 (nvme_ns_head_chr_uring_cmd_iopoll looks at a bio that was freed).
ENGINES = ["io_uring", "io_uring, fixed buffers, registered files", "io_uring, polled, registered"]
TARGET = {"traddr": "10.9.0.1", "trsvcid": "4420", "nqn": "xio-null"}  # of tests/guest/nvmet.sh
IDLE = ["chrt", "-i", "0"]


def words_of_target():
    return ",".join(f"{key}={value}" for key, value in TARGET.items())


class KernelHost:
    """A controller that the kernel's host drives, with a queue for interrupts and one for polling."""

    def __enter__(self):
        node = os.open("/dev/nvme-fabrics", os.O_RDWR)
        os.write(node, f"transport=rdma,{words_of_target()},nr_io_queues=1,nr_poll_queues=1".encode())
        said = os.read(node, 4096).decode()
        os.close(node)
        self.instance = said.split(",")[0].split("=")[1]
        self.disk = f"/dev/nvme{self.instance}n1"
        for _ in range(200):
            if os.path.exists(self.disk):
                return self
            time.sleep(0.05)
        sys.exit(f"the kernel's host has no {self.disk}: {said}")

    def __exit__(self, *_):
        pathlib.Path(f"/sys/class/nvme/nvme{self.instance}/delete_controller").write_text("1", encoding="ascii")


def warm_up(words):
    """A program's first run also fills caches, of the file system not least."""
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def measure(options):
    """Prints the lines of instructions.measure()."""
    marks = instructions.Marks(options.testdev)
    print("kernel " + platform.release())
    times = [options.operations, options.operations * MORE]
    with KernelHost() as host:
        warm_up(instructions.run_fio(ENGINES[0], host.disk, 1, 1, 16))
        for depth, batch in options.shapes:

            def fio(engine, depth=depth, batch=batch):
                own = [options.operations, options.operations * instructions.NULL_TIMES] if engine == "null" else times
                return f"fio {engine}", lambda n: [*IDLE, *instructions.run_fio(engine, host.disk, depth, batch, n)], own

            instructions.run_rows(marks, [fio(engine) for engine in [*ENGINES, "null"]], depth, batch, options.runs)
    target = "fabrics:" + words_of_target()
    warm_up(instructions.run_xio(options.tester, target, 1, 1, 16))
    for depth, batch in options.shapes:

        def xio(operations, depth=depth, batch=batch):
            return [*IDLE, *instructions.run_xio(options.tester, target, depth, batch, operations)]

        instructions.run_rows(marks, [("xio", xio, times)], depth, batch, options.runs)


def figures_of(row, runs):
    return instructions.median_of(row, instructions.counts_of_pairs(row, runs))


def compare(rows):
    """For each shape: xio, the engine of fio with the fewest instructions, and fio's own part."""
    compared = []
    for shape in sorted({(row["depth"], row["batch"]) for row in rows}):
        of_shape = {row["submitter"]: row for row in rows if (row["depth"], row["batch"]) == shape}
        xio, null = of_shape.pop("xio"), of_shape.pop("fio null")
        fio = min(of_shape.values(), key=lambda row: row["instructions"])
        ratios = {name: xio[name] / fio[name] for name in ("instructions", "kernel")}
        compared.append({"depth": shape[0], "batch": shape[1], "xio": xio, "fio": fio, "null": null, "ratios": ratios})
    return compared


def markdown(report):
    yield "# Instructions for each operation over RDMA: xio and the kernel's nvme-rdma (guest under TCG)\n\n| | |\n|---|---|"
    for name in ["kernel", "QEMU", "fio", "commit", "date"]:
        yield f"| {name} | {report[name]} |"
    operations = report["operations"]
    yield f"| each row | {report['runs']} times the difference of {operations} and {operations * MORE} operations |\n"
    yield "Random reads of 4 KiB from one target of the kernel (nvmet, null_blk), through soft-RoCE, all on the guest's one processor. Each count is"
    yield "of everything that it executes. **Most of it is neither side's**: soft-RoCE's own work, for both ends, and the target's, which a network card"
    yield "and another machine would do, are in the kernel column of both. xio itself makes one system call for each doorbell there; nvme-rdma has the"
    yield "block layer, registers the memory of each command, and is interrupted. xio's user column has its polls while the kernel's threads of soft-RoCE"
    yield "and of the target have not finished; without waiting an operation takes it some hundred instructions ([on a drive](guest-instructions.md)).\n"
    yield "| depth | batch | xio | fio, best engine | xio / fio | in the kernel: xio | fio | xio / fio | fio null, user |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for one in report["compared"]:
        xio, fio, ratios = one["xio"], one["fio"], one["ratios"]
        words = [one["depth"], one["batch"], f"{xio['instructions']:.0f}", f"{fio['instructions']:.0f} ({fio['submitter']})"]
        words += [f"{ratios['instructions']:.2f}", f"{xio['kernel']:.0f}", f"{fio['kernel']:.0f}", f"{ratios['kernel']:.2f}", f"{one['null']['user']:.0f}"]
        yield f"| {' | '.join(map(str, words))} |"
    yield "\n## All rows\n"
    yield "| submitter | depth | batch | instructions | user | kernel | runs differ by |\n|---|---|---|---|---|---|---|"
    for row in report["rows"]:
        counts = [f"{row[name]:.0f}" for name in ["instructions", "user", "kernel"]]
        yield f"| {' | '.join([row['submitter'], str(row['depth']), str(row['batch']), *counts])} | {row['runs_differ']:.2%} |"


MOST_RATIOS = {"instructions": 1.3, "kernel": 1.05}  # of xio's by fio's
MOST_DIFFERENCE = 0.05  # between runs


def check(report):
    faults = [
        f"{row['submitter']}, depth {row['depth']}, batch {row['batch']}: runs differ by {row['runs_differ']:.2%}"
        for row in report["rows"]
        if row["runs_differ"] > MOST_DIFFERENCE
    ]
    faults += [
        f"depth {one['depth']}, batch {one['batch']}: {one['ratios'][name]:.2f} of fio's {name}, more than {most}"
        for one in report["compared"]
        for name, most in MOST_RATIOS.items()
        if one["ratios"][name] > most
    ]
    if faults:
        sys.exit("bench-guest: " + "; ".join(faults))


def write_report(options):
    kernel, rows = instructions.read_rows(options, figures_of)
    report = {**instructions.facts_of(options, kernel, rows), "compared": compare(rows)}
    pages.write(options.output, "fabrics", markdown(report), report, list(rows[0]))
    if options.check:
        check(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    inside = commands.add_parser("measure", help="in the guest")
    inside.add_argument("--tester", required=True)
    inside.add_argument("--shapes", type=instructions.shapes, default="1x1,64x16", help="depth and batch of each row: %(default)s")
    instructions.add_options(inside, commands.add_parser("report"))
    options = parser.parse_args()
    if options.command == "measure":
        measure(options)
    else:
        write_report(options)


if __name__ == "__main__":
    main()
