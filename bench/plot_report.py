#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plot_report.py REPORT FOLDER: draws the tables of `xio-tester report --json REPORT` as PNG and SVG files in FOLDER.

Draws each table that has something to compare: rates as bars and latencies as percentile curves, the CPU time or the steps
of an operation, or rates and latencies by size. Rows of few operations, and rows within the spread of their runs, are not
compared. Needs matplotlib; without it, prints a message and exits with status 77.
"""

import json
import math
import pathlib
import statistics
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
FEWEST = 100  # operations of a row that is drawn: fewer say little of a rate
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


def bars(axes, names, values, colours, title, ranges=None):
    """Draws horizontal bars from zero, each with its value at the end, and the range of its runs."""
    axes.barh(range(len(values)), [value or 0 for value in values], color=colours)
    ends = [value or 0 for value in values]
    for place, (least, most) in enumerate(ranges or []):
        axes.plot([least, most], [place, place], color="black", linewidth=1, marker="|")
        ends[place] = max(ends[place], most)
    for place, (value, end) in enumerate(zip(values, ends)):
        axes.text(max(end, 0), place, "  too few operations" if value is None else f"  {short(value)}", va="center")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(min(0, *ends), max(ends) * 1.2 or 1)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.set_xlabel(title)


def log_axis(axes, values):
    """A logarithmic axis from a label below the values to one above: 1, 2 and 5 times powers of ten, or these alone."""
    # A run without an operation has no place on it.
    values = [value for value in values if value > 0] or [1]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    ticks = [one * 10**power for power in range(low, high + 1) for one in (1, 2, 5)]
    first = max(tick for tick in ticks if tick <= min(values) * 1.0001)
    last = min([tick for tick in ticks if tick > first and tick >= max(values) * 0.9999])
    ticks = [tick for tick in ticks if first <= tick <= last]
    if len(ticks) > 9:
        ticks = [10.0**power for power in range(low, high + 1)]
    axes.set_yscale("log")
    axes.set_ylim(ticks[0], ticks[-1])
    axes.set_yticks(ticks, [short(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.grid(axis="y", color="#dddddd")


def percentiles(row):
    latency = row["figures"]["latency_us"]
    return [one for one in PERCENTILES if latency.get(one) is not None]


def curves(axes, names, rows):
    """Draws latencies by percentile, one line per row: those that the row has enough operations for."""
    known = [one for one in PERCENTILES if any(one in percentiles(row) for row in rows)]
    for number, (name, row) in enumerate(zip(names, rows)):
        axes.plot(
            [known.index(one) for one in percentiles(row)],
            [row["figures"]["latency_us"][one] for one in percentiles(row)],
            marker=MARKERS[number % len(MARKERS)],
            linestyle="-" if number < len(COLOURS) else "--",
            color=COLOURS[number % len(COLOURS)],
            label=name,
        )
    log_axis(axes, [row["figures"]["latency_us"][one] for row in rows for one in percentiles(row)])
    axes.set_xticks(range(len(known)), known)
    axes.set_ylabel("latency, us")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def run_range(row):
    """The slowest and the fastest run of a row."""
    runs = row["iops_of_runs"] or [row["figures"]["iops"]]
    return min(runs), max(runs)


def draw_rates(rows, figure):
    # A percentile alone is no curve.
    has_curves = any(len(percentiles(row)) > 1 for row in rows)
    rates = figure.add_subplot(1, 1 + has_curves, 1)
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
    shown = [rows[place] for place in kept]
    ranges = [run_range(row) for row in shown] if any(len(row["iops_of_runs"]) > 1 for row in shown) else None
    title = "IOPS, and the range of the runs" if ranges else "IOPS"
    bars(rates, [names[place] for place in kept], [row["figures"]["iops"] for row in shown], colours, title, ranges)
    if beside_others:
        for tick, place in zip(rates.get_yticklabels(), kept):
            tick.set_fontweight("bold" if ours[place] else "normal")
    if has_curves:
        drawn = [place for place in kept if len(percentiles(rows[place])) > 1]
        curves(figure.add_subplot(1, 2, 2), [names[place] for place in drawn], [rows[place] for place in drawn])


def draw_stacked(rows, figure, parts, title):
    """Draws a horizontal bar per row from its parts, a dictionary for each row, and the sum at its end."""
    axes = figure.subplots()
    left = [0.0] * len(rows)
    for number, name in enumerate(parts[0]):
        values = [one[name] for one in parts]
        axes.barh(range(len(rows)), values, left=left, label=name, color=COLOURS[number])
        left = [a + b for a, b in zip(left, values)]
    for place, total in enumerate(left):
        axes.text(total, place, f" {short(total)}", va="center")
    axes.set_yticks(range(len(rows)), labels(rows))
    axes.invert_yaxis()
    axes.set_xlim(0, max(left) * 1.15 or 1)
    axes.set_xlabel(title)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def draw_steps(rows, figure):
    parts = [
        {step.replace("_", " ").replace("sq ", "SQ ").replace("cq ", "CQ "): ns for step, ns in row["figures"]["steps_ns"].items()}
        for row in rows
    ]
    if len(rows) == 1:
        # One row compares its steps.
        bars(figure.subplots(), list(parts[0]), list(parts[0].values()), COLOURS[0], "ns per operation")
    else:
        draw_stacked(rows, figure, parts, "ns per operation")


def draw_cpu(rows, figure):
    parts = []
    for row in rows:
        cpu = row["figures"]["cpu"]
        used = cpu["user_percent"] + cpu["system_percent"]
        of_one = cpu["us_per_operation"] / used if used else 0
        parts.append({"user": cpu["user_percent"] * of_one, "system": cpu["system_percent"] * of_one})
    draw_stacked(rows, figure, parts, "CPU us per operation")


def draw_added(rows, figure):
    """Draws what is added to the latency of the device."""
    shown = [one for one in ("p50", "p99") if any(one in percentiles(row) for row in rows)]
    for place, one in enumerate(shown):
        latencies = [row["figures"]["latency_us"].get(one) for row in rows]
        added = [None if value is None else value - row["device_us"] for value, row in zip(latencies, rows)]
        bars(figure.add_subplot(1, len(shown), place + 1), labels(rows), added, COLOURS[0], f"added {one}, us")


def draw_sizes(rows, figure, within):
    """Draws lines over the size of an operation, one per submitter; one for all where no size tells them apart."""
    sizes = sorted({row["bytes"] for row in rows})
    names = list(dict.fromkeys(row["submitter"] for row in rows))
    together = all(size in within for size in sizes)
    panels = figure.subplots(1, 2)
    for axes, title, value, ends in (
        (panels[0], "p50 latency, us", lambda row: row["figures"]["latency_us"]["p50"], lambda row: []),
        (
            panels[1],
            "MB/s, and the range of the runs",
            lambda row: row["figures"]["mb_per_s"],
            lambda row: [iops * row["bytes"] / 1e6 for iops in run_range(row)],
        ),
    ):
        for number, name in enumerate([f"{len(names)} submitters, within the spread of their runs"] if together else names):
            groups = [[row for row in rows if row["bytes"] == size and (together or row["submitter"] == name)] for size in sizes]
            places = [place for place, group in enumerate(groups) if group]
            centres = [statistics.median(value(row) for row in groups[place]) for place in places]
            spans = [[one for row in groups[place] for one in (value(row), *ends(row))] for place in places]
            axes.errorbar(
                places,
                centres,
                yerr=[
                    [centre - min(span) for centre, span in zip(centres, spans)],
                    [max(span) - centre for centre, span in zip(centres, spans)],
                ],
                capsize=3,
                marker=MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                label=name,
            )
        log_axis(axes, [one for row in rows for one in (value(row), *ends(row))])
        axes.set_xticks(range(len(sizes)), [f"{size} B" for size in sizes])
        axes.set_ylabel(title)
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def drawing(table):
    """How a table is drawn, and with which rows; nothing where they compare nothing."""
    rows = [row for row in table["rows"] if row["figures"] and row["figures"]["operations"] >= FEWEST]
    sizes = {row["bytes"] for row in rows}
    within = [size for size in sizes if size in table.get("within_spread", [])]
    if not rows:
        return None
    if "steps_ns" in rows[0]["figures"]:
        return draw_steps, rows
    # What a table of placements compares is placements.
    if len(rows) == 1 or ("placement" in rows[0] and not different(rows, "placement")):
        return None
    if len(sizes) > 1 and different(rows, "submitter"):
        return (lambda rows, figure: draw_sizes(rows, figure, within)), rows
    if len(sizes) == 1 and within:
        return None
    if table["id"] == "cpu":
        return draw_cpu, rows
    return (draw_added if "device_us" in rows[0] else draw_rates), rows


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
        drawn = drawing(table)
        if drawn is None:
            continue
        draw, rows = drawn
        height = 4.5 if different(rows, "bytes") and different(rows, "submitter") else max(3.5, 1.8 + 0.4 * len(rows))
        figure = pyplot.figure(figsize=(15, height), layout="constrained")
        figure.suptitle(f"{table['title']} ({table.get('heading') or report['heading']})")
        draw(rows, figure)
        of_drive = not table["id"].startswith(("rdma-", "test-ep", "client"))
        caption = [report["device"] if of_drive else "", *shared(rows), report["date"]]
        figure.supxlabel(", ".join(part for part in caption if part), fontsize="small", color="#555555")
        for ending in ("png", "svg"):
            figure.savefig(folder / f"{table['id']}.{ending}")
        pyplot.close(figure)


if __name__ == "__main__":
    main()
