# SPDX-License-Identifier: MIT
"""What the tests of the engine of fio share: runs of fio, and checks of what it reports."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

COMMON = {"bs": "4k", "iodepth": 16, "thread": 1, "size": "8m"}


class Fio:
    """Runs fio with the engine ENGINE in a folder of its own."""

    def __init__(self, engine, controller):
        if not shutil.which("fio"):
            skip("no fio (Debian: fio)")
        if controller.startswith("qemu") and not shutil.which(os.environ.get("XIO_QEMU", "qemu-system-x86_64")):
            skip("no QEMU")
        self.engine = os.path.abspath(engine)
        self.controller = controller
        self.folder = tempfile.TemporaryDirectory()
        self.limit = 600  # seconds of a run
        self.failed = 0
        self.checks = 0

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write_jobs(self, jobs, **common):
        """`jobs` are (name, options); an option None is left out."""
        common = {**COMMON, "controller": self.controller, **common}
        lines = ["[global]", f"ioengine=external:{self.engine}"]
        lines += [f"{key}={value}" for key, value in common.items() if value is not None]
        for name, options in jobs:
            lines += [f"[{name}]"] + [f"{key}={value}" for key, value in options.items()]
        with open(self.path("jobs.fio"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return self.path("jobs.fio")

    def words(self, jobs, *arguments, **common):
        return ["fio", self.write_jobs(jobs, **common), "--eta=never", "--output-format=json",
                f"--output={self.path('out.json')}", *arguments]

    def run(self, jobs, *arguments, **common):
        """Runs the jobs of `jobs`, and returns the exit status, the jobs by name (a list for each), and the messages."""
        ended = subprocess.run(self.words(jobs, *arguments, **common), cwd=self.folder.name, text=True, timeout=self.limit,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ended.returncode, self.reports(), ended.stdout

    def reports(self):
        """What fio wrote last: by the name of each job a list of its reports."""
        found = {}
        try:
            with open(self.path("out.json"), encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            return found
        # Messages come before and between them: with --status-interval several reports follow each other.
        decoder = json.JSONDecoder()
        self.documents = [decoder.raw_decode(text, begin.start())[0] for begin in re.finditer(r"^\{$", text, re.MULTILINE)]
        if self.documents:
            for job in self.documents[-1]["jobs"]:
                found.setdefault(job["jobname"], []).append(job)
        return found

    def check(self, holds, what):
        self.checks += 1
        if not holds:
            self.failed += 1
            print(f"FAILED: {what}")

    def finish(self, title):
        print(f"{title}: {self.checks - self.failed} of {self.checks}")
        sys.exit(1 if self.failed or not self.checks else 0)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)
