#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""typed.py PROJECT PAGE [KIND...]: types the blocks of a page of docs/ in order, in a folder like a clone.
typed.py --share N PROJECT PAGE...: of these pages each N-th, of which it is the turn today.

"sh" is run, "text" is the output of the preceding commands on a terminal, "cmake" becomes the contents of reader/CMakeLists.txt in the
home folder, and "cpp" occurs verbatim in a source of examples/ that the page names, or becomes the file that it names itself ("cpp
file.cpp"). A block with a further word ("sh amd") is used if KIND contains that word."""
import os
import re
import subprocess
import sys
import tempfile
import time

from pages import blocks, clone, dirt


def examples_of(project, page):
    with open(os.path.join(project, page), encoding="utf-8") as file:
        names = set(re.findall(r"examples/[\w/]+\.[ch]pp", file.read()))
    for name in sorted(names):
        with open(os.path.join(project, name), encoding="utf-8") as file:
            yield file.read()


def type_page(project, page, kinds):
    output, ran = "", 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        clone(project, folder)
        environment = {**os.environ, "HOME": home}
        for block in blocks(project, page):
            words = block.kind.split()
            files = [word for word in words if "." in word]
            if any(word not in files + kinds for word in words):
                continue
            where = f"{page}:{block.line}"
            if block.language == "sh":
                print(block.content, end="", flush=True)
                done = subprocess.run(["stdbuf", "-oL", "bash", "-euo", "pipefail", "-c", block.content], cwd=folder, env=environment,
                                      check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                output, ran = done.stdout, ran + 1
                if done.returncode != 0:
                    print(f"{output}{where}: exit status {done.returncode}")
                    return 1
            elif block.language == "cmake":
                with open(os.path.join(home, "reader/CMakeLists.txt"), "w", encoding="utf-8") as file:
                    file.write(block.content)
            elif block.language == "text":
                if block.content != output:
                    print(f"{where}: the page says:\n{block.content}but it is:\n{output}")
                    return 1
            elif block.language == "cpp" and files:
                with open(os.path.join(folder, files[0]), "w", encoding="utf-8") as file:
                    file.write(block.content)
            elif block.language == "cpp":
                if not any(block.content in source for source in examples_of(project, page)):
                    print(f"{where}: stands in none of the examples that the page names:\n{block.content}")
                    return 1
            else:
                print(f"{where}: a block of '{block.language}', which nobody tests")
                return 1
        if left := dirt(project, folder):
            print(f"{page}: a clone has new files after this: {' '.join(left)}")
            return 1
    print(f"{ran} blocks of commands did what the page says")
    return 0 if ran else 1


def main():
    if sys.argv[1] != "--share":
        return type_page(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:])
    share, project, pages = int(sys.argv[2]), os.path.abspath(sys.argv[3]), sys.argv[4:]
    turn = time.gmtime().tm_yday % share
    return max([type_page(project, page, []) for rank, page in enumerate(pages) if rank % share == turn], default=0)


if __name__ == "__main__":
    sys.exit(main())
