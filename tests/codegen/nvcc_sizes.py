#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nvcc_sizes.py LIMITS OUTPUT COMPILER...: runs the compiler, which writes a cubin to the file OUTPUT, and checks the
number of instructions of each kernel, with every function that it calls, and its registers.

LIMITS: KERNEL=INSTRUCTIONS/REGISTERS, separated by commas; KERNEL=INSTRUCTIONS/REGISTERS/STACK if it may use bytes of
stack; KERNEL-OTHER=INSTRUCTIONS for what it has more than another one."""

import os
import re
import struct
import subprocess
import sys

INSTRUCTION_BYTES = 16


def code_sizes(elf):
    """Instructions by section of code."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<II8xQQQ", elf, table + i * entry_bytes) for i in range(count)]  # name, type, …
    names = sections[names_index][3]
    sizes = {}
    for name, _, _, _, size in sections:
        text = elf[names + name:elf.index(b"\0", names + name)].decode()
        if text.startswith(".text."):
            sizes[text[len(".text."):]] = size // INSTRUCTION_BYTES
    return sizes


def resources(report):
    """Registers and bytes of stack by kernel, from what ptxas reports."""
    found = {}
    kernel = None
    for line in report.splitlines():
        if start := re.search(r"Compiling entry function '([^']+)'", line):
            kernel = start[1]
        elif used := re.search(r"Used (\d+) registers", line):
            stack = re.search(r"(\d+) bytes cumulative stack size", line)
            found[kernel] = (int(used[1]), int(stack[1]) if stack else 0)
    return found


def main():
    output = sys.argv[2]
    os.makedirs(os.path.dirname(output), exist_ok=True)
    command = [*sys.argv[3:], "-cubin", "--resource-usage", "-o", output]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        sys.exit(result.stdout)
    with open(output, "rb") as file:
        sizes = code_sizes(file.read())
    used = resources(result.stdout)
    if alone := sorted(set(sizes) - set(used)):
        sys.exit(f"no kernel, but code of its own: {alone}")
    failed = False
    for limit in sys.argv[1].split(","):
        name, most = limit.split("=")
        kernel, _, other = name.partition("-")
        if missing := {kernel, other} - {""} - set(sizes):
            sys.exit(f"no kernel {missing}")
        if other:
            whole = sizes[kernel] - sizes[other]
            print(f"{kernel}: {whole} instructions more than {other}, at most {most}")
            exceeded = whole > int(most)
        else:
            here = (sizes[kernel], *used[kernel])
            limits = tuple(int(number) for number in (most + "/0").split("/")[:3])
            print("{}: {} instructions, {} registers, {} bytes of stack; at most {}".format(kernel, *here, most))
            exceeded = any(value > bound for value, bound in zip(here, limits))
        if exceeded:
            print("  EXCEEDED")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
