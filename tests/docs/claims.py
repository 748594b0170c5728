#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""claims.py PROJECT: a row, an item or a paragraph of a page for users that names a GPU names a commit, too."""
import os
import re
import sys

from pages import pages
from words import is_for_users, read

GPU = re.compile(r"\b(H100|H200|MI\d{3}X?|RTX)\b")
COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
# Other projects' runs.
OTHERS = re.compile(r"rocm-xio|xNVMe")


def parts(text):
    """The rows of tables, the items of lists, and the paragraphs."""
    return re.split(r"\n(?=\||- |\d+\. )|\n{2,}", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def main():
    project, wrong, seen = os.path.abspath(sys.argv[1]), [], 0
    for page in filter(is_for_users, pages(project)):
        for part in parts(read(project, page)):
            if GPU.search(part) and not OTHERS.search(part):
                seen += 1
                if not COMMIT.search(part):
                    wrong.append(f"{page}: no commit is named: {part.strip()}")
    print("\n".join(wrong + [f"{seen} claims, {len(wrong)} wrong"]))
    return 1 if wrong or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
