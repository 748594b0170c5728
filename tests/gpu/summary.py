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
    "scaling": "Queues, shared by more and more waves",
    "throughput": "The queue code alone, and the in-process controller",
    "rdma_peers": "RDMA beside GPUNetIO",
}
# What limits the figures of a program, as far as that is known.
limits = {
    "orderings":
        "Each figure is a chain: a round begins when the one before has ended, so it is latency, not rate. Where it "
        "rises with the number of waves, the memory system is shared; with one word for all, that word is the limit. "
        "Calls of 50 KB of code, cold less warm: the instruction fetch.",
    "scaling":
        "Null devices: one wave for each queue, all memory the GPU's. One wave: latency, its own and the device's. One "
        "queue and many waves: the one wave that takes completions, or the device's; which is not known. As many "
        "queues as waves: each wave's own work. The in-process controller: one thread of the host, or completion rings "
        "in host memory, which the GPU reads over PCIe.",
    "throughput":
        "The in-process controller: as above. The null device: its one wave, or the wave that takes completions.",
    "rdma_peers":
        "One wave that writes: latency, its own and the NIC's. Many waves: the NIC's one wave, where eight waves of the "
        "NIC make it faster; else the words that the waves share.",
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
        print(f"What limits: {limits[name]}\n")

reports = {}
for path in sorted(out.glob("tester-*.json")):
    reports[path.stem[len("tester-"):]] = json.loads(path.read_text())
jobs = {name: report for name, report in reports.items() if not name.startswith("sweep-")}
titles = ("job", "operation", "operations", "operations/s", "p50 us", "p99 us", "verified")
nvme = [row for name, report in jobs.items() if report.get("command") == "nvme-ep" for row in nvme_rows(name, report)]
rdma = [row for name, report in jobs.items() if report.get("command") == "rdma-ep" for row in rdma_rows(name, report)]
if nvme:
    print("## xio-tester nvme-ep\n")
    print("What limits: the programs that play the devices; latencies contain theirs.\n")
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
