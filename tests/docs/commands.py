#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commands.py PROJECT BUILD [--night] [--kinds KIND,...] [--page PAGE]: runs the commands of the pages verbatim.

typed.py tests the pages that are typed from start to end. commands.toml has an entry for each command of the other pages; a
command without an entry and an entry without a command are failures. The keys of an entry:

  command   as on the page, without a trailing comment; a line that ends in a backslash is joined with the next one
  status    the exit status (0)
  prints    words that the output contains
  by        not run here: the test of this name types it or does the same, or the file of this name runs it
  kind      runs if --kinds contains this word
  night     runs only with --night
  before    a command to run first
  files     files that the command needs beside the project: "name = from", relative to the project
  fresh     in a clone without a build folder"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

from pages import blocks, clone, dirt, is_typed, pages

KEYS = {"command", "status", "prints", "by", "kind", "night", "before", "files", "fresh"}


def commands_of(block):
    """The commands of a block, each with its line number."""
    line, text, start = block.line, "", block.line
    for one in block.content.split("\n"):
        one = re.sub(r"\s+#\s.*$", "", one) if not one.startswith("#") else ""
        if text:
            one = one.lstrip()
        else:
            start = line
        line += 1
        if one.endswith("\\"):
            text += one[:-1].rstrip() + " "
            continue
        text += one
        if text:
            yield start, text.strip()
        text = ""


def run(entry, project, build, limit):
    environment = {**os.environ, "PATH": os.path.join(build, "bench") + os.pathsep + os.environ["PATH"]}
    with tempfile.TemporaryDirectory() as folder:
        clone(project, folder)
        if not entry.get("fresh"):
            os.symlink(build, os.path.join(folder, "build"))
        for name, source in entry.get("files", {}).items():
            shutil.copy(os.path.join(project, source), os.path.join(folder, name))
        # sudo cannot ask for a password without a terminal; in CI, root runs this.
        script = "sudo() { \"$@\"; }\n" + "\n".join(filter(None, [entry.get("before"), entry["command"]]))
        try:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, check=False, timeout=limit,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return f"it did not end within {limit} s", ""
        left = set(dirt(project, folder)) - set(entry.get("files", {}))
    wanted = entry.get("status", 0)
    if done.returncode != wanted:
        return f"exit status {done.returncode}, not {wanted}", done.stdout
    if left:
        return f"a clone has new files after it: {' '.join(sorted(left))}", done.stdout
    if entry.get("prints", "") not in done.stdout:
        return f"it does not print: {entry['prints']}", done.stdout
    return "", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("project")
    parser.add_argument("build")
    parser.add_argument("--night", action="store_true")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--page", default="")
    arguments = parser.parse_args()
    project, build = os.path.abspath(arguments.project), os.path.abspath(arguments.build)
    with open(os.path.join(project, "tests/docs/commands.toml"), "rb") as file:
        entries = {entry["command"]: entry for entry in tomllib.load(file)["entry"]}
    tests = subprocess.run(["ctest", "--test-dir", build, "-N"], check=True, capture_output=True, text=True).stdout
    tests = set(re.findall(r"^ *Test +#\d+: (\S+)", tests, re.MULTILINE))
    wrong, ran, seen = [], 0, set()
    for entry in entries.values():
        if not set(entry) <= KEYS:
            wrong.append(f"commands.toml: unknown keys {set(entry) - KEYS} of: {entry['command']}")
        if "by" in entry and entry["by"] not in tests and not os.path.exists(os.path.join(project, entry["by"])):
            wrong.append(f"commands.toml: there is no test and no file {entry['by']}")
    for page in pages(project):
        if is_typed(page):
            continue
        for block in blocks(project, page):
            # A job of fio is taken from the page by `before` of the command that runs it, Python by tests/python/package.py.
            if block.language not in ("sh", "cpp", "cmake", "text", "ini", "python"):
                wrong.append(f"{page}:{block.line}: a block of '{block.language}', which nobody tests")
            if block.language != "sh":
                continue
            for line, command in commands_of(block):
                entry = entries.get(command)
                first = command not in seen
                seen.add(command)
                if entry is None:
                    wrong.append(f"{page}:{line}: tests/docs/commands.toml does not say how this ends: {command}")
                    continue
                if not first or "by" in entry or arguments.page not in ("", page) or (entry.get("night") and not arguments.night):
                    continue
                if "kind" in entry and entry["kind"] not in arguments.kinds.split(","):
                    continue
                print(f"{page}:{line}: {command}", flush=True)
                why, output = run(entry, project, build, 1800 if arguments.night else 240)
                ran += 1
                if why:
                    wrong.append(f"{page}:{line}: {command}: {why}\n{output}")
    wrong += [f"commands.toml: no page has this command: {one}" for one in entries if one not in seen]
    print("\n".join(wrong + [f"{ran} commands run, {len(wrong)} wrong"]))
    return 1 if wrong or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
