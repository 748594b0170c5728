#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the mistakes of list.toml in copies of the project, one at a time, and requires that the named test fails.

Each test is built and run without any mistake first, and must pass then. A mistake is noticed ("red") when a test
reports a failure. A compile error, a crash or a hang counts only where the entry says so. The last line is
"N of N mistakes are noticed"; exit status 1 when one is not, 77 when a tool is missing.
"""

import argparse
import concurrent.futures
import hashlib
import html
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import zlib

import places

PROJECT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).resolve().parent / "list.toml"
EXEMPTIONS = PROJECT / "tests/machine/unneeded.txt"
COPIED = ("include", "tests", "examples", "bench")
KEYS = {"why", "edit", "test"}
OPTIONS = {"limit", "tries", "compile", "crash", "timeout"}
TEST_KEYS = {"source", "more", "flags", "main", "run", "filecheck", "limit"}
LIMIT = 60  # seconds for one run
# Seconds that a test waits for what a mistake may keep from coming.
ENVIRONMENT = {"XIO_TESTS_PATIENCE": "3", "TSAN_OPTIONS": "halt_on_error=1:exitcode=1"}
DEVICE_COMPILE_ERROR = re.compile(r"^(\d+ warnings? and )?\d+ errors? generated", re.MULTILINE)


class ListError(Exception):
    """The list does not fit the project, or a test does not pass without a mistake."""


class Missing(Exception):
    """A tool is not there."""


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


def run(command, limit=None, **options):
    """Exit status and output of a command; None where it ran longer than `limit`. Its children end with it."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               start_new_session=True, text=True, errors="replace", **options)
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def changes(sources, mutation):
    """The file that a mistake is made in, and its text with the mistake in it."""
    edits = mutation["edit"] if isinstance(mutation["edit"][0], list) else [mutation["edit"]]
    try:
        parts = sorted((sources.change(*edit) for edit in edits), reverse=True)
    except places.PlaceError as error:
        raise ListError(f"{mutation['name']}: {error}") from error
    path = parts[0][0]
    text = sources.texts[path]
    for file, begin, end, new in parts:
        if file != path:
            raise ListError(f"{mutation['name']}: is in two files")
        text = text[:begin] + new + text[end:]
    return path.relative_to(PROJECT), text


def check_markers(sources, mutations):
    """Each marker has a mistake or an exemption, and each exemption a place."""
    used = set()
    for mutation in mutations:
        edits = mutation["edit"] if isinstance(mutation["edit"][0], list) else [mutation["edit"]]
        used.update(place for edit in edits for place in sources.find(edit[0]))
    try:
        for _, _, keys, _ in places.exemptions(EXEMPTIONS):
            used.update(place for key in keys for place in sources.find_lines(key))
    except places.PlaceError as error:
        raise ListError(f"{EXEMPTIONS.name}: {error}") from error
    bare = [f"{name} ({place.source.path.relative_to(PROJECT)})"
            for name, found in sources.markers.items() for place in found if place not in used]
    if bare:
        raise ListError(f"markers without a mutation or an exemption: {', '.join(bare)}")


def load():
    """The list, checked: every entry is complete, matches the sources, and every hazard has one."""
    with LIST.open("rb") as file:
        data = tomllib.load(file)
    hazards, tests = data.pop("hazards"), data.pop("test")
    sources = places.Sources(PROJECT)
    try:
        _ = sources.markers
    except places.PlaceError as error:
        raise ListError(error) from error
    result = []
    for name, options in tests.items():
        if not set(options) <= TEST_KEYS:
            raise ListError(f"{name}: unknown keys")
    for hazard, named in data.items():
        for name, mutation in named.items():
            keys = set(mutation)
            if KEYS - keys or keys - KEYS - OPTIONS:
                raise ListError(f"{name}: keys are missing or unknown: {sorted(keys)}")
            test, case = mutation["test"] if isinstance(mutation["test"], list) else (mutation["test"], None)
            mutation = {"limit": tests.get(test, {}).get("limit", LIMIT), **mutation, "hazard": hazard, "name": name}
            mutation["file"], mutation["text"] = changes(sources, mutation)
            result.append({**mutation, "test": Test(test, tests.get(test, {})), "case": case})
    names = [mutation["name"] for mutation in result]
    twice = {name for name in names if names.count(name) > 1}
    if twice or set(hazards) != set(data):
        raise ListError(f"names twice: {sorted(twice)}, hazards without a mutation: {sorted(set(hazards) - set(data))}")
    check_markers(sources, result)
    return result


class Test:
    """How one test is built and run, in whatever copy of the project."""

    def __init__(self, name, options):
        self.name = name
        self.arch = options.get("filecheck")
        self.run = options.get("run")
        self.own_main = options.get("main", False)
        self.flags = options.get("flags", [])
        self.more = options.get("more", [])
        default = None if self.run else f"tests/{name}.cpp"
        self.source = options.get("source", f"tests/{name}.hip" if self.arch else default)
        self.title = name.replace("/", ".") + (f".{self.arch}" if self.arch else "")


