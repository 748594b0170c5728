#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recipes.py PROJECT VERSION: recipes and pages say what the sources say: version, options, files."""
import ast
import json
import pathlib
import re
import sys


def main():
    project = pathlib.Path(sys.argv[1])
    wrong = []
    port = json.loads((project / "packaging/vcpkg/xio/vcpkg.json").read_text())
    if port["version"] != sys.argv[2]:
        wrong.append(f"vcpkg.json has version {port['version']}, the headers have {sys.argv[2]}")
    options = set(re.findall(r"XIO_[A-Z_]+", (project / "cmake/XioOptions.cmake").read_text()))
    for path in sorted((project / "packaging").rglob("*")):
        if path.suffix == ".py":
            ast.parse(path.read_text(), str(path))
        if path.suffix in (".py", ".cmake"):
            for option in set(re.findall(r"XIO_BUILD_[A-Z]+", path.read_text())) - options:
                wrong.append(f"{path}: there is no option {option}")
    newest = re.search(r"^## (\S+)", (project / "CHANGELOG.md").read_text(), re.MULTILINE).group(1)
    if newest != sys.argv[2]:
        wrong.append(f"CHANGELOG.md begins with {newest}, the headers have {sys.argv[2]}")
    for path in [*project.glob("*.md"), project / "packaging/README.md"]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            if not (path.parent / link).exists():
                wrong.append(f"{path}: there is no {link}")
    print("\n".join(wrong) or "recipes: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
