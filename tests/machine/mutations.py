#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weakens every ordering of the machine's kernels, one at a time, and reports those that no case detects.

A place is a line of include/xio that requests an instruction, with its function and the change made to the
instruction. It is needed if some case with some seed, in any kernel, detects the change. A change that no case detects
or executes must be in unneeded.txt with the reason why the ordering is not needed, or not needed here; otherwise the
exit status is 1. Lines of unneeded.txt are "target<TAB>instruction and change<TAB>places<TAB>reason": two regular
expressions, then markers and functions as tests/mutations/places.py finds them. Places with a reason are tried only
with --all, which reports those detected after all.

No reason is needed where nothing happens: waits that never had anything to wait for, scopes of stores to registers,
which no cache holds. Nor for waits that the compiler placed, where a register is read or a function begins or ends: the
machine detects a register that is read too early. They are told from those that the library requests in the same line.
The last line is the table's.

With --by, places that kernels of other kinds have too are left to the run of those, which tries them with more seeds.
"""

import argparse
import collections
import functools
import itertools
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests/mutations"))
import places  # noqa: E402

SOURCES = places.Sources(PROJECT)
STAGES = (3, 60)
KINDS = ("rdma", "fabrics", "key_values")


@functools.lru_cache(None)
def with_function(place):
    """A place such as "device/submission.hpp:234", followed by the function that contains the line, and the line."""
    file, _, number = place.rpartition(":")
    source, number = SOURCES.source(SOURCES.library / file), int(number)
    around = [scope for scope in source.scopes if source.line(scope.first) <= number <= source.line(scope.last - 1)]
    own = source.text.splitlines()[number - 1].strip() if number != 0 else ""
    return f"{place} {around[0].path[-1] + '(): ' if around else ''}{own}"


@functools.lru_cache(None)
def lines_of(key):
    """The files of a place, and its first and last line in each."""
    if key.endswith(".hpp"):
        return {(f"device/{key}", 0, 0)}
    return {(str(source.path.relative_to(SOURCES.library)), source.line(first), source.line(last - 1))
            for source, first, last in SOURCES.find_lines(key)}


def reason_for(reasons, target, key):
    opcode, change, place, _ = key
    opcode = opcode.replace(".global.", ".")  # where the compiler knows the address space
    file, _, number = place.rpartition(":")
    for of_target, of_change, keys, reason in reasons:
        if of_target.search(target) and of_change.search(f"{opcode} {change}") and any(
                name == "*" or any(file == of and first <= int(number) <= last for of, first, last in lines_of(name))
                for name in keys):
            return reason
    return None


def command_for(program, kernels):
    """The mutations of the kernels of a kind: FILE are NVMe's, KIND:FILE others'."""
    kind, _, file = kernels.rpartition(":")
    if kind and kind not in KINDS:
        sys.exit(f"{kernels}: no such kind; there are {', '.join(KINDS)}")
    return [program, file, "--mutate"] + ([f"--{kind}"] if kind else [])


def run(command):
    """Yields outcome, key, and the case that detected the change."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            parts = line.rstrip("\n").split("\t")
            if len(parts) == 7:
                outcome, text, change, _, place, origin, noticed = parts
                if origin == "compiler" and outcome in ("survives", "idle"):
                    outcome = "compiler's"
                yield outcome, (text.split()[0], change, place, origin), noticed
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="machine-run")
    parser.add_argument("target", help="as unneeded.txt names it: gfx942")
    kinds = ": or ".join(KINDS)
    parser.add_argument("kernels", nargs="+", help=f"NVMe's or, behind {kinds}:, other kernels of the target")
    parser.add_argument("--by", nargs="+", default=[], help="kernels whose places have a run of their own")
    parser.add_argument("--seeds", type=int, default=12, help="for each place (default 12)")
    parser.add_argument("--case", help="this case only")
    parser.add_argument("--all", action="store_true", help="try those too that are said not to be needed")
    parser.add_argument("--verbose", action="store_true", help="what noticed each place")
    arguments = parser.parse_args()

    reasons = list(places.exemptions(pathlib.Path(__file__).with_name("unneeded.txt")))
    outcomes = collections.defaultdict(collections.Counter)
    noticed_by = {}
    theirs = {key for kernels in arguments.by for _, key, _ in run(command_for(arguments.program, kernels) + ["--list"])}
    # Most changes are detected by some case with one of the first seeds: the others are tried with more.
    ends = [end for end in STAGES if end < arguments.seeds] + [arguments.seeds]
    stages = [f"{before + 1}-{end}" for before, end in zip([0] + ends, ends)]
    for seeds, kernels in itertools.product(stages, arguments.kernels):
        command = command_for(arguments.program, kernels) + ["--seeds", seeds]
        if arguments.case:
            command += ["--case", arguments.case]
        skipped = theirs | {key for key, counts in outcomes.items() if counts["caught"]}
        if not arguments.all:
            skipped |= {key for _, key, _ in run(command + ["--list"]) if reason_for(reasons, arguments.target, key)}
        with tempfile.NamedTemporaryFile("w", suffix=".skip") as file:
            file.writelines("\t".join(key) + "\n" for key in skipped)
            file.flush()
            for outcome, key, noticed in run(command + ["--skip", file.name]):
                if key in theirs or not key[2]:  # or in no line of the library
                    continue
                outcomes[key][outcome] += 1
                if outcome == "caught":
                    noticed_by.setdefault(key, noticed)

    compilers = "the compiler's own"
    caught, unneeded, unexplained, without = 0, collections.Counter(), [], collections.Counter()
    for key, counts in sorted(outcomes.items(), key=lambda item: item[0][2::-1]):
        name = f"{key[0]} {key[1]}: {with_function(key[2])}"
        reason = reason_for(reasons, arguments.target, key)
        if counts["caught"]:
            caught += 1
            if arguments.verbose:
                print(f"caught: {name}: {noticed_by[key]}")
            if reason:
                print(f"NEEDED: {name}, by {noticed_by[key]}")
        elif reason:
            unneeded[reason] += 1
        elif counts["survives"]:
            unexplained.append(f"{name} ({counts['survives']} times)")
        elif counts["idle"] and not counts["empty"]:
            unexplained.append(f"{name} (no case executes it)")
        else:
            why = "without effect" if counts["empty"] else compilers
            without[why] += 1
            if arguments.verbose:
                print(f"{why}: {name}")
    for reason, count in unneeded.most_common():
        print(f"not needed, {count} places: {reason}")
    for line in unexplained:
        print(f"UNEXPLAINED: {line}")
    print(
        f"{arguments.target}: {caught} caught, {sum(unneeded.values())} not needed, {without['without effect']} "
        f"without effect, {without[compilers]} of the compiler's own, {len(unexplained)} unexplained"
    )
    sys.exit(1 if unexplained or not (caught or unneeded) else 0)


if __name__ == "__main__":
    main()