class Workshop:
    """Copies of the project, compilers, and what was built already."""

    def __init__(self, folder, keep):
        self.folder = folder
        self.keep = keep
        self.compiler = os.environ.get("CXX", "g++")
        self.lock = threading.Lock()
        self.locks = {}
        self.built = {}
        self.bases = {}
        self.devlibs = None

    def copy(self, name):
        tree = self.folder / name
        shutil.rmtree(tree, ignore_errors=True)
        for part in COPIED:
            shutil.copytree(PROJECT / part, tree / part, ignore=shutil.ignore_patterns("mutations", "data"))
        return tree

    def host_flags(self, tree):
        return ["-std=c++17", "-O0", "-pthread", f"-I{tree}/include", f"-I{tree}/tests", f"-I{tree}/bench",
                f'-DXIO_TESTS_DIR="{tree}/tests"', "-DXIO_TESTS_SHARE=1"]

    def main_object(self):
        """The test runner, compiled once; it includes nothing of the library."""
        with self.lock:
            result = self.folder / "catch_main.o"
            sources = [PROJECT / "tests" / name for name in ("catch_main.cpp", "catch.hpp", "skip.hpp")]
            if not result.exists() or any(result.stat().st_mtime < source.stat().st_mtime for source in sources):
                command = [tool(self.compiler), *self.host_flags(PROJECT), "-c", str(sources[0]), "-o", str(result)]
                status, output = run(command)
                if status != 0:
                    raise ListError(f"catch_main.cpp does not compile:\n{output}")
            return str(result)

    def device_compiler(self, tree, arch):
        """The command that the tests of generated code use, see cmake/XioHip.cmake."""
        clang = tool("clang++-" + os.environ.get("XIO_LLVM_VERSION", "19"))
        with self.lock:
            if self.devlibs is None:
                self.devlibs = self.folder / "hip-devlibs"
                status, output = run([str(PROJECT / "scripts/hip-devlibs"), str(self.devlibs), arch])
                if status != 0:
                    raise Missing(output.strip())
        return [clang, "-x", "hip", "-std=c++17", "-O3", "--cuda-device-only", "--no-gpu-bundle-output",
                "--hip-path=/usr", f"--rocm-device-lib-path={self.devlibs}", "-Wall", "-Wextra", "-Wshadow",
                f"-I{tree}/include", f"-I{tree}/tests", f"--offload-arch={arch}"]

    def build(self, test, tree):
        """Builds the test's program, if it has one; returns the compiler's output where it does not compile."""
        if test.arch or not test.source:
            return None
        objects = [] if test.own_main else [self.main_object()]
        command = [tool(self.compiler), *self.host_flags(tree), *test.flags, str(tree / test.source),
                   *(str(tree / name) for name in test.more), *objects,
                   "-o", str(tree / "program")]
        status, output = run(command, cwd=tree)
        return None if status == 0 else output

    def command(self, test, tree, case):
        program = str(tree / "program")
        if test.run:
            words = []
            for word in test.run:
                if word == "{hip}":
                    words += self.device_compiler(tree, "gfx942")
                else:
                    words.append(word.format(program=program, tree=tree, case=case))
            return words
        if test.arch:
            source, output = str(tree / test.source), str(tree / "output.s")
            filecheck = tool("FileCheck-" + os.environ.get("XIO_LLVM_VERSION", "19"))
            prefixes = f"CHECK,AMD,GFX9,WAVE64,{test.arch.upper()}"
            never = "{{^[[:space:]]+(flat_|scratch_|[a-z]+_store_(byte|short|b8|b16|d16))}}"
            return [str(tree / "tests/codegen/run_filecheck.sh"), filecheck, source, prefixes, output, never,
                    *self.device_compiler(tree, test.arch), "-S", "-o", output, source]
        return [program, "--abort", "--reporter", "xml", *([case] if case else [])]

    def attempt(self, test, tree, case, limit):
        """Runs what was built; returns how it went, one of ok, red, compile, crash, timeout, and what tells why."""
        status, output = run(self.command(test, tree, case), limit, cwd=tree, env={**os.environ, **ENVIRONMENT})
        if status is None:
            return "timeout", output
        if status == 77:
            raise Missing(" ".join(output.split("skipped:")[-1].split())[:100])
        if status == 0:
            # A case that does not exist passes as well.
            return ("ok", "") if test.run or test.arch or "<TestCase " in output else ("crash", "no such test case")
        if DEVICE_COMPILE_ERROR.search(output):
            return "compile", output
        return ("red" if status in (1, 2) else "crash"), output

    def require_base(self, test, case):
        """The test passes without a mistake; built once for all cases, and run once for each."""
        with self.lock:
            lock = self.locks.setdefault(test.name, threading.Lock())
        with lock:
            if (test.name, case) in self.bases:
                state, output = self.bases[test.name, case]
            else:
                state, output = self.base(test, case)
                self.bases[test.name, case] = state, output
        if state != "ok":
            raise ListError(f"{test.title} does not pass as it is ({state}):\n{output[-4000:]}")

    def base(self, test, case):
        key = hashlib.sha256(repr((vars(test), case, self.compiler)).encode())
        for part in COPIED:
            for path in sorted((PROJECT / part).rglob("*")):
                if path.is_file() and "mutations" not in path.parts:
                    key.update(str(path).encode() + b"\0" + path.read_bytes())
        stamp = self.folder / f"passed-{key.hexdigest()[:32]}"
        if stamp.exists():
            return "ok", ""
        if test.name not in self.built:
            tree = self.copy("base-" + re.sub(r"\W", "-", test.name))
            self.built[test.name] = tree, self.build(test, tree)
        tree, output = self.built[test.name]
        if output is not None:
            return "compile", output
        state, output = self.attempt(test, tree, case, 5 * LIMIT)
        if state == "ok":
            stamp.touch()
        return state, output

    def try_mutation(self, test, mutation):
        """How the test takes the mistake."""
        tree = self.copy("mutated-" + mutation["name"])
        (tree / mutation["file"]).write_text(mutation["text"])
        try:
            output = self.build(test, tree)
            if output is not None:
                return "compile", output
            for _ in range(mutation.get("tries", 1)):
                state, output = self.attempt(test, tree, mutation["case"], mutation["limit"])
                if state != "ok":
                    break
            return state, output
        finally:
            if not self.keep:
                shutil.rmtree(tree, ignore_errors=True)


