#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hazards.py PROJECT: checks docs/internals/hazards.md.

Each file of a row exists and has the hazard's number, or the words in quotes behind its name; each number that a test
or a mutation names has a row."""
import os
import re
import sys

ROW = re.compile(r"^\| (H\d+) \| .* \| ([^|]*) \|$", re.MULTILINE)
TEST = re.compile(r"`([^`]+)`(?: \(\"([^\"]+)\"\))?")
NUMBER = re.compile(r"\bH([1-9]\d?)\b")
SOURCES = (".cpp", ".hpp", ".hip", ".sh", ".py", ".cmake", ".toml")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def main():
    tests = os.path.join(os.path.abspath(sys.argv[1]), "tests")
    rows = ROW.findall(read(os.path.join(os.path.dirname(tests), "docs/internals/hazards.md")))
    known, wrong = {hazard for hazard, _ in rows}, []
    if len(known) != len(rows):
        wrong.append("a hazard has two rows")
    for hazard, cell in rows:
        named = TEST.findall(cell)
        if not named:
            wrong.append(f"{hazard} names no test")
        for name, words in named:
            path = os.path.join(tests, name)
            if not os.path.isfile(path):
                wrong.append(f"{hazard}: there is no tests/{name}")
            elif not re.search(re.escape(words) if words else rf"\b{hazard}\b", read(path)):
                wrong.append(f"{hazard}: tests/{name} does not have: {words or hazard}")
    for folder, _, names in os.walk(tests):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(SOURCES) and os.path.abspath(__file__) != path:
                unknown = {f"H{number}" for number in NUMBER.findall(read(path))} - known
                wrong += [f"tests/{os.path.relpath(path, tests)}: {hazard} has no row" for hazard in sorted(unknown)]
    print("\n".join(wrong + [f"{len(known)} hazards, {len(wrong)} wrong"]))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
