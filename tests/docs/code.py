#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""code.py PROJECT BUILD COMPILER...: compiles the C++ of the pages verbatim, and configures their CMake.

In code/<page>.cpp, each line "// block N" is replaced by the page's Nth block of C++; in the CMake project code/<page>.cmake, "# block N"
by its Nth block of CMake. README.md's first block of C++ is an excerpt of its second, which is examples/first_read.cpp. typed.py tests the pages that are typed."""
import os
import re
import subprocess
import sys
import tempfile

from pages import blocks, is_typed, pages

MARKER = re.compile(r"^ *(?://|#) block (\d+)\n", re.MULTILINE)


def fill(project, page, language, source):
    """The source with the page's blocks inserted, and an error message."""
    found = [block for block in blocks(project, page) if block.language == language]
    with open(source, encoding="utf-8") as file:
        text = file.read()
    numbers = [int(number) for number in MARKER.findall(text)]
    first = 3 if page == "README.md" and language == "cpp" else 1
    if sorted(numbers) != list(range(first, len(found) + 1)):
        return "", f"{source} has the blocks {numbers} of {page}, which has {len(found)}"

    def content(match):
        block = found[int(match.group(1)) - 1]
        if language != "cpp":
            return block.content
        after = text.count("\n", 0, match.end()) + 1
        includes.extend(re.findall(r"^#include .*\n", block.content, re.MULTILINE))
        rest = re.sub(r"^#include .*", "", block.content, flags=re.MULTILINE)
        return f'#line {block.line} "{os.path.join(project, page)}"\n{rest}#line {after} "{source}"\n'

    # Includes of blocks go to the top, since a block may be inside a function.
    includes = []
    text = MARKER.sub(content, text)
    return "".join(includes) + text, ""


def readme_is_the_example(project):
    excerpt, shown, *_ = (block.content for block in blocks(project, "README.md") if block.language == "cpp")
    with open(os.path.join(project, "examples/first_read.cpp"), encoding="utf-8") as file:
        example = file.read()
    return excerpt in shown and shown == example[example.index("#include <cstdio>"):]


def main():
    project, build, compiler = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    wrong, done = [], 0
    if not readme_is_the_example(project):
        wrong.append("README.md shows another program than examples/first_read.cpp")
    for page in pages(project):
        if is_typed(page):
            continue
        for language, ending in (("cpp", "cpp"), ("cmake", "cmake")):
            count = sum(block.language == language for block in blocks(project, page))
            source = os.path.join(project, "tests/docs/code", os.path.basename(page)[:-3] + "." + ending)
            if count == 0 or (page == "README.md" and language == "cpp" and count == 2):
                continue
            if not os.path.exists(source):
                wrong.append(f"{page} has {count} blocks of {language}, and there is no {source}")
                continue
            text, why = fill(project, page, language, source)
            if why:
                wrong.append(why)
                continue
            with tempfile.TemporaryDirectory() as folder:
                if language == "cpp":
                    command = [*compiler, "-fsyntax-only", "-x", "c++", "-"]
                else:
                    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                        file.write(text)
                    command = ["cmake", "-S", folder, "-B", os.path.join(folder, "b"), f"-Dxio_DIR={build}"]
                    text = ""
                result = subprocess.run(command, input=text, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            done += count
            if result.returncode != 0:
                wrong.append(f"{page}: {' '.join(command)}: exit status {result.returncode}\n{result.stdout}")
            else:
                print(f"{page}: {count} blocks of {language}")
    print("\n".join(wrong + [f"{done} blocks, {len(wrong)} wrong"]))
    return 1 if wrong or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
