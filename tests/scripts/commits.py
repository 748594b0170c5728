#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commits.py PROJECT [RANGE]: checks the messages of commits: of RANGE, else of those after the one that added this file.

A subject is `area: verb object`, at most 72 characters, about one change; a body of 2 to 6 lines says what was wrong or missing, why it was
done this way and how it was checked. CONTRIBUTING.md shows a good and a bad one.
"""

import re
import subprocess
import sys

SUBJECT = re.compile(r"^[a-z0-9][a-z0-9_.+/-]*(, [a-z0-9_.+/-]+)*: [a-z]")
TRAILER = re.compile(r"^[A-Z][A-Za-z-]+: ")


def wrongs_of(message):
    """What is wrong with a message."""
    lines = message.rstrip().split("\n")
    subject, body = lines[0], [line for line in lines[2:] if line.strip() and not TRAILER.match(line)]
    if not SUBJECT.match(subject):
        yield "the subject is not `area: verb object`"
    if len(subject) > 72:
        yield f"the subject has {len(subject)} characters; 72 are the most"
    if ";" in subject:
        yield "a `;` in the subject: two changes are two commits"
    if re.search(r"\b(what|which)\b", subject):
        yield "a clause with `what` or `which` where a noun exists"
    if len(lines) > 1 and lines[1].strip():
        yield "no empty line after the subject"
    if not 2 <= len(body) <= 6:
        yield f"a body of {len(body)} lines; 2 to 6 say why and how it was checked"


def git(project, *arguments):
    result = subprocess.run(["git", "-C", project, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"skipped: git {arguments[0]}: {result.stderr.strip() or 'fails'}")
        sys.exit(77)
    return result.stdout


def main():
    project = sys.argv[1]
    if git(project, "rev-parse", "--is-shallow-repository").strip() == "true":
        print("skipped: a shallow clone has no history")
        sys.exit(77)
    if len(sys.argv) > 2:
        commits = sys.argv[2]
    else:
        added = git(project, "log", "--diff-filter=A", "--format=%H", "--", "tests/scripts/commits.py").split()
        if not added:
            print("skipped: this file is not committed")
            sys.exit(77)
        commits = f"{added[-1]}..HEAD"
    wrong = 0
    looked = 0
    for commit in git(project, "rev-list", "--no-merges", commits).split():
        looked += 1
        message = git(project, "log", "-1", "--format=%B", commit)
        for text in wrongs_of(message):
            print(f"{commit[:12]} {message.splitlines()[0]}\n  {text}")
            wrong += 1
    print(f"{looked} commits, {wrong} wrong")
    sys.exit(wrong != 0)


main()
