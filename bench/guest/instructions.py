#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions for each operation: random reads of 4 KiB by xio-tester and by fio's engines on one NVMe drive of a guest.

scripts/bench-guest --instructions runs `measure` in the guest, whose QEMU has the plugin of instructions.cpp, and then
`report` outside of it. The plugin writes its counts with each 16th doorbell: from the end of the first quarter of a
program's doorbells to its last line there, there is nothing of its start and of its end. Instructions for each doorbell,
times the program's doorbells, divided by its operations, are instructions for each operation.
"""

import argparse
import ctypes
import datetime
import json
import mmap
import pathlib
import platform
import statistics
import subprocess
import sys

import pages

BLOCK = 4096
SPAN = 64 << 20
XIO_TIMES = 16  # xio runs so many times the operations of fio: each of them has fewer instructions

# As xio-tester report runs them (bench/tester/report/fio.cpp).
ENGINES = {
    "psync": ["--ioengine=psync", "--direct=1"],
    "libaio": ["--ioengine=libaio", "--direct=1"],
    "io_uring": ["--ioengine=io_uring", "--direct=1"],
    "io_uring, polled, registered": [
        "--ioengine=io_uring",
        "--direct=1",
        "--hipri",
        "--fixedbufs",
        "--registerfiles",
    ],
    "io_uring_cmd, polled, registered": [
        "--ioengine=io_uring_cmd",
        "--cmd_type=nvme",
        "--hipri",
        "--fixedbufs",
        "--registerfiles",
    ],
}
SHAPES = [(1, 1), (64, 1), (64, 16), (64, 64)]  # depth, batch


class Marks:
    """A register of pci-testdev, each store to which makes the plugin write down its counts."""

    def __init__(self, bdf):
        folder = pathlib.Path("/sys/bus/pci/devices") / bdf
        (folder / "enable").write_text("1", encoding="ascii")
        with open(folder / "resource0", "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        # Without a chosen test the device ignores stores here.
        self.register = ctypes.c_uint32.from_buffer(self.memory, 64)

    def set(self):
        self.register.value = 0


def run_fio(engine, disk, depth, batch, operations):
    node = disk.replace("/dev/nvme", "/dev/ng") if engine.startswith("io_uring_cmd") else disk
    words = ["fio", "--name=xio", "--readonly", "--output-format=json", "--thread", *ENGINES[engine]]
    words += [f"--filename={node}", "--rw=randread", "--norandommap", f"--bs={BLOCK}", f"--iodepth={depth}"]
    if batch > 1:
        words += [f"--iodepth_batch_submit={batch}", "--iodepth_batch_complete_min=1"]
        words += [f"--iodepth_batch_complete_max={depth}"]
    words += [f"--size={SPAN}", f"--io_size={operations * BLOCK}", "--lat_percentiles=1", "--clat_percentiles=0"]
    return words


def run_xio(tester, controller, depth, batch, operations):
    return [
        tester,
        "nvme-ep",
        "--controller",
        controller,
        "--executor",
        "host",
        "--read-io",
        str(operations),
        "--lbas-per-io",
        "8",
        "--access-pattern",
        "random",
        "--depth",
        str(depth),
        "--batch-size",
        str(batch),
    ]


def fio_operations(text):
    """Operations that fio has done, by its own account; warnings may precede its object."""
    job = json.loads(text[text.index("{") :])["jobs"][0]
    if job["error"]:
        sys.exit(f"fio failed with error {job['error']}")
    return job["read"]["total_ios"]


def measure(options):
    """Prints a line of JSON for each row: what ran, and the operations of each run, which has a mark before and behind."""
    marks = Marks(options.testdev)
    print("kernel " + platform.release())
    for depth, batch in SHAPES:
        for submitter in ENGINES if options.disk else ["xio"]:
            if submitter == "psync" and depth != 1:
                continue
            done = []
            for _ in range(options.runs):
                operations = options.operations * (1 if options.disk else XIO_TIMES)
                if options.disk:
                    words = run_fio(submitter, options.disk, depth, batch, operations)
                else:
                    words = run_xio(options.tester, options.controller, depth, batch, operations)
                marks.set()
                ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                marks.set()
                if ended.returncode != 0:
                    sys.exit(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout}")
                done.append(fio_operations(ended.stdout) if options.disk else operations)
            name = f"fio {submitter}" if options.disk else submitter
            row = {"submitter": name, "depth": depth, "batch": batch, "operations": done}
            print("row " + json.dumps(row), flush=True)


COUNTED = ["user", "kernel", "sq_doorbells", "cq_doorbells"]


def counts_of(run, operations):
    """Counts for each operation of one run, whose lines are from mark to mark."""
    doorbells = run[-1]["sq_doorbells"] - run[0]["sq_doorbells"]
    inner = run[1:-1]
    begin, end = inner[len(inner) // 4], inner[-1]
    scale = doorbells / operations / (end["sq_doorbells"] - begin["sq_doorbells"])
    return {name: (end[name] - begin[name]) * scale for name in COUNTED}


def figures_of(row, runs):
    """Counts for each operation: of the run with the median of the instructions, and how far the runs are apart."""
    counted = [counts_of(run, operations) for run, operations in zip(runs, row["operations"], strict=True)]
    totals = sorted(run["user"] + run["kernel"] for run in counted)
    middle = totals[(len(totals) - 1) // 2]
    chosen = next(run for run in counted if run["user"] + run["kernel"] == middle)
    return {
        "submitter": row["submitter"],
        "depth": row["depth"],
        "batch": row["batch"],
        "instructions": middle,
        **chosen,
        "runs_differ": (totals[-1] - totals[0]) / statistics.mean(totals),
    }


def read_marks(path):
    """The plugin's lines, for each run of a program those from the mark before it to the mark behind it."""
    runs = []
    inside = False
    with open(path, encoding="ascii") as file:
        for line in file:
            why, *numbers = line.split()
            counts = dict(zip([*COUNTED, "late"], map(int, numbers), strict=True))
            if counts["late"]:
                sys.exit("bench-guest: QEMU's main thread did not come to rest after a doorbell")
            if why == "mark":
                inside = not inside
                if inside:
                    runs.append([])
            if inside or why == "mark":
                runs[-1].append(counts)
    return runs


