#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers.py INCLUDE: folders of xio include only what lies below them, and each what it names; nothing includes what takes long to compile.
What is one GPU's or one processor's own, and macros, have their places."""
import os
import re
import subprocess
import sys

# Each folder, with the folders that it may include; itself, xio/config.hpp and xio/version.hpp always.
CORE = ["device/arch", "device/core"]
KERNEL = CORE + ["device/queue"]
SETUP = ["device/arch", "device/core", "host", "host/linux"]
NICS = subprocess.run([os.path.join(os.path.dirname(__file__), "../../scripts/vendors")], check=True, capture_output=True,
                      text=True).stdout.split()
BELOW = {
    "device/arch": [],
    "device/core": ["device/arch"],
    "vendors": CORE,
    "vendors/rdma": CORE + ["vendors"],
    "vendors/nvme": CORE + ["vendors"],
    **{f"vendors/{nic}": CORE + ["vendors", "vendors/rdma"] for nic in NICS},
    "device/queue": CORE,
    "device/nvme": KERNEL + ["vendors/nvme"],
    "device/cache": KERNEL + ["device/nvme", "vendors/nvme"],
    "device/rdma": KERNEL + ["vendors/rdma"],
    "device/fabrics": KERNEL + ["device/nvme", "device/rdma", "vendors/nvme", "vendors/rdma"],
    "device/abi": [""],
    "": KERNEL + ["", "device/nvme", "device/cache", "device/rdma", "device/fabrics", "vendors/*"],
    "host": CORE,
    "host/linux": CORE + ["host", "vendors/nvme"],
    "host/topology": SETUP,
    "host/gpu": SETUP,
    "host/memory": SETUP + ["host/gpu"],
    "host/simt": SETUP + ["host/gpu"],
    "host/nvme": SETUP + ["host/gpu", "host/memory", "device/queue", "device/nvme", "vendors/nvme"],
    "host/rdma": SETUP + ["host/gpu", "host/memory", "device/queue", "device/rdma", "vendors/*"],
    "host/c": SETUP + ["host/gpu", "host/memory", "host/nvme", "device/nvme", "vendors/nvme"],
    "host/emulation": SETUP + ["host/memory"],
    "host/emulation/nvme": SETUP + ["host/memory", "host/nvme", "host/emulation", "vendors/nvme"],
    "host/emulation/rdma": SETUP + ["host/memory", "host/rdma", "host/emulation", "device/rdma", "vendors/*"],
}
# Headers that bring several folders together.
ABOVE = {"xio/host/launch.hpp": ["host/gpu", "host/memory", "host/simt"],
         "xio/host/nvme/open.hpp": ["host/emulation", "host/emulation/nvme"],
         "xio/host/nvme/cache.hpp": ["device/cache"],
         "xio/host/nvme/fabric_queue.hpp": ["host/rdma", "vendors/rdma"],
         "xio/host/nvme/fabric_controller.hpp": ["host/rdma"],
         "xio/host/nvme/fabric_device_queue.hpp": ["host/rdma", "device/fabrics"],
         "xio/vendors/list.hpp": [f"vendors/{nic}" for nic in NICS],
         **{f"xio/vendors/{nic}/queues.hpp": ["device/rdma"] for nic in NICS}}
EVERYWHERE = ("xio/config.hpp", "xio/version.hpp")
# The queue protocol is to be read at one go, with the markers of its orderings.
MOST_LINES = {"device/queue": 1510}
# What differs between the CPU and the GPUs is decided in one folder.
ARCH_MACRO = re.compile(r"\bXIO_ARCH_\w+")
ARCH_HOMES = ("device/arch",)
# Builtins of a target, and inline assembly; the fibres of the CPU executor switch stacks.
TARGET = re.compile(r"\b(?:__builtin_(?:amdgcn|ia32|nvvm|ptx|arm)\w*|__nvvm?_\w+|asm\s*(?:volatile\s*)?\(|asm$|__asm__?\b)|llvm\.amdgcn")
TARGET_HOMES = ("device/arch",)
FIBRES = "xio/host/simt/fibre.hpp"
MACROS = re.compile(r"\s*#\s*define\s+(\w+)")
MACRO_HOMES = ("xio/config.hpp", "xio/version.hpp")
# C has no templates and no attributes: calls are declared once for each sharing, vendor and compiler.
C_HOMES = ("device/abi", "host/c")
# Together three quarters as long as all that a program with queues needs: xio/host/files.hpp, std::printf and builtins do without.
LONG = re.compile(r"\s*#\s*include\s+<((?:io|i|o|f|s)stream|ios|iomanip|locale|codecvt|filesystem|regex|future|random|\w*intrin\.h)>")


def folder_of(header):
    folder = os.path.dirname(header)[len("xio"):].lstrip("/")
    return "device/arch" if folder.startswith("device/arch/") else folder


def allowed(header, folder, other):
    return other == folder or other in ABOVE.get(header, []) or any(
        other == name or (name.endswith("/*") and other.startswith(name[:-1])) or (name == "vendors/*" and other == "vendors")
        for name in BELOW[folder])


def main():
    root = sys.argv[1]
    faults = []
    count = 0
    lengths = {}
    for where, _, names in sorted(os.walk(os.path.join(root, "xio"))):
        for name in sorted(names):
            path = os.path.join(where, name)
            header = os.path.relpath(path, root)
            folder = folder_of(header)
            count += 1
            if folder not in BELOW:
                faults.append(f"{header}: no such folder in the list of layers")
                continue
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            lengths[folder] = lengths.get(folder, 0) + len(lines) - 1
            if len(lines) > 401:
                faults.append(f"{header}: {len(lines)} lines")
            for number, line in enumerate(lines, 1):
                found = re.match(r"\s*#\s*include\s+[<\"](xio/[^>\"]+)[>\"]", line)
                if found and found[1] not in EVERYWHERE and not allowed(header, folder, folder_of(found[1])):
                    faults.append(f"{header}:{number}: {folder or 'xio'} may not include {found[1]}")
                if LONG.match(line):
                    faults.append(f"{header}:{number}: <{LONG.match(line)[1]}> takes long to compile")
                code = line.split("//")[0]
                if TARGET.search(code) and folder not in TARGET_HOMES and header != FIBRES:
                    faults.append(f"{header}:{number}: {TARGET.search(code)[0]} outside of device/arch")
                if MACROS.match(line) and header not in MACRO_HOMES and folder not in C_HOMES:
                    faults.append(f"{header}:{number}: {MACROS.match(line)[1]} is defined outside of {' and '.join(MACRO_HOMES)}")
                if ARCH_MACRO.search(line) and header != "xio/config.hpp" and folder not in ARCH_HOMES:
                    faults.append(f"{header}:{number}: {ARCH_MACRO.search(line)[0]} outside of device/arch")
    faults += [f"{folder}: {lengths.get(folder)} lines, at most {most}" for folder, most in MOST_LINES.items() if lengths.get(folder, most + 1) > most]
    print("\n".join(faults) if faults else f"{count} headers include what lies below them")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
