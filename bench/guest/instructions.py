#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions for each operation: random reads of 4 KiB by xio-tester and by fio's engines, xio's among them, on one NVMe drive of a guest.

scripts/bench-guest --instructions runs `measure` in the guest, whose QEMU has the plugin of instructions.cpp, and then
`report` outside of it. The plugin writes its counts with each 16th doorbell: from the end of the first quarter of a
program's doorbells to its last line there, there is nothing of its start and of its end. Instructions for each doorbell,
times the program's doorbells, divided by its operations, are instructions for each operation. fio's null engine has no
doorbells: what a run of NULL_TIMES as many operations takes more than another is divided by what it does more.
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
ENGINE_TIMES = 4  # and so does fio with xio's engine
NULL_TIMES = 32

# As xio-tester report runs them (bench/tester/report/fio.cpp).
URING = ["--ioengine=io_uring", "--direct=1"]
FIXED = ["--fixedbufs"]
POLLED = ["--hipri", "--fixedbufs", "--registerfiles"]
URING_CMD = ["--ioengine=io_uring_cmd", "--cmd_type=nvme", *POLLED]
ENGINES = {
    "psync": ["--ioengine=psync", "--direct=1"],
    "libaio": ["--ioengine=libaio", "--direct=1"],
    "io_uring": URING,
    "io_uring, fixed buffers": [*URING, *FIXED],
    "io_uring, fixed buffers, registered files": [*URING, *FIXED, "--registerfiles"],
    "io_uring, polled, registered": [*URING, *POLLED],
    "io_uring_cmd, polled, registered": URING_CMD,
    "io_uring_cmd, polled, registered, gtod_reduce": [*URING_CMD, "--gtod_reduce=1"],
}
# By vfio, and without a drive.
OTHERS = {
    "xio": [],
    "xio, gtod_reduce": ["--gtod_reduce=1"],
    "null": ["--ioengine=null"],
    "null, gtod_reduce": ["--ioengine=null", "--gtod_reduce=1"],
}
SHAPES = "1x1,64x1,64x16,64x64"  # depth and batch


def shapes(text):
    return [tuple(map(int, one.split("x"))) for one in text.split(",")]


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
    words = ["fio", "--name=xio", "--readonly", "--output-format=json", "--thread", *{**ENGINES, **OTHERS}[engine]]
    words += [f"--filename={node}", "--rw=randread", "--norandommap", f"--bs={BLOCK}", f"--iodepth={depth}"]
    if batch > 1:
        words += [f"--iodepth_batch_submit={batch}", "--iodepth_batch_complete_min=1"]
        words += [f"--iodepth_batch_complete_max={depth}"]
    words += [f"--size={SPAN}", f"--io_size={operations * BLOCK}", "--lat_percentiles=1", "--clat_percentiles=0"]
    return words


def run_engine(options, engine, depth, batch, operations):
    words = run_fio(engine, "drive", depth, batch, operations)
    if engine.startswith("xio"):
        words += [f"--ioengine=external:{options.engine}", f"--controller={options.controller}"]
    return words


def run_xio(tester, controller, depth, batch, operations):
    words = [tester, "nvme-ep", "--controller", controller, "--executor", "host", "--read-io", str(operations), "--lbas-per-io", "8"]
    return [*words, "--access-pattern", "random", "--depth", str(depth), "--batch-size", str(batch)]


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
    for depth, batch in options.shapes:
        # Name of the row, words of a run of so many operations, and the operations of its runs.
        rows = []
        if options.disk:
            for engine in ENGINES:
                if engine != "psync" or depth == 1:
                    rows.append((f"fio {engine}", lambda n, e=engine: run_fio(e, options.disk, depth, batch, n), [options.operations]))
        else:
            rows.append(("xio", lambda n: run_xio(options.tester, options.controller, depth, batch, n), [options.operations * XIO_TIMES]))
            for engine in OTHERS if options.engine else []:
                few = options.operations
                times = [few, few * NULL_TIMES] if engine.startswith("null") else [few * ENGINE_TIMES]
                rows.append((f"fio {engine}", lambda n, e=engine: run_engine(options, e, depth, batch, n), times))
        run_rows(marks, rows, depth, batch, options.runs)


