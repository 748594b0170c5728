#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the client adds to a drive's latency in a guest: xio-tester's latencies beside those of QEMU's block layer.

scripts/bench-guest --client runs `serve` beside QEMU, `measure` in the guest, and then `report`. For each row the guest
tells `serve` through a serial port that it begins and ends; `serve` then sets and reads the accounting of the drive
through QMP (block-latency-histogram-set, query-blockstats).
"""

import argparse
import bisect
import datetime
import json
import pathlib
import platform
import socket
import subprocess
import sys
import time

import pages

BLOCK = 4096
SHAPES = [(1, 1), (16, 1), (16, 16), (64, 1), (64, 16)]  # depth, batch
RESOLUTION = 0.01  # of the boundaries of QEMU's histogram
FIRST_NS, LAST_NS = 100, 10_000_000_000
PORT = "rows"  # name of the serial port


def boundaries():
    values = [FIRST_NS]
    while values[-1] < LAST_NS:
        values.append(max(values[-1] + 1, int(values[-1] * (1 + RESOLUTION))))
    return values


def percentile(edges, bins, share):
    """Upper end of the bin that holds the operation at `share`, in ns; bin i is below edges[i]."""
    counts = []
    for count in bins:
        counts.append(count + (counts[-1] if counts else 0))
    index = bisect.bisect_left(counts, share * counts[-1])
    return edges[min(index, len(edges) - 1)]


# Beside QEMU.


class Monitor:
    """QEMU's QMP."""

    def __init__(self, stream):
        self.stream = stream
        self.stream.readline()  # greeting
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        words = {"execute": command} | ({"arguments": arguments} if arguments else {})
        self.stream.write(json.dumps(words) + "\n")
        self.stream.flush()
        while True:
            answer = json.loads(self.stream.readline())
            if "error" in answer:
                sys.exit(f"bench-guest: {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def reads(self, drive):
        """What the block layer has counted of a drive's reads."""
        for one in self.ask("query-blockstats"):
            # A path ends in the identifier of the drive, or in that of a part of it.
            if drive in one.get("qdev", "").split("/"):
                return one["stats"]
        sys.exit(f"bench-guest: QEMU has no drive {drive}")


def connect(path):
    """Waits for QEMU, which may also be started a second time."""
    until = time.monotonic() + 300
    while True:
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            return connection.makefile("rw", encoding="utf-8")
        except OSError:
            connection.close()
            if time.monotonic() > until:
                sys.exit(f"bench-guest: nobody listens at {path}")
            time.sleep(0.2)


def serve_guest(options, edges):
    """Answers one guest until it is gone; returns how many rows it has measured."""
    monitor = Monitor(connect(options.qmp))
    port = connect(options.port)
    rows = []
    before = None
    for line in port:
        word, drive, *rest = line.split(maxsplit=2)
        if word == "begin":
            monitor.ask("block-latency-histogram-set", id=drive, **{"boundaries-read": edges})
            before = monitor.reads(drive)
        else:
            after = monitor.reads(drive)
            row = json.loads(rest[0])
            row["qemu_operations"] = after["rd_operations"] - before["rd_operations"]
            row["qemu_ns"] = after["rd_total_time_ns"] - before["rd_total_time_ns"]
            row["qemu_bins"] = after["rd_latency_histogram"]["bins"]
            rows.append(row)
            pathlib.Path(options.rows).write_text(json.dumps(rows) + "\n", encoding="utf-8")
        port.write("go\n")
        port.flush()
    return len(rows)


def serve(options):
    edges = boundaries()
    # A guest that does not come up is started again, and has measured nothing.
    while True:
        try:
            if serve_guest(options, edges):
                return
        except (OSError, json.JSONDecodeError):
            time.sleep(0.2)


# In the guest.


def open_port():
    for name in pathlib.Path("/sys/class/virtio-ports").glob("*/name"):
        if name.read_text(encoding="ascii").strip() == PORT:
            return open(pathlib.Path("/dev") / name.parent.name, "r+b", buffering=0)
    sys.exit(f"bench-guest: the guest has no port {PORT}")


def told(port, words):
    port.write((words + "\n").encode())
    answer = b""
    until = time.monotonic() + 30
    while not answer.endswith(b"\n"):
        # Nothing is read while nobody is connected outside.
        more = port.read(1)
        answer += more
        if not more:
            if time.monotonic() > until:
                sys.exit("bench-guest: nobody answers outside of the guest")
            time.sleep(0.1)


def measure(options):
    print("kernel " + platform.release(), flush=True)
    with open_port() as port:
        for drive in options.drive:
            name, bdf, delay_us = drive.split(",")
            for depth, batch in SHAPES:
                for run in range(options.runs):
                    words = [options.tester, "nvme-ep", "--controller", f"vfio:{bdf},dma=16M", "--executor", "host"]
                    words += ["--read-io", "16384", "--duration", str(options.seconds), "--lbas-per-io", "8"]
                    words += ["--access-pattern", "random", "--depth", str(depth), "--batch-size", str(batch)]
                    told(port, f"begin {name}")
                    ended = subprocess.run([*words, "--json", "-"], capture_output=True, text=True, check=False)
                    if ended.returncode != 0:
                        sys.exit(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")
                    phase = json.loads(ended.stdout)["phases"][0]
                    row = {"device_us": int(delay_us), "depth": depth, "batch": batch, "run": run}
                    row |= {"operations": phase["completed"], "iops": phase["iops"]}
                    row |= {name: phase["latency_us"][name] for name in ["mean", "p50", "p99"]}
                    told(port, f"end {name} {json.dumps(row)}")


# Afterwards.


def figures_of(runs, edges):
    """The run with the median of the p50, and what the client adds in it, in us."""
    row = dict(sorted(runs, key=lambda run: run["p50"])[(len(runs) - 1) // 2])
    bins = row.pop("qemu_bins")
    row["qemu_mean"] = row.pop("qemu_ns") / row["qemu_operations"] / 1e3
    for name, share in [("p50", 0.5), ("p99", 0.99)]:
        row[f"qemu_{name}"] = percentile(edges, bins, share) / 1e3
    for name in ["mean", "p50", "p99"]:
        row[f"added_{name}"] = row[name] - row[f"qemu_{name}"]
    row["counted"] = [[run["operations"], run["qemu_operations"], sum(run["qemu_bins"])] for run in runs]
    return row


COLUMNS = {
    "device_us": "device us",
    "depth": "depth",
    "batch": "batch",
    **{name: f"{name} us" for name in ["mean", "p50", "p99"]},
    **{f"qemu_{name}": f"QEMU {name} us" for name in ["mean", "p50", "p99"]},
    **{f"added_{name}": f"added {name} us" for name in ["mean", "p50", "p99"]},
    "iops": "IOPS",
}


def cell(row, name):
    return f"{row[name]:.2f}" if "_" in name and name != "device_us" or name in ("mean", "p50", "p99") else f"{row[name]:.0f}"


def markdown(report):
    yield "# What the client adds to a drive's latency: reads of 4 KiB (guest under TCG)\n\n| | |\n|---|---|"
    for name in ["kernel", "QEMU", "commit", "date"]:
        yield f"| {name} | {report[name]} |"
    yield f"| each row | {report['runs']} runs of {report['seconds']} s; the one with the median of the p50 is shown |"
    yield f"| resolution | QEMU's percentiles are upper ends of bins {RESOLUTION:.0%} wide, xio-tester's of bins 1/128 wide |\n"
    yield (
        "`QEMU` is the time that QEMU's block layer accounts for the same operations: from its NVMe controller's request to\n"
        "the answer of the drive behind it, `null-co` with the latency in the first column. `added` is everything else that\n"
        "xio-tester measures, and in a guest that is not only xio: the exit that a doorbell takes, QEMU's NVMe controller,\n"
        "which fetches entries, maps addresses and stores completions in another thread, the guest's translated\n"
        "instructions, and with more than one operation in flight also the time that an entry waits for its turn in the\n"
        "controller. A difference of percentiles is not the percentile of differences; that of the means is exact.\n"
    )
    yield "| " + " | ".join(COLUMNS.values()) + " |"
    yield "|" + "---|" * len(COLUMNS)
    for row in report["rows"]:
        yield "| " + " | ".join(cell(row, name) for name in COLUMNS) + " |"


def check(report):
    faults = []
    for row in report["rows"]:
        name = f"{row['device_us']} us, depth {row['depth']}, batch {row['batch']}"
        if any(len(set(counts)) != 1 for counts in row["counted"]):
            faults.append(f"{name}: operations by xio-tester, QEMU and QEMU's histogram: {row['counted']}")
        faults += [f"{name}: {part} {row[part]:.2f} us" for part in ("added_mean", "added_p50") if row[part] <= 0]
        if row["qemu_p50"] < row["device_us"]:
            faults.append(f"{name}: QEMU's p50 is {row['qemu_p50']:.2f} us")
    if len(report["rows"]) != 2 * len(SHAPES):
        faults.append(f"{len(report['rows'])} rows")
    if faults:
        sys.exit("bench-guest: " + "; ".join(faults))


def write_report(options):
    measured = json.loads(pathlib.Path(options.rows).read_text(encoding="utf-8"))
    edges = boundaries()
    runs = {}
    for row in measured:
        runs.setdefault((row["device_us"], row["depth"], row["batch"]), []).append(row)
    kernel = next(
        (line.split()[1] for line in pathlib.Path(options.log).read_text(encoding="utf-8").splitlines() if line.startswith("kernel ")),
        "unknown",
    )
    report = {
        "kernel": kernel,
        "QEMU": options.qemu,
        "commit": options.commit,
        "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
        "runs": options.runs,
        "seconds": options.seconds,
        "resolution": RESOLUTION,
        "rows": [figures_of(one, edges) for one in runs.values()],
    }
    pages.write(options.output, "client", markdown(report), report, list(COLUMNS))
    if options.check:
        check(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    beside = commands.add_parser("serve", help="beside QEMU")
    for name in ["qmp", "port", "rows"]:
        beside.add_argument(f"--{name}", required=True)
    inside = commands.add_parser("measure", help="in the guest")
    inside.add_argument("--tester", required=True)
    inside.add_argument("--drive", action="append", required=True, help="IDENTIFIER,BDF,MICROSECONDS")
    outside = commands.add_parser("report")
    for name in ["log", "rows", "output", "qemu", "commit"]:
        outside.add_argument(f"--{name}", required=True)
    outside.add_argument("--check", action="store_true")
    for command in inside, outside:
        command.add_argument("--seconds", type=float, required=True)
        command.add_argument("--runs", type=int, required=True)
    options = parser.parse_args()
    {"serve": serve, "measure": measure, "report": write_report}[options.command](options)


if __name__ == "__main__":
    main()
