#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""code_sizes.py LIMITS COMPILER...: runs the compiler, which writes assembly for an AMD GPU to its standard output, and
checks the code size of each kernel, in which every function that it calls counts once.

LIMITS: KERNEL=BYTES, separated by commas; KERNEL=BYTES/REGISTERS/SCRATCH if it may spill registers to others or use
bytes of scratch memory; KERNEL-OTHER=BYTES for what it has more than another one."""

import re
import subprocess
import sys


def read(assembly):
    """By function in `assembly`: bytes of code, functions called, and bytes of scratch memory; by kernel, registers
    spilled."""
    size, calls, memory, spilled = {}, {}, {}, {}
    name = None
    for line in assembly.splitlines():
        if start := re.match(r"\s*\.type\s+([\w.$]+),@function", line):
            name = start[1]
            calls[name] = set()
        elif length := re.match(r"; codeLenInByte = (\d+)", line):
            size[name] = int(length[1])
        elif scratch := re.match(r"; ScratchSize: (\d+)", line):
            memory[name] = int(scratch[1])
        elif kernel := re.match(r"\s+\.name:\s+([\w.$]+)$", line):
            described = kernel[1]
        elif spills := re.match(r"\s+\.[sv]gpr_spill_count:\s+(\d+)", line):
            spilled[described] = spilled.get(described, 0) + int(spills[1])
        elif name:
            calls[name].update(re.findall(r"([\w.$]+)@(?:rel32|gotpcrel32)", line))
    return size, calls, memory, spilled


def reached(name, calls, known):
    for called in calls.get(name, ()):
        if called not in known:
            known.add(called)
            reached(called, calls, known)
    return known


def main():
    result = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit(result.returncode)
    size, calls, memory, spilled = read(result.stdout.decode())
    failed = False
    for limit in sys.argv[1].split(","):
        kernel, most = limit.split("=")
        kernel, _, other = kernel.partition("-")
        most, spills, scratch = (int(number) for number in (most + "/0/0").split("/")[:3])
        if {kernel, other} - {""} - set(size):
            sys.exit(f"no kernel {kernel} {other}")
        called = [name for name in reached(kernel, calls, set()) if name in size]
        if other:
            whole = size[kernel] - size[other]
            print(f"{kernel}: {whole} bytes more than {other}, at most {most}")
        else:
            whole = size[kernel] + sum(size[name] for name in called)
            print(f"{kernel}: {whole} bytes, at most {most}; {size[kernel]} without the {len(called)} functions that it calls")
        if whole > most:
            print("  EXCEEDED")
            failed = True
        if other:
            continue
        if spilled[kernel] > spills:
            print(f"  it spills {spilled[kernel]} registers")
            failed = True
        used = max(memory.get(name, 0) for name in [kernel, *called])
        if used > scratch:
            print(f"  it uses {used} bytes of scratch memory")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
