#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recipes.py PROJECT VERSION: recipes whose client is not at hand can be read, and say what the sources say."""
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
    print("\n".join(wrong) or "recipes: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
