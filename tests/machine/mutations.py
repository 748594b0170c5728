#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weakens every ordering of the machine's kernels, one at a time, and says of which nothing is noticed.

A place is one of the library's: the line of include/xio that asks for an instruction, and what was done to it. It is
needed where some case with some seed notices that, on whatever way it was called. What no case notices must be in unneeded.txt with the reason why it
is not needed, or the exit status is 1: lines "target<TAB>instruction and change<TAB>source lines<TAB>reason", the first
three of them regular expressions. The last line is the table's: caught, not needed, unexplained.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

LIBRARY = "/include/xio/"


def place_of(source):
    """Where the library asks for it: the first line that is not a primitive's; empty where the instruction is the test's."""
    lines = [line.split(LIBRARY)[1] for line in source.split(" < ") if LIBRARY in line]
    behind = [line for line in lines if not line.startswith("device/arch")]
    return behind[0] if behind else ""


def read_reasons(path):
    reasons = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != 4:
            sys.exit(f"{path}:{number}: wants four parts with tabs between")
        reasons.append([re.compile(p) for p in parts[:3]] + [parts[3]])
    return reasons


def run(command, results):
    target = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            parts = line.rstrip("\n").split("\t")
            if len(parts) == 5 and parts[0] in ("caught", "survives"):
                text, change, source = parts[1], parts[2], parts[3]
                place = place_of(source)
                if place:
                    results[(place, text.split()[0], change)][parts[0]] += 1
            else:
                target = line.split()[0] if line.strip() else target
                print(line, end="", flush=True)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="machine-run")
    parser.add_argument("kernels", nargs="+", help="NVMe's or, behind rdma:, RDMA's kernels of one target")
    parser.add_argument("--seeds", default="12", help="for each place (default 12)")
    parser.add_argument("--case", action="append", default=[], help="these cases only")
    arguments = parser.parse_args()

    results = collections.defaultdict(collections.Counter)
    target = ""
    for kernels in arguments.kernels:
        command = [arguments.program, kernels.removeprefix("rdma:"), "--mutate", "--seeds", arguments.seeds]
        if kernels.startswith("rdma:"):
            command.append("--rdma")
        for only in [["--case", case] for case in arguments.case] or [[]]:
            target = run(command + only, results) or target
    reasons = read_reasons(pathlib.Path(__file__).with_name("unneeded.txt"))
    caught, unneeded, unexplained = 0, collections.Counter(), []
    for (place, opcode, change), counts in sorted(results.items()):
        if counts["caught"]:
            caught += 1
            continue
        for of_target, of_change, of_place, reason in reasons:
            if of_target.search(target) and of_change.search(f"{opcode} {change}") and of_place.search(place):
                unneeded[reason] += 1
                break
        else:
            unexplained.append(f"{opcode} {change}: {place} ({counts['survives']} times)")
    for reason, count in unneeded.most_common():
        print(f"not needed, {count} places: {reason}")
    for line in unexplained:
        print(f"UNEXPLAINED: {line}")
    print(f"{target}: {caught} caught, {sum(unneeded.values())} not needed, {len(unexplained)} unexplained")
    sys.exit(1 if unexplained or not results else 0)


if __name__ == "__main__":
    main()