def run_rows(marks, rows, depth, batch, runs):
    for name, words_of, times in rows:
        done = []
        for operations in times * runs:
            words = words_of(operations)
            marks.set()
            ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            marks.set()
            if ended.returncode != 0:
                sys.exit(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout}")
            done.append(fio_operations(ended.stdout) if name.startswith("fio") else operations)
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


def counts_of_more(few, more, operations):
    """Counts for each operation that the second run, between its marks, has more than the first one."""
    whole = [{name: run[-1][name] - run[0][name] for name in COUNTED} for run in (few, more)]
    return {name: (whole[1][name] - whole[0][name]) / (operations[1] - operations[0]) for name in COUNTED}


def is_null(submitter):
    return submitter.startswith("fio null")


def counts_of_pairs(row, runs):
    """counts_of_more() of the first and second run, the third and fourth, and so on."""
    return [counts_of_more(runs[i], runs[i + 1], row["operations"][i : i + 2]) for i in range(0, len(runs), 2)]


def figures_of(row, runs):
    """Counts for each operation of a row's runs."""
    if is_null(row["submitter"]):
        # An operation has none in the kernel, and those of a program's start and end are not alike.
        return median_of(row, [{**counts, "kernel": 0.0} for counts in counts_of_pairs(row, runs)])
    return median_of(row, [counts_of(run, of) for run, of in zip(runs, row["operations"], strict=True)])


def median_of(row, counted):
    """The row with the counts that have the median of the instructions, and how far all are apart."""
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


def read_rows(options, figures=figures_of):
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
            rows.append(figures(row, runs[:used]))
            del runs[:used]
    if runs or not rows:
        sys.exit("bench-guest: the plugin's lines do not belong to the rows")
    return kernel, sorted(rows, key=lambda row: (row["depth"], row["submitter"] != "xio"))


def is_kernels(row):
    """Whether it is a row of fio by the kernel, with all that fio does by default."""
    return row["submitter"] != "xio" and not row["submitter"].startswith(tuple("fio " + name for name in OTHERS)) and "gtod" not in row["submitter"]


def compare_tool(rows):
    """fio on both sides, for each shape: what an operation takes by the kernel's best engine and by xio, and without fio's own part."""
    found = {(row["submitter"], row["depth"], row["batch"]): row["instructions"] for row in rows}
    compared = []
    for suffix in "", ", gtod_reduce":
        for depth, batch in sorted({(row["depth"], row["batch"]) for row in rows}):
            kernel, xio, null = (
                found.get((f"fio {name}{suffix}", depth, batch)) for name in ("io_uring_cmd, polled, registered", "xio", "null")
            )
            if None not in (kernel, xio, null):
                compared.append(
                    {
                        "clock": "gtod_reduce" if suffix else "each operation",
                        "depth": depth,
                        "batch": batch,
                        "kernel": kernel,
                        "xio": xio,
                        "null": null,
                        "ratio": xio / kernel,
                        "kernel_client": kernel - null,
                        "xio_client": xio - null,
                    }
                )
    return compared


