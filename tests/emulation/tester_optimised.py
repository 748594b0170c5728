#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tester_optimised.py PROGRAM OPTIMISED OTHER: of the inline functions that both libraries define, PROGRAM has those of OPTIMISED."""

import subprocess
import sys


def sizes(path):
    """Sizes of the weak functions of a program or archive, by name."""
    result = {}
    output = subprocess.run(["nm", "-S", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] == "W":
            result.setdefault(fields[3], set()).add(int(fields[1], 16))
    return result


program, optimised, other = map(sizes, sys.argv[1:])
told_apart = [name for name in program if name in optimised and name in other and not optimised[name] & other[name]]
wrong = [name for name in told_apart if not program[name] <= optimised[name]]
for name in wrong[:10]:
    print(f"{name}: {program[name]} bytes, {optimised[name]} where it is optimised")
print(f"{len(told_apart)} functions, {len(wrong)} not optimised")
sys.exit(1 if wrong or len(told_apart) < 20 else 0)
