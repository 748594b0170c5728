#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plot_report.py REPORT FOLDER: draws the tables of `xio-tester report --json REPORT` as PNG and SVG files in FOLDER.

Draws each table that has something to compare: rates as bars and latencies as percentile curves, the steps of the queue
code, or rates and latencies by size. Needs matplotlib; without it, prints a message and exits with status 77.
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

# Okabe and Ito's colours, distinguishable with colour vision deficiencies; the first one is for xio beside others.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442"]
OTHERS = "#999999"
MARKERS = "os^Dv*Px"
PERCENTILES = ["p50", "p90", "p99", "p99.9", "p99.99"]

matplotlib.rcParams.update({"svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False})


def different(rows, key):
    return len({row.get(key) for row in rows}) > 1


def in_words(key, row):
    """A field of a row as the tables show it."""
    value = row.get(key, "")
    if key == "queues":
        return "1 queue" if value == 1 else f"{value} queues"
    return "any" if key == "batch" and value == 0 else value


def labels(rows):
    """Labels made of the fields in which the rows differ."""
    names = {
        "submitter": "{}",
        "operation": "{}",
        "device_us": "device {:g} us",
        "memory_mode": "mode {}",
        "placement": "queues in {}",
        "pattern": "{}",
        "bytes": "{} B",
        "queues": "{}",
        "depth": "depth {}",
        "batch": "batch {}",
    }
    told = [key for key in names if different(rows, key)] or ["submitter"]
    return [", ".join(names[key].format(in_words(key, row)) for key in told) for row in rows]


def shared(rows):
    """Values that all rows share, for the caption."""
    names = {"bytes": "{} B", "depth": "depth {}", "batch": "batch {}"}
    return [name.format(in_words(key, rows[0])) for key, name in names.items() if not different(rows, key)]


def short(value):
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"


def bars(axes, names, values, colours, title):
    """Draws horizontal bars from zero, each with its value at the end."""
    drawn = axes.barh(range(len(values)), values, color=colours)
    axes.bar_label(drawn, [short(value) for value in values], padding=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, max(values) * 1.2 or 1)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.set_xlabel(title)


def curves(axes, names, rows):
    """Draws latencies by percentile, one line per row; if the device's latency is known, the latency added to it."""
    latencies = [row["figures"]["latency_us"] for row in rows]
    # Reports of earlier versions have only two percentiles.
    known = [one for one in PERCENTILES if any(latency.get(one) is not None for latency in latencies)]
    for number, (name, latency, row) in enumerate(zip(names, latencies, rows)):
        known_part = row.get("device_us") or 0
        values = [None if latency.get(one) is None else latency[one] - known_part for one in known]
        places = [place for place, value in enumerate(values) if value is not None]
        axes.plot(
            places,
            [values[place] for place in places],
            marker=MARKERS[number % len(MARKERS)],
            linestyle="-" if number < len(COLOURS) else "--",
            color=COLOURS[number % len(COLOURS)],
            label=name,
        )
    axes.set_xticks(range(len(known)), known)
    axes.set_yscale("log")
    axes.set_ylabel("added latency, us" if any("device_us" in row for row in rows) else "latency, us")
    axes.grid(axis="y", color="#dddddd")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def draw_rates(rows, figure):
    rates, latencies = figure.subplots(1, 2)
    names = labels(rows)
    ours = [row["submitter"].startswith("xio") for row in rows]
    beside_others = any(ours) and not all(ours)
    # Keeps the best row of each engine at each depth.
    kept = list(range(len(rows)))
    if beside_others:
        best = {}
        for place, row in enumerate(rows):
            key = row["submitter"], row["depth"]
            if key not in best or row["figures"]["iops"] > rows[best[key]]["figures"]["iops"]:
                best[key] = place
        kept = sorted(best.values())
    colours = [COLOURS[0] if ours[place] else OTHERS for place in kept]
    bars(rates, [names[place] for place in kept], [rows[place]["figures"]["iops"] for place in kept], colours, "IOPS")
    if beside_others:
        for tick, place in zip(rates.get_yticklabels(), kept):
            tick.set_fontweight("bold" if ours[place] else "normal")
    curves(latencies, [names[place] for place in kept], [rows[place] for place in kept])


def draw_steps(rows, figure):
    axes = figure.subplots()
    left = [0.0] * len(rows)
    for number, step in enumerate(rows[0]["figures"]["steps_ns"]):
        values = [row["figures"]["steps_ns"][step] for row in rows]
        axes.barh(range(len(rows)), values, left=left, label=step.replace("_", " ").replace("sq ", "SQ ").replace("cq ", "CQ "), color=COLOURS[number])
        left = [a + b for a, b in zip(left, values)]
    for place, total in enumerate(left):
        axes.text(total, place, f" {short(total)}", va="center")
    axes.set_yticks(range(len(rows)), labels(rows))
    axes.invert_yaxis()
    axes.set_xlim(0, max(left) * 1.15)
    axes.set_xlabel("ns per operation")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def draw_sizes(rows, figure):
    """Draws lines over the size of an operation, one per submitter."""
    sizes = sorted({row["bytes"] for row in rows})
    panels = figure.subplots(1, 2)
    for axes, title, value in (
        (panels[0], "p50 latency, us", lambda figures: figures["latency_us"]["p50"]),
        (panels[1], "MB/s", lambda figures: figures["mb_per_s"]),
    ):
        for number, name in enumerate(dict.fromkeys(row["submitter"] for row in rows)):
            mine = [row for row in rows if row["submitter"] == name]
            axes.plot(
                [sizes.index(row["bytes"]) for row in mine],
                [value(row["figures"]) for row in mine],
                marker=MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                label=name,
            )
        axes.set_xticks(range(len(sizes)), [f"{size} B" for size in sizes])
        axes.set_yscale("log")
        axes.set_ylabel(title)
        axes.grid(axis="y", color="#dddddd")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    folder = pathlib.Path(sys.argv[2])
    for table in report["tables"]:
        # Removes drawings of an earlier run, which may have had other rows.
        for ending in ("png", "svg"):
            (folder / f"{table['id']}.{ending}").unlink(missing_ok=True)
        rows = [row for row in table["rows"] if row["figures"]]
        has_steps = bool(rows) and "steps_ns" in rows[0]["figures"]
        # A single bar compares nothing, except for steps, where it shows its parts.
        if not rows or (len(rows) == 1 and not has_steps):
            continue
        if has_steps:
            draw, height = draw_steps, 2 + 0.6 * len(rows)
        elif different(rows, "bytes") and different(rows, "submitter"):
            draw, height = draw_sizes, 4.5
        else:
            draw, height = draw_rates, max(3.5, 1.8 + 0.4 * len(rows))
        figure = pyplot.figure(figsize=(15, height), layout="constrained")
        figure.suptitle(f"{table['title']} ({table.get('heading') or report['heading']})")
        draw(rows, figure)
        of_drive = not table["id"].startswith(("rdma-", "test-ep", "client"))
        caption = [report["device"] if of_drive else "", *shared(rows), report["date"]]
        figure.supxlabel(", ".join(part for part in caption if part), fontsize="small", color="#555555")
        for ending in ("png", "svg"):
            figure.savefig(folder / f"{table['id']}.{ending}")
        pyplot.close(figure)


main()
