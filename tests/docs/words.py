#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""words.py PROJECT: counts the words for users, as wc -w does, and checks that the internals have a map.

README.md has at most 1,000 words; README.md, docs/*.md and docs/guides together at most 23,555. The rest belongs to
docs/internals, whose README.md links to each of its pages."""
import os
import sys

from pages import pages

README_WORDS = 1000
USER_WORDS = 23555


def is_for_users(page):
    return page == "README.md" or os.path.dirname(page) in ("docs", "docs/guides")


def read(project, page):
    with open(os.path.join(project, page), encoding="utf-8") as file:
        return file.read()


def main():
    project = os.path.abspath(sys.argv[1])
    counts = {page: len(read(project, page).split()) for page in pages(project) if is_for_users(page)}
    total, wrong = sum(counts.values()), []
    for page, count in sorted(counts.items(), key=lambda one: one[1]):
        print(f"{count:6} {page}")
    if counts["README.md"] > README_WORDS:
        wrong.append(f"README.md has {counts['README.md']} words, more than {README_WORDS}")
    if total > USER_WORDS:
        wrong.append(f"the pages for users have {total} words, more than {USER_WORDS}: docs/internals takes more")
    readme = read(project, "docs/internals/README.md")
    for page in pages(project):
        folder, name = os.path.split(page)
        if folder == "docs/internals" and name != "README.md" and f"]({name})" not in readme:
            wrong.append(f"docs/internals/README.md has no line for {name}")
    print("\n".join(wrong + [f"{total} words in {len(counts)} pages for users, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
