# SPDX-License-Identifier: MIT
"""Writes a report of bench-guest: a page, a table and everything."""

import csv
import json
import pathlib


def write(folder, name, lines, report, columns):
    """Prints `lines` and writes NAME.md, .json and .csv, the last one with `columns` of the report's rows."""
    output = pathlib.Path(folder)
    text = "\n".join(lines) + "\n"
    (output / f"{name}.md").write_text(text, encoding="utf-8")
    (output / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    with open(output / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, fieldnames=columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(report["rows"])
    print(text)
