#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py FOLDER "GPU AND DRIVER" "COMPILER" "COMMIT": the page of one run of scripts/gpu, from its logs and JSON files, as Markdown."""

import datetime
import json
import pathlib
import re
import sys

folder, gpu, compiler, commit = sys.argv[1:5]
out = pathlib.Path(folder)
measured = {
    "orderings": "What orderings take",
    "scaling": "One queue, shared by more and more waves",
    "throughput": "The queue code alone, and the in-process controller",
    "rdma_peers": "RDMA beside GPUNetIO",
}


def table(titles, rows):
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for row in rows:
        print("| " + " | ".join(str(one) for one in row) + " |")
    print()


def figure(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def nvme_rows(name, report):
    for phase in report["phases"]:
        latency = phase["latency_us"] or {}
        found = report["verification"]
        verified = f"{found['verified_blocks']} of {found['expected_blocks']}" if found["wanted"] else "-"
        yield (name, phase["operation"], figure(phase["completed"]), figure(phase["iops"]), figure(latency.get("p50"), 1),
               figure(latency.get("p99"), 1), verified if phase["operation"] == "read" else "-")


def rdma_rows(name, report):
    for size in report["sizes"]:
        latency = size["latency_us"] or {}
        yield (name, f"{size['transfer_size']} B", figure(size["completed"]), figure(size["iops"]["mean"]),
               figure(latency.get("p50"), 1), figure(latency.get("p99"), 1), f"{size['verified']} of {size['completed']}")


print(f"# {gpu.split(',')[0]}\n")
print(f"{gpu}; {compiler}; {datetime.date.today()}, commit {commit}. Written by `scripts/gpu`. The in-process controller, the emulated NICs "
      "and QEMU's controller are programs on the machine's processors: what the figures show is the GPU's side, and that it is right.\n")

print("## Tests\n")
rows = []
for line in (out / "verdicts.txt").read_text().splitlines():
    name, verdict = line.split(" ", 1)
    rows.append((name, verdict))
table(("program", "result"), rows)

for name, title in measured.items():
    log = out / f"{name}.log"
    if log.exists():
        text = log.read_text().strip().splitlines()
        print(f"## {title}\n")
        print("\n".join(line + ("\n" if line and not line.startswith("|") else "") for line in text) + "\n")

reports = {}
for path in sorted(out.glob("tester-*.json")):
    reports[path.stem[len("tester-"):]] = json.loads(path.read_text())
jobs = {name: report for name, report in reports.items() if not name.startswith("sweep-")}
titles = ("job", "operation", "operations", "operations/s", "p50 us", "p99 us", "verified")
nvme = [row for name, report in jobs.items() if report.get("command") == "nvme-ep" for row in nvme_rows(name, report)]
rdma = [row for name, report in jobs.items() if report.get("command") == "rdma-ep" for row in rdma_rows(name, report)]
if nvme:
    print("## xio-tester nvme-ep\n")
    table(titles, nvme)
if rdma:
    print("## xio-tester rdma-ep\n")
    table(("job", "size", *titles[2:]), rdma)
sweep = [(tuple(int(one) for one in re.findall(r"\d+", name)), report) for name, report in reports.items() if name.startswith("sweep-")]
if sweep:
    print("## Reads by waves, depth and batch\n")
    rows = []
    for (waves, depth, batch), report in sorted(sweep, key=lambda one: one[0]):
        for phase in report["phases"]:
            latency = phase["latency_us"] or {}
            rows.append((waves, depth, batch, figure(phase["iops"]), figure(latency.get("p50"), 1), figure(latency.get("p99"), 1)))
    table(("waves", "depth", "batch", "operations/s", "p50 us", "p99 us"), rows)