def read_rows(options):
    runs = read_marks(options.marks)
    rows = []
    kernel = ""
    with open(options.log, encoding="utf-8") as file:
        for line in file:
            if line.startswith("kernel "):
                kernel = line.split()[1]
            if not line.startswith("row "):
                continue
            row = json.loads(line[len("row ") :])
            used = len(row["operations"])
            rows.append(figures_of(row, runs[:used]))
            del runs[:used]
    if runs or not rows:
        sys.exit("bench-guest: the plugin's lines do not belong to the rows")
    return kernel, sorted(rows, key=lambda row: (row["depth"], row["submitter"] != "xio"))


def compare(rows):
    """For each depth: the row of xio and the row of fio with the fewest instructions, whatever their batches."""
    compared = []
    for depth in sorted({row["depth"] for row in rows}):
        xio, fio = (
            min(
                (row for row in rows if row["depth"] == depth and (row["submitter"] == "xio") == ours),
                key=lambda row: row["instructions"],
            )
            for ours in (True, False)
        )
        compared.append({"depth": depth, "xio": xio, "fio": fio, "ratio": xio["instructions"] / fio["instructions"]})
    return compared


def markdown(report):
    yield "# Instructions for each operation: xio and fio (guest under TCG)\n\n| | |\n|---|---|"
    for name in ["kernel", "QEMU", "fio", "commit", "date"]:
        yield f"| {name} | {report[name]} |"
    operations = report["operations"]
    yield f"| each row | {report['runs']} runs of {operations} operations, of xio {operations * XIO_TIMES} |\n"
    yield "Random reads of 4 KiB. The drive answers before the submitter's next instruction: nobody waits, and no poll is in vain.\n"
    yield "| submitter | depth | batch | instructions | user | kernel | SQ doorbells | CQ doorbells | runs differ by |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in report["rows"]:
        counts = [f"{row[name]:.0f}" for name in ["instructions", "user", "kernel"]]
        counts += [f"{row[name]:.3f}" for name in ["sq_doorbells", "cq_doorbells"]]
        words = [row["submitter"], str(row["depth"]), str(row["batch"]), *counts, f"{row['runs_differ']:.2%}"]
        yield f"| {' | '.join(words)} |"
    yield "\nEach side's best row:\n\n| depth | xio | fio | xio / fio |\n|---|---|---|---|"
    for one in report["compared"]:
        sides = [f"{row['instructions']:.0f} ({row['submitter']}, batch {row['batch']})" for row in (one["xio"], one["fio"])]
        yield f"| {one['depth']} | {sides[0]} | {sides[1]} | {one['ratio']:.3f} |"


GOALS = {1: 1 / 5, 64: 1 / 10}  # instructions of xio by those of fio, each in its best row, at most
MOST_DIFFERENCE = 0.02  # between runs


def check(report):
    faults = [
        f"depth {one['depth']}: {one['ratio']:.3f} of fio's, more than {GOALS[one['depth']]}"
        for one in report["compared"]
        if one["ratio"] > GOALS[one["depth"]]
    ]
    faults += [
        f"{row['submitter']}, depth {row['depth']}, batch {row['batch']}: runs differ by {row['runs_differ']:.2%}"
        for row in report["rows"]
        if row["runs_differ"] > MOST_DIFFERENCE
    ]
    if faults:
        sys.exit("bench-guest: " + "; ".join(faults))


def write_report(options):
    kernel, rows = read_rows(options)
    report = {
        "kernel": kernel,
        "QEMU": options.qemu,
        "fio": options.fio,
        "commit": options.commit,
        "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
        "runs": options.runs,
        "operations": options.operations,
        "rows": rows,
        "compared": compare(rows),
    }
    pages.write(options.output, "instructions", markdown(report), report, list(rows[0]))
    if options.check:
        check(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    inside = commands.add_parser("measure", help="in the guest: fio with --disk, xio-tester with --tester")
    inside.add_argument("--testdev", required=True, help="PCI address of pci-testdev")
    inside.add_argument("--disk")
    inside.add_argument("--tester")
    inside.add_argument("--controller")
    outside = commands.add_parser("report")
    for name in ["log", "marks", "output", "qemu", "fio", "commit"]:
        outside.add_argument(f"--{name}", required=True)
    outside.add_argument("--check", action="store_true")
    for command in inside, outside:
        command.add_argument("--operations", type=int, required=True)
        command.add_argument("--runs", type=int, required=True)
    options = parser.parse_args()
    if options.command == "measure":
        measure(options)
    else:
        write_report(options)


if __name__ == "__main__":
    main()
