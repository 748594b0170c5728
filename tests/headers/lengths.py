#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lengths.py PROJECT: no file is longer than one reads at a time. Tables of data, and what a program has written, may be."""
import os
import sys

MOST_LINES = {"include": 400, "bench": 400, "examples": 400, "scripts": 400, "cmake": 400, "packaging": 400, "tests": 600}
WRITTEN = (".hpp", ".cpp", ".h", ".hip", ".cu", ".py", ".sh", ".cmake", ".txt", "")
# A list, and not text: exemptions.
DATA = ("tests/machine/unneeded.txt",)


def main():
    project = sys.argv[1]
    wrong, count = [], 0
    for folder, most in MOST_LINES.items():
        for where, _, names in os.walk(os.path.join(project, folder)):
            for name in names:
                path = os.path.join(where, name)
                file = os.path.relpath(path, project)
                if file.startswith(DATA) or os.path.splitext(name)[1] not in WRITTEN or os.path.islink(path) or "__pycache__" in file:
                    continue
                with open(path, encoding="utf-8", errors="replace") as text:
                    lines = sum(1 for _ in text)
                count += 1
                if lines > most:
                    wrong.append(f"{file}: {lines} lines, at most {most}")
    print("\n".join(sorted(wrong) + [f"{count} files, {len(wrong)} too long"]))
    return 1 if wrong or count < 800 else 0


if __name__ == "__main__":
    sys.exit(main())