def reason(output):
    """What a failing test said, in a few words."""
    cases = re.findall(r'<TestCase name="([^"]*)"', output)
    if cases:
        return html.unescape(cases[-1])
    for pattern in (r"WARNING: (ThreadSanitizer: .*?)(?: \(pid.*)?$", r"error: (.*(?:not found|no match|excluded).*)$",
                    r"(.*kicks lost)$", r"(telemetry.* changes .*)$", r"EXCEEDED: (.*)$", r"\((exit status \d+)\)$"):
        found = re.search(pattern, output, re.MULTILINE)
        if found:
            return found[1].strip()
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else "no message"


def examine(shop, mutation, bases):
    """One line of the report, and whether the mistake was noticed (None: a tool is missing)."""
    head = f"{mutation['hazard']:<4} {mutation['name']} ... "
    test = mutation["test"]
    try:
        if bases:
            shop.require_base(test, mutation["case"])
        state, output = shop.try_mutation(test, mutation)
    except Missing as error:
        return f"{head}skipped: {error}", None
    except ListError as error:
        return f"{head}ERROR: {error}", False
    if state == "red" or (state != "ok" and mutation.get(state)):
        what = {"red": f'"{reason(output)}"', "compile": "does not compile", "timeout": "hangs", "crash": "crashes"}
        return f"{head}red ({test.title}: {what[state]})", True
    if state == "ok":
        return f"{head}NOT NOTICED by {test.title}", False
    tail = "\n    ".join(output.strip().splitlines()[-25:])
    return f"{head}not a failure but a {state} of {test.title}:\n    {tail}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("select", nargs="*", metavar="HAZARD|NAME", help="only these (default: all)")
    parser.add_argument("-j", type=int, default=1, metavar="N", dest="jobs", help="so many at once (default 1)")
    parser.add_argument("--share", type=int, metavar="N",
                        help="the N-th part whose turn it is today; tests are not run without a mistake first")
    parser.add_argument("--list", action="store_true", help="check the list against the sources, print it and stop")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", help="keeps what passed for the next time there")
    parser.add_argument("--keep", action="store_true", help="with --work: keep the copies with the mistakes too")
    arguments = parser.parse_args()
    try:
        mutations = load()
    except (ListError, tomllib.TOMLDecodeError) as error:
        print(f"list.toml: {error}")
        return 1
    known = {word for mutation in mutations for word in (mutation["hazard"], mutation["name"])}
    if set(arguments.select) - known:
        print(f"unknown: {', '.join(sorted(set(arguments.select) - known))}; see --list")
        return 1
    chosen = [mutation for mutation in mutations
              if not arguments.select or {mutation["hazard"], mutation["name"]} & set(arguments.select)]
    if arguments.share:
        # By hash: a new row moves few others to another day.
        chosen.sort(key=lambda mutation: zlib.crc32(mutation["name"].encode()))
        turn = time.gmtime().tm_yday % arguments.share
        chosen = [mutation for rank, mutation in enumerate(chosen) if rank * arguments.share // len(chosen) == turn]
    if arguments.list:
        for mutation in chosen:
            print(f"{mutation['hazard']:<4} {mutation['name']}: {mutation['why']} [{mutation['test'].name}]")
        return 0

    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="xio-mutations-") as temporary:
        folder = arguments.work.resolve() if arguments.work else pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        shop = Workshop(folder, arguments.keep)
        results = []
        with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
            for line, noticed in pool.map(lambda mutation: examine(shop, mutation, not arguments.share), chosen):
                print(line, flush=True)
                results.append(noticed)
    skipped = results.count(None)
    if skipped:
        print(f"{skipped} skipped for want of a tool")
    print(f"({time.monotonic() - began:.0f} s)")
    print(f"{results.count(True)} of {len(results) - skipped} mistakes are noticed")
    return 1 if False in results else 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
