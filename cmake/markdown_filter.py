#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""markdown_filter.py FILE: prints a page of docs as Doxygen reads it.

Headings get labels (GitHub derives its own from their text), links to pages, headings, headers and examples become links inside the
reference, and links to other files of the project become plain text."""
import os
import re
import sys

FENCE = re.compile(r"^```(\w*)[^\n]*$")
HEADING = re.compile(r"^(#+) +(.*?) *$")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^()\s]+)\)")
IMAGE = re.compile(r"(!\[[^\[\]]*\]\()(?![a-z]+:)([^()\s]+/)([^()/\s]+\))")
PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def label(path):
    """The label of a page: docs/guides/many-waves.md is page_guides_many_waves, docs/guides/README.md page_guides."""
    inner = re.sub(r"(/README)?\.md$", "", os.path.relpath(path, os.path.join(PROJECT, "docs")))
    return "page_" + re.sub(r"[^A-Za-z0-9]", "_", inner)


def anchor(heading):
    """The label of a heading below that of its page, as GitHub derives it, with underscores."""
    plain = re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower())
    return re.sub(r"[- ]", "_", plain)


def link(page, text, target):
    """The link of a page to `target`, as Doxygen reads it."""
    if re.match(r"[a-z]+:", target):
        return f"[{text}]({target})"
    path, _, heading = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    inner = os.path.relpath(file, PROJECT)
    if inner == "README.md":
        return f"[{text}](@ref index)"
    if inner.startswith("docs/") and inner.endswith(".md"):
        if heading:
            return f"[{text}](@ref {label(file)}_{anchor(heading)})"
        if os.path.basename(page) == "README.md" and file.startswith(os.path.dirname(page) + os.sep):
            return f'@subpage {label(file)} "{text}"'
        return f"[{text}](@ref {label(file)})"
    if inner.startswith("include/") and os.path.isfile(file):
        return f"[{text}](@ref {inner[len('include/'):]})"
    if inner.startswith("examples/") and os.path.isfile(file):
        return f"@link {inner[len('examples/'):]} {text} @endlink"
    return text


def main():
    page = os.path.abspath(sys.argv[1])
    fenced, seen = False, {}
    with open(page, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            fence = FENCE.match(line)
            heading = HEADING.match(line)
            if fence:
                fenced = not fenced
                line = "```" + fence.group(1)
            elif fenced:
                pass
            elif heading:
                title = heading.group(2)
                if heading.group(1) == "#":
                    own = label(page)
                else:
                    own = f"{label(page)}_{anchor(title)}"
                    seen[own] = seen.get(own, 0) + 1
                    if seen[own] > 1:
                        own += f"_{seen[own] - 1}"
                line = f"{heading.group(1)} {title} {{#{own}}}"
            else:
                # Doxygen finds images by their names, in IMAGE_PATH.
                line = IMAGE.sub(r"\1\3", line)
                line = LINK.sub(lambda match: link(page, match.group(1), match.group(2)), line)
            print(line)


if __name__ == "__main__":
    main()
