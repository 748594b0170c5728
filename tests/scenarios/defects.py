#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Defects of the public calls, put in on purpose: some case of the scenarios must notice each, on every executor.

defects.py make FOLDER           writes copies of the headers with all defects of defects.txt, each behind its number (defect.hpp)
defects.py run PROGRAM ARGS...   runs executors-defects: without a defect its cases must pass, and with each its case must not

matrix.py prints the table, and requires that every call has a row.
"""

import dataclasses
import pathlib
import re
import subprocess
import sys
import time

import matrix

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("defects.txt")
ROW = re.compile(r"([a-zA-Z:_]+), ([\w-]+): (.+)")


CHOSEN = """#pragma once
#include <xio/config.hpp>
namespace scenarios {
/// Whether a case of the table runs this kernel, of whose name its own is made.
XIO_HOST_DEVICE constexpr bool is_chosen(const char* kernel) {
  const char* const cases[] = {CASES};
  for (const char* one : cases) {
    const char* other = kernel;
    for (; *other != 0 && *one == *other; ++one) ++other;
    if (*other == 0 && (*one == 0 || *one == '_')) return true;
  }
  return false;
}
}  // namespace scenarios
"""


@dataclasses.dataclass
class Defect:
    """A row of the table."""

    number: int
    call: str
    case: str
    what: str
    code: list = dataclasses.field(default_factory=list)
    unseen: str = ""  # executors that cannot notice it, and why
    why: str = ""

    def is_seen_by(self, executor):
        return not re.fullmatch(self.unseen or "$", executor)


def rows():
    """The table. A row that is not understood is an error."""
    found = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").split("\n"), 1):
        row = ROW.fullmatch(line)
        if row:
            found.append(Defect(len(found) + 1, *row.groups()))
        elif line.startswith("unseen: "):
            _, found[-1].unseen, found[-1].why = line.split(": ", 2)
        elif line.startswith("  "):
            found[-1].code.append(line.strip())
        elif line and not line.startswith("#"):
            sys.exit(f"{TABLE}:{number}: not understood")
    for one in found:
        if (one.case == "-") == bool(one.code):
            sys.exit(f"{TABLE}: {one.call}: wants statements, or - for its case")
        if one.call.rpartition("::")[0] not in matrix.FACADES:
            sys.exit(f"{TABLE}: {one.call}: of no class")
    return found


def body_of(text, begin):
    """The place behind the `{` of the function whose parameters begin at text[begin]."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return text.index("{", at) + 1
    return None


def with_defects(name, header, defects):
    """The header with the defects of class `name`, which stand in the lines of its own bodies."""
    text = (PROJECT / "include/xio/device" / header).read_text(encoding="utf-8")
    begin = re.search(rf"\nclass {name.split('::')[1]} \{{", text).end()
    end = text.index("\n private:", begin)
    places = {}
    for one in matrix.DECLARED.finditer(text, begin, end):
        places.setdefault(one[1], []).append(body_of(text, one.end() - 1))
    put = []
    for one in defects:
        call = one.call.removeprefix(name + "::")
        if call not in places:
            sys.exit(f"{TABLE}: {header} declares no {one.call}()")
        code = f" if (scenarios::has_defect({one.number})) {{ {' '.join(one.code)} }}"
        put += [(place, code) for place in places[call]]
    for place, code in sorted(put, key=lambda each: each[0], reverse=True):
        text = text[:place] + code + text[place:]
    return text.replace("#include <", "#include <scenarios/defect.hpp>\n#include <", 1)


def headers():
    """Header and text with its defects, for each class. A row that fits no call is an error."""
    for name, header in matrix.FACADES.items():
        yield header, with_defects(name, header, [one for one in rows() if one.code and one.call.startswith(name + "::")])


def make(folder):
    table = [one for one in rows() if one.code]
    for header, text in headers():
        path = folder / "xio/device" / header
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    (folder / "scenarios").mkdir(exist_ok=True)
    cases = ", ".join(f'"{case}"' for case in sorted({one.case for one in table}))
    (folder / "scenarios/chosen.hpp").write_text(CHOSEN.replace("CASES", cases), encoding="utf-8")


def run(program, arguments):
    """Prints a line for each defect; returns whether one was not noticed."""
    table = [one for one in rows() if one.code]
    missed = 0
    with subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        executor = process.stdout.readline().strip()
        for one in table:
            process.stdin.write(f"{one.number} {one.case}\n")
            process.stdin.flush()
            began = time.monotonic()
            answer = process.stdout.readline().strip()
            if not answer:
                sys.exit(f"{program} {' '.join(arguments)} ended at {one.call}() {one.what}: {one.case}")
            noticed = answer != "-"
            verdict = "noticed" if noticed else "NOT NOTICED"
            if not one.is_seen_by(executor):
                verdict = "NOTICED, against its row" if noticed else f"not noticed: {one.why}"
            missed += "NOT" in verdict
            print(f"{verdict}: {one.call}() {one.what}: {one.case}: {answer} ({time.monotonic() - began:.1f} s)", flush=True)
        process.stdin.close()
    print(f"{executor}: {len(table)} defects, {missed} of them wrong")
    return missed != 0


def page():
    """The table, which fits the headers, as the page shows it."""
    list(headers())
    text = "\n## Defects\n\nA defect is put into the body of each call on purpose; the nightly tests `executors.defects.*` require that the case notices it on every executor but those that are named.\n\n"
    text += "| call | defect | case | not noticed by |\n|---|---|---|---|\n"
    for one in rows():
        case = f"`{one.case}`" if one.case != "-" else "-"
        unseen = f"{one.unseen.replace('.*', '')}: {one.why}".replace("|", ", ") if one.unseen else ""
        text += f"| `{one.call}` | {one.what} | {case} | {unseen} |\n"
    return text


def main():
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]))
        return False
    return run(sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
