#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lists.py PROJECT: the places that name every command, opcode, policy tag, tester flag or key of a controller, name all of them.

Each rule has the files with the list, an expression for one item, and the places: a file, and the text that it must have,
in which {} is the item."""
import glob
import os
import re
import sys

NVME = "include/xio/vendors/nvme/"
RULES = {
    "NVMe command": (
        [NVME + "encode.hpp", NVME + "encode_more.hpp"], r"^XIO_DEVICE constexpr Command (?!command\b|block_command\b)([a-z]\w+)\(",
        [(NVME + "encode*.hpp", r"/// @snippet commands[^\n]*\nXIO_DEVICE constexpr Command {}\("), ("docs/calls.md", r"- `{}\("),
         ("examples/snippets/commands.cpp", r"nvme::{}\("), ("tests/fuzz/nvme_commands.cpp", r"nvme::{}\("),
         ("tests/layout/nvme_*.cpp", r"nvme::{}\(")]),
    "opcode": (
        [NVME + "opcodes.hpp"], r"^  (\w+) = 0x\w\w,(?=[^}]*};\s*/// Zone Send Action)",
        [("tests/layout/nvme_parity.cpp", r"Opcode::{}\b"), ("tests/golden/nvme_build.cpp", r"Opcode::{}\b"),
         ("tests/golden/nvme_request.cpp", r"Opcode::{}\b"),
         (NVME + "encode*.hpp", r"Opcode::{}\b")]),
    "command of the emulated controller": (
        ["include/xio/host/emulation/nvme/specification.hpp"], r"^  (io_\w+) = 0x",
        [("include/xio/host/emulation/nvme/rules.hpp", r"spec::{}:")]),
    "policy tag": (
        ["include/xio/device/core/policy.hpp"], r"^struct (\w+) {\n(?:  static_assert[^\n]*\n)?  static constexpr detail::TagKind",
        [("include/xio/device/core/policy.hpp", r"valid tags are [^;]*\b{}\b"), ("docs/policies.md", r"^\| `{}[<`]"),
         ("docs/internals/refused-calls.md", r"`{}`"), ("tests/compile_fail/table.py", r"<{}[<>]"),
         ("tests/emulation/*.*pp", r"\b{}\b")]),
    "flag of xio-tester": (
        ["bench/tester/*/*.cpp", "bench/tester/cli/flags.hpp"], r"add_\w+(?:<[\w:]+>)?\(\s*(?:\*?\w+, )?\"(--[a-z-]+)\"",
        [("docs/**/*.md", r"{}\b")]),
    "key of a controller": (
        ["include/xio/host/nvme/*_options.hpp", "include/xio/host/nvme/fabric_spec.hpp",
         "include/xio/host/emulation/nvme/emulated_spec.hpp"], r"key == \"(\w+)\"",
        [("include/xio/host/**/*.hpp", r"known: [^;]*\b{}\b"), ("docs/xio-tester.md", r"`{}\b"), ("tests/fuzz/specs.dict", r"\",{}=")]),
}


def read(project, pattern):
    text = ""
    for path in sorted(glob.glob(os.path.join(project, pattern), recursive=True)):
        with open(path, encoding="utf-8") as file:
            text += file.read() + "\n"
    return text


def main():
    project, wrong = os.path.abspath(sys.argv[1]), []
    for kind, (sources, item, places) in RULES.items():
        text = "".join(read(project, source) for source in sources)
        items = sorted(set(re.findall(item, text, re.MULTILINE)))
        if not items:
            wrong.append(f"{' '.join(sources)}: no {kind}")
        for pattern, words in places:
            place = read(project, pattern)
            missing = [one for one in items if not re.search(words.replace("{}", re.escape(one)), place, re.MULTILINE)]
            wrong += [f"{pattern} lacks the {kind} {one}" for one in missing]
        print(f"{len(items):3} x {kind}: {' '.join(items)}")
    print("\n".join(wrong + [f"{len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
