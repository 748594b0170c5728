#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""matrix.py PROJECT EXPLORER OBJECTS... [--write]: which public call, with which sharing and policies, the scenarios' kernels make.

The calls are those that the headers declare; what the kernels make of them are the functions that the compiler instantiated in the OBJECTS
(separated by `;`, too), which are not optimised. Compares the table with docs/internals/scenarios.md, or writes it. A call that no kernel makes with some sharing
needs a row in uncovered.txt: call, sharing and reason, with tabs between; the first two are regular expressions. EXPLORER --list says which rows are
run under all schedules.
"""

import collections
import pathlib
import re
import subprocess
import sys

FACADES = {"nvme::Queue": "nvme/queue.hpp", "nvme::DriveSet": "nvme/drive_set.hpp", "rdma::QueuePair": "rdma/queue_pair.hpp",
           "rdma::ReceiveQueue": "rdma/receive.hpp"}
SHARINGS = ["thread", "wave", "block", "grid"]
TAGS = ["Unchecked", "Notify", "Deferred", "WriteThrough", "Placed", "InGpuMemory", "ShadowDoorbell"]
DECLARED = re.compile(r"^  XIO_[A-Z_]+ [^(]*[ &*]([a-z_]+)\(", re.MULTILINE)
PAGE = "docs/internals/scenarios.md"
HEAD = """# Calls and scenarios

Public calls that the kernels of [tests/scenarios](testing.md#scenarios-and-executors) make, with the policies they were made with; the CPU and the models of GPUs run them,
and the explorer those of some NVMe rows, which the end of this page names. Made by `tests/scenarios/matrix.py` from the headers and from what the compiler instantiated. *-*: no kernel makes the call so; the reason is below.
"""


def calls_of(project, name, header):
    """The public calls that a class declares."""
    text = (project / "include/xio/device" / header).read_text(encoding="utf-8")
    text = re.split(rf"\nclass {name.split('::')[1]} \{{.*\n", text, maxsplit=1)[1]
    return sorted(set(DECLARED.findall(text.split("\n private:")[0])))


def arguments(text):
    """The template arguments at the begin of `text`, which starts with `<`, and what follows them."""
    depth, begin, found = 0, 1, []
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 1:
            found.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            return [*found, text[begin:i].strip()], text[i + 1:]
    return found, ""


def made_by(objects):
    """(class, call, sharing) -> policies, from the demangled symbols of objects."""
    made = collections.defaultdict(set)
    symbols = subprocess.run(["nm", "-C", "--defined-only", *objects], capture_output=True, text=True, check=True).stdout
    for line in re.sub(r"xio::v\d+::", "", symbols).split("\n"):
        for name in FACADES:
            for at in re.finditer(r"(?<![\w:])" + name + "<", line):  # what it returns may be named first
                given, rest = arguments(line[at.end() - 1:])
                call = re.match(r"::([a-z_]+)[<(]", rest)
                if call:
                    break
            else:
                continue
            if " W " not in line[:20]:
                continue
            sharing = next((one for one in given if one.startswith("(Sharing)")), "(Sharing)3")
            policy = next((one for one in given if one.startswith(("Policy<", "scenarios::", "(anonymous"))), "Policy<>")
            made[name, call[1], SHARINGS[int(sharing[9])]].add(short(policy))
    return made


def short(policy):
    """The tags of a policy that change what the queue does."""
    return " ".join(tag for tag in TAGS if re.search(rf"\b{tag}\b", policy)) or "default"


def reasons_of(project):
    rows = (project / "tests/scenarios/uncovered.txt").read_text(encoding="utf-8").split("\n")
    return [row.split("\t") for row in rows if row and not row.startswith("#")]


def explored(explorer):
    """What the page says of the rows that the explorer runs."""
    rows = subprocess.run([explorer, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    left = [row.split(": ", 2)[1:] for row in rows if row.startswith("left out: ")]
    run = [f"`{row}`" for row in rows if not row.startswith("left out: ")]
    return (f"\n## All schedules\n\nOf {len(rows)} NVMe rows, the explorer runs {len(run)}, in small shapes: {', '.join(run)}.\n\n| left out | reason |\n|---|---|\n"
            + "".join(f"| {name} | {why} |\n" for name, why in left))


def main():
    import defects  # pylint: disable=import-outside-toplevel  # which uses this module

    project, write = pathlib.Path(sys.argv[1]), sys.argv[-1] == "--write"
    made = made_by([one for given in sys.argv[3:len(sys.argv) - write] for one in given.split(";")])
    reasons, used, wrong = reasons_of(project), set(), []
    text = HEAD
    for name, header in FACADES.items():
        text += f"\n## `{name}`\n\n| call | " + " | ".join(SHARINGS) + " |\n|---|" + "---|" * len(SHARINGS) + "\n"
        for call in calls_of(project, name, header):
            cells = []
            for sharing in SHARINGS:
                policies = made.get((name, call, sharing))
                cells.append(", ".join(sorted(policies)) if policies else "-")
                why = [i for i, row in enumerate(reasons) if re.fullmatch(row[0], f"{name}::{call}") and re.fullmatch(row[1], sharing)]
                if not policies and not why:
                    wrong.append(f"no kernel calls {name}<{sharing}>::{call}(), and uncovered.txt has no reason")
                used |= set() if policies else set(why)
            text += f"| `{call}` | " + " | ".join(cells) + " |\n"
    text += "\n## Left out\n\n| call | sharing | reason |\n|---|---|---|\n"
    for i, (call, sharing, reason) in enumerate(reasons):
        text += "| `" + call.replace("|", "\\|") + "` | " + sharing.replace("|", ", ").replace(".*", "all") + f" | {reason} |\n"
        if i not in used:
            wrong.append(f"uncovered.txt: {call} {sharing} is made, or is no call")
    text += defects.page()
    for name, header in FACADES.items():
        for call in calls_of(project, name, header):
            if not any(one.call == f"{name}::{call}" for one in defects.rows()):
                wrong.append(f"{name}::{call}(): defects.txt has no defect of it, and no reason")
    text += explored(sys.argv[2])
    page = project / PAGE
    if write:
        page.write_text(text, encoding="utf-8")
    elif not page.exists() or page.read_text(encoding="utf-8") != text:
        wrong.append(f"{PAGE} is out of date: {' '.join(sys.argv)} --write")
    print("\n".join(wrong + [f"{len(made)} combinations of call and sharing, {len(wrong)} wrong"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
