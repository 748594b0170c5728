#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plot_report.py REPORT FOLDER: draws the tables of `xio-tester report --json REPORT` as PNG files in FOLDER.

One file for each table: IOPS and latencies of its rows, or the steps of the queue code. Needs matplotlib; without it
says so, and the exit status is 77.
"""

import json
import pathlib
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    print("matplotlib is not installed (Debian: python3-matplotlib)")
    sys.exit(77)


def labels(rows):
    """What tells the rows apart."""
    names = {
        "submitter": "{}",
        "memory_mode": "mode {}",
        "pattern": "{}",
        "bytes": "{} B",
        "queues": "{} queues",
        "depth": "depth {}",
        "batch": "batch {}",
    }
    told = [key for key in names if len({row[key] for row in rows}) > 1] or ["submitter"]
    return [", ".join(names[key].format(row[key]) for key in told) for row in rows]


def draw_rates(table, rows, figure):
    rates, latencies = figure.subplots(1, 2, sharey=True)
    places = range(len(rows))
    rates.barh(places, [row["figures"]["iops"] for row in rows], color="tab:blue")
    rates.set_xlabel("IOPS")
    rates.set_yticks(places, labels(rows))
    rates.invert_yaxis()
    for height, (name, colour) in enumerate((("p50", "tab:green"), ("p99", "tab:orange"))):
        latencies.barh(
            [place + 0.4 * height - 0.2 for place in places],
            [row["figures"]["latency_us"][name] for row in rows],
            height=0.4,
            color=colour,
            label=name,
        )
    latencies.set_xlabel("latency, us")
    latencies.set_xscale("log")
    latencies.legend()


def draw_steps(table, rows, figure):
    axes = figure.subplots()
    left = [0.0] * len(rows)
    for step in rows[0]["figures"]["steps_ns"]:
        values = [row["figures"]["steps_ns"][step] for row in rows]
        axes.barh(range(len(rows)), values, left=left, label=step)
        left = [a + b for a, b in zip(left, values)]
    axes.set_yticks(range(len(rows)), labels(rows))
    axes.set_xlabel("ns per operation")
    axes.legend()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    folder = pathlib.Path(sys.argv[2])
    for table in report["tables"]:
        rows = [row for row in table["rows"] if row["figures"]]
        if not rows:
            continue
        figure = pyplot.figure(figsize=(12, 1.5 + 0.45 * len(rows)), layout="constrained")
        figure.suptitle(f"{table['title']} ({report['heading']})")
        draw = draw_steps if "steps_ns" in rows[0]["figures"] else draw_rates
        draw(table, rows, figure)
        figure.savefig(folder / f"{table['id']}.png")
        pyplot.close(figure)


main()