def compare(rows):
    """For each depth: the row of xio and the row of fio with the fewest instructions, whatever their batches."""
    compared = []
    for depth in sorted({row["depth"] for row in rows}):
        xio, fio = (
            min(
                (row for row in rows if row["depth"] == depth and (row["submitter"] == "xio" if ours else is_kernels(row))),
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
    yield f"| each row | {report['runs']} runs of {operations} operations, of xio {operations * XIO_TIMES}, of fio with xio {operations * ENGINE_TIMES} |\n"
    yield "Random reads of 4 KiB. The drive answers before the submitter's next instruction: nobody waits, and no poll is in vain."
    yield "`xio` is xio-tester, a loop around the library; `fio xio` is [fio with xio's engine](../fio.md); `fio null` is fio without a drive.\n"
    if report["tool"]:
        yield "## The same tool on both sides\n"
        yield "fio by its fastest engine of the kernel (io_uring_cmd, polled, registered buffers and files), and fio by xio. *Client* is what is left"
        yield "without fio's own part, which its null engine shows; fio reads the clock for each operation, with gtod_reduce for none.\n"
        yield "| clock | depth | batch | fio io_uring_cmd | fio xio | xio / io_uring_cmd | fio null | client io_uring_cmd | client xio |"
        yield "|---|---|---|---|---|---|---|---|---|"
        for one in report["tool"]:
            words = [one["clock"], str(one["depth"]), str(one["batch"]), f"{one['kernel']:.0f}", f"{one['xio']:.0f}", f"{one['ratio']:.2f}"]
            words += [f"{one[name]:.0f}" for name in ("null", "kernel_client", "xio_client")]
            yield f"| {' | '.join(words)} |"
        yield ""
    yield "## A thin tool and fio\n"
    yield "xio-tester has less to do for an operation than fio: this compares two tools as well as two ways to a drive. Each side's best row:\n"
    yield "| depth | xio | fio | xio / fio |\n|---|---|---|---|"
    for one in report["compared"]:
        sides = [f"{row['instructions']:.0f} ({row['submitter']}, batch {row['batch']})" for row in (one["xio"], one["fio"])]
        yield f"| {one['depth']} | {sides[0]} | {sides[1]} | {one['ratio']:.3f} |"
    yield "\n## All rows\n"
    yield "| submitter | depth | batch | instructions | user | kernel | SQ doorbells | CQ doorbells | runs differ by |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in report["rows"]:
        counts = [f"{row[name]:.0f}" for name in ["instructions", "user", "kernel"]]
        counts += [f"{row[name]:.3f}" for name in ["sq_doorbells", "cq_doorbells"]]
        words = [row["submitter"], str(row["depth"]), str(row["batch"]), *counts, f"{row['runs_differ']:.2%}"]
        yield f"| {' | '.join(words)} |"


GOALS = {1: 1 / 5, 64: 1 / 10}  # instructions of xio by those of fio, each in its best row, at most
MOST_DIFFERENCE = 0.02  # between runs
# fio on both sides, depth 64, batch 16.
MOST_CLIENT = 180  # instructions of xio's engine
MOST_OF_KERNEL = {"each operation": 0.425, "gtod_reduce": 0.35}  # fio + xio by fio + io_uring_cmd, of which fio itself is 0.39 and 0.31


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
    for one in report["tool"]:
        if (one["depth"], one["batch"]) != (64, 16):
            continue
        if one["xio_client"] > MOST_CLIENT:
            faults.append(f"fio xio: {one['xio_client']:.0f} instructions of the client, more than {MOST_CLIENT}")
        if one["ratio"] > MOST_OF_KERNEL[one["clock"]]:
            faults.append(f"fio xio: {one['ratio']:.3f} of io_uring_cmd's, more than {MOST_OF_KERNEL[one['clock']]}")
    if faults:
        sys.exit("bench-guest: " + "; ".join(faults))


def facts_of(options, kernel, rows):
    return {
        "kernel": kernel,
        "QEMU": options.qemu,
        "fio": options.fio,
        "commit": options.commit,
        "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
        "runs": options.runs,
        "operations": options.operations,
        "rows": rows,
    }


def write_report(options):
    kernel, rows = read_rows(options)
    report = {**facts_of(options, kernel, rows), "tool": compare_tool(rows), "compared": compare(rows)}
    pages.write(options.output, "instructions", markdown(report), report, list(rows[0]))
    if options.check:
        check(report)


def add_options(inside, outside):
    """What both commands of a program that counts take."""
    inside.add_argument("--testdev", required=True, help="PCI address of pci-testdev")
    for name in ["log", "marks", "output", "qemu", "fio", "commit"]:
        outside.add_argument(f"--{name}", required=True)
    outside.add_argument("--check", action="store_true")
    for command in inside, outside:
        command.add_argument("--operations", type=int, required=True)
        command.add_argument("--runs", type=int, required=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    inside = commands.add_parser("measure", help="in the guest: fio with --disk, xio-tester with --tester")
    inside.add_argument("--disk")
    inside.add_argument("--tester")
    inside.add_argument("--controller")
    inside.add_argument("--engine", help="xio's engine of fio")
    inside.add_argument("--shapes", type=shapes, default=SHAPES, help="depth and batch of each row: %(default)s")
    add_options(inside, commands.add_parser("report"))
    options = parser.parse_args()
    if options.command == "measure":
        measure(options)
    else:
        write_report(options)


if __name__ == "__main__":
    main()
