#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spills.py FILE...: searches code for AMD GPUs for values that are saved for some of the lanes that need them.

Where lanes come back after a branch, the block begins by restoring the execution mask. clang 19 may place the save of a
register (to private memory, or to an accumulation register) before that: the lanes that come back have saved nothing,
and load what was there before. FILE: assembly (.s), or a code object, which llvm-objdump reads (the one of the version
that made it, if it is installed), or @LIST, a file that names these, one a line. Those that do not exist are left out. The exit status is 1 if there is such a block, and 2 if a file cannot be read.
"""

import os
import re
import shutil
import subprocess
import sys

LABEL = re.compile(r"^(?:[0-9a-f]+ )?<?([\w.$]+)>?:")
COMMENT = re.compile(r"\s*(?:;|//).*$")
# Lanes come back: the else side of a branch, or the end of it. A mask of -1 is for saves of whole waves.
RESTORES = re.compile(r"s_(?:or|andn2|and_not1)_saveexec_b(?:32|64) [^,]+, (?!-1)|s_or_b(?:32|64) exec(?:_lo)?, exec")
WRITES_MASK = re.compile(r"\w*saveexec|v_cmpx|s_\w+ exec(?:_lo|_hi)?,")
# Where the text of a function begins: not at the labels in it.
FUNCTION = re.compile(r"^(?=[A-Za-z_$][\w$.]*:|[0-9a-f]{16} <(?!L\d+>))", re.MULTILINE)
ANY_SAVE = re.compile(r"scratch_store_|v_accvgpr_|buffer_store_")
SAVES = re.compile(r"scratch_store_|v_accvgpr_write_b32 a\d+, v|v_accvgpr_mov")
BUFFER_SAVES = re.compile(r"buffer_store_")
# What may stand before the restored mask: nothing that computes a value for the lanes that are there.
KEEPS_BOOKS = re.compile(r"s_(?!c?branch|setpc|swappc|endpgm|barrier)|v_mov_|v_readlane|v_writelane|v_nop")


class Blocks:
    """The blocks of one file: counts those that restore the mask, and lists the misplaced saves."""

    def __init__(self, buffers_are_private):
        self.buffers_are_private = buffers_are_private
        self.functions = self.saving = self.restores = 0
        self.found = []
        self.function = ""
        self.saves = None

    def begin(self, name):
        if not name.startswith((".L", "L")):
            self.function = name
        self.saves = []

    def add(self, text):
        if self.saves is None:
            return
        if RESTORES.match(text):
            self.restores += 1
            self.found += [f"{self.function}: {save} before {text}" for save in self.saves]
            self.saves = None
        elif SAVES.match(text) or (self.buffers_are_private and BUFFER_SAVES.match(text)):
            self.saves.append(text)
        elif WRITES_MASK.match(text) or not KEEPS_BOOKS.match(text):
            self.saves = None


def search(text):
    """Blocks of a text of assembly, or of a disassembly with labels."""
    # Without instructions for private memory (gfx90a), buffer stores write it.
    blocks = Blocks("\tscratch_" not in text)
    for function in FUNCTION.split(text):
        blocks.functions += 1
        if not ANY_SAVE.search(function):  # as for most: not worth a closer look
            continue
        blocks.saving += 1
        for line in function.splitlines():
            label = LABEL.match(line)
            if label:
                blocks.begin(label.group(1))
            elif line.startswith("; %bb."):
                blocks.begin(".L")
            elif line.startswith("\t") and line[1:2].isalpha():
                blocks.add(" ".join(COMMENT.sub("", line).split()))
    return blocks


def disassembled(path):
    """A code object as text, with a label wherever a branch goes."""
    with open(path, "rb") as file:
        made_by = re.search(rb"clang version (\d+)", file.read())
    names = ([f"llvm-objdump-{made_by.group(1).decode()}"] if made_by else []) + ["llvm-objdump-19", "llvm-objdump"]
    tool = next((name for name in names if shutil.which(name)), names[0])
    return subprocess.run([tool, "-d", "--no-show-raw-insn", "--symbolize-operands", path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def main(paths):
    totals = {"functions": 0, "saving": 0, "restores": 0, "found": 0}
    read = 0
    named = []
    for path in paths:
        if path.startswith("@"):
            with open(path[1:]) as file:
                named += file.read().split()
        else:
            named.append(path)
    for path in named:
        if not os.path.exists(path):  # what is built at night only
            continue
        try:
            if path.endswith(".s"):
                with open(path) as file:
                    blocks = search(file.read())
            else:
                blocks = search(disassembled(path))
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        read += 1
        for name in totals:
            totals[name] += len(blocks.found) if name == "found" else getattr(blocks, name)
        for one in blocks.found:
            print(f"{path}: {one}: the lanes that come back have not saved it", file=sys.stderr)
    if read == 0:
        print("none of the files exists", file=sys.stderr)
        return 2
    print("{} files, {functions} functions, {saving} of which save registers; {restores} blocks in these where lanes come "
          "back, {found} saves before that".format(read, **totals))
    return 1 if totals["found"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
