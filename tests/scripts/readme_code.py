#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""readme_code.py PROJECT COMPILER...: the first C++ block of the README is examples/first_read.cpp, word for word, and the
README's command for the CPU, which follows it, builds and runs it."""
import os
import re
import subprocess
import sys
import tempfile


def blocks(text, language):
    return re.findall(r"^```" + language + r"\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def main():
    project = sys.argv[1]
    with open(os.path.join(project, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    with open(os.path.join(project, "examples/first_read.cpp"), encoding="utf-8") as file:
        example = file.read()
    shown = blocks(readme, "cpp")[0]
    if shown != example[example.index("#include <cstdio>"):]:
        print("README.md shows another program than examples/first_read.cpp")
        return 1
    commands = [line for block in blocks(readme, "sh") for line in block.split("\n") if line.startswith("g++")]
    if len(commands) != 1:
        print(f"README.md has {len(commands)} commands for g++, and 1 was expected")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        for name in ("include", "examples"):
            os.symlink(os.path.join(project, name), os.path.join(folder, name))
        print(commands[0])
        return subprocess.run(["bash", "-euc", commands[0]], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
