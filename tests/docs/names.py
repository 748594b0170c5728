#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""names.py PROJECT: a file or a call that a page names in `...` exists in this project.

A file may be named by the end of its path. A call, `name()`, is a word of some source. Left out are the pages of old names, and blocks
of code, which other tests compile."""
import os
import re
import sys

from pages import pages
from words import read

SOURCES = ("include", "examples", "bench", "scripts", "tests", "cmake", "packaging")
OLD = ("docs/migration.md", "docs/internals/moved-headers.md")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?<![\w*/.<>-])((?:[\w.-]+/)*[\w-]+\.(?:hpp|cpp|hip|cmake|py|sh|toml))\b")
CALL = re.compile(r"\b(\w+)(?:<[^>]*>)?\(\)")
# Of the system, of other libraries, and in the recipes for what is not there yet.
OTHERS = re.compile(r"newnic|^build-lab/|NAME|no_traits|^tests/unit/ring\.cpp|^(nvme_scan|__activemask|fork|exec|_?exit|mmap|madvise|posix_spawn)$")


def main():
    project, files, words, wrong, seen = os.path.abspath(sys.argv[1]), set(), set(), [], 0
    for folder in SOURCES:
        for where, _, names in os.walk(os.path.join(project, folder)):
            for name in names:
                path = os.path.join(where, name)
                parts = os.path.relpath(path, project).split("/")
                files.update("/".join(parts[i:]) for i in range(len(parts)))
                with open(path, encoding="utf-8", errors="ignore") as file:
                    words.update(re.findall(r"\w+", file.read()))
    for page in pages(project):
        if page in OLD or page.startswith("docs/results/"):
            continue
        for span in re.findall(r"`([^`\n]+)`", BLOCK.sub("", read(project, page))):
            for kind, known, found in (("file", files, FILE.findall(span)), ("call", words, CALL.findall(span))):
                for name in found:
                    seen += 1
                    if name not in known and not OTHERS.search(name):
                        wrong.append(f"{page}: there is no {kind} {name}")
    print("\n".join(wrong + [f"{seen} names, {len(wrong)} wrong"]))
    return 1 if wrong or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
