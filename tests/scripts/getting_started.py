#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""getting_started.py PROJECT [KIND...]: types what docs/getting-started.md says, in its order, in a folder like a clone.

Blocks of "sh" are run, "cmake" is what reader/CMakeLists.txt holds from there on, "text" is what the commands before it
print on a terminal. A block with another word ("sh amd") is taken where KIND names that word."""
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    project, kinds = os.path.abspath(sys.argv[1]), sys.argv[2:]
    with open(os.path.join(project, "docs/getting-started.md"), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    output, ran = "", 0
    with tempfile.TemporaryDirectory() as clone, tempfile.TemporaryDirectory() as home:
        for name in os.listdir(project):
            if not name.startswith((".", "build")):
                os.symlink(os.path.join(project, name), os.path.join(clone, name))
        environment = {**os.environ, "HOME": home}
        for language, kind, content in blocks:
            if kind and kind not in kinds:
                continue
            if language == "sh":
                print(content, end="", flush=True)
                done = subprocess.run(["stdbuf", "-oL", "bash", "-euo", "pipefail", "-c", content], cwd=clone, env=environment, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                output, ran = done.stdout, ran + 1
                if done.returncode != 0:
                    print(f"{output}exit status {done.returncode}")
                    return 1
            elif language == "cmake":
                with open(os.path.join(home, "reader/CMakeLists.txt"), "w", encoding="utf-8") as file:
                    file.write(content)
            elif language == "text" and content != output:
                print(f"the page says:\n{content}but it is:\n{output}")
                return 1
            elif language not in ("sh", "cmake", "text"):
                print(f"a block of {language}, which nobody tests")
                return 1
    print(f"{ran} blocks of commands did what the page says")
    return 0 if ran else 1


if __name__ == "__main__":
    sys.exit(main())
