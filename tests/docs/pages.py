# SPDX-License-Identifier: MIT
"""The code blocks of README.md, CONTRIBUTING.md and docs/*.md."""
import os
import re
import subprocess
from typing import NamedTuple

BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: str  # relative to the project
    line: int  # of the first line of content, from 1
    language: str
    kind: str  # the word after the language: "sh amd"
    content: str


def pages(project):
    """The pages, relative to the project."""
    found = ["README.md", "CONTRIBUTING.md"]
    for folder, _, names in os.walk(os.path.join(project, "docs")):
        found += [os.path.relpath(os.path.join(folder, name), project) for name in names if name.endswith(".md")]
    return sorted(found)


def blocks(project, page):
    with open(os.path.join(project, page), encoding="utf-8") as file:
        text = file.read()
    for match in BLOCK.finditer(text):
        language, _, kind = match.group(1).partition(" ")
        yield Block(page, text.count("\n", 0, match.start(2)) + 1, language, kind, match.group(2))


def is_typed(page):
    """Whether the page is typed from its first block to its last."""
    return page in ("docs/getting-started.md", "docs/internals/laboratory.md") or page.startswith("docs/guides/")


def dirt(project, folder):
    """What was made in such a folder that git would list as new in a clone; nothing where the project is no clone."""
    made = [name for name in sorted(os.listdir(folder)) if not os.path.islink(os.path.join(folder, name))]
    if not made or not os.path.exists(os.path.join(project, ".git")):
        return []
    # A folder is ignored as such.
    made = [name + "/" * os.path.isdir(os.path.join(folder, name)) for name in made]
    done = subprocess.run(["git", "-C", project, "check-ignore", "--no-index", *made], stdout=subprocess.PIPE, text=True, check=False)
    return sorted(set(made) - set(done.stdout.split("\n"))) if done.returncode < 2 else []


def clone(project, folder, *more):
    """Makes `folder` look like a clone of the project; `more`: names that are otherwise omitted."""
    for name in os.listdir(project):
        if name in more or not name.startswith((".", "build")):
            os.symlink(os.path.join(project, name), os.path.join(folder, name))
