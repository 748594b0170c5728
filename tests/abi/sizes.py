#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sizes.py FOLDER LINK OPT LLC TARGET BITCODE REGISTERS SPILLS PERCENT COMPILER...: a kernel that is linked with the bitcode, by
both ways, is held to the same kernel with the headers: at most PERCENT of its code, REGISTERS vector registers, of
which lanes may hold SPILLS scalar ones, and no scratch memory.

LINK, OPT and LLC are llvm-link, opt and llc. COMPILER... compiles a source of this folder, given behind it."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "codegen"))
import code_sizes  # noqa: E402

KERNEL = "one_read"


def measure(assembly):
    """Bytes of the kernel and of the functions that it calls; vector registers; bytes of scratch memory; spills."""
    text = assembly.read_text(encoding="utf-8")
    size, calls, memory, spilled = code_sizes.read(text)
    all_of_it = {KERNEL, *code_sizes.reached(KERNEL, calls, set())} & set(size)
    registers = re.search(rf"\.name:\s+{KERNEL}\n(?:.*\n)*?\s+\.vgpr_count:\s+(\d+)", text)
    return (sum(size[name] for name in all_of_it), int(registers[1]), sum(memory.get(name, 0) for name in all_of_it),
            spilled.get(KERNEL, 0))


def main():
    folder = pathlib.Path(sys.argv[1])
    link, opt, llc, target, bitcode = sys.argv[2:7]
    registers, most_spills, percent = (int(word) for word in sys.argv[7:10])
    compiler = sys.argv[10:]
    folder.mkdir(parents=True, exist_ok=True)

    def run(*command):
        subprocess.run([str(word) for word in command], check=True)

    run(*compiler, HERE / "one_header.hip", "-S", "-o", folder / "header.s")
    # The compiler links.
    run(*compiler, HERE / "one_call.hip", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", bitcode, "-S", "-o",
        folder / "compiler.s")
    # LLVM's tools link, as languages with an LLVM of their own do.
    run(*compiler, HERE / "one_call.hip", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", folder / "one.bc")
    run(link, "--only-needed", folder / "one.bc", bitcode, "-o", folder / "linked.bc")
    run(opt, "-passes=internalize,default<O3>", f"-internalize-public-api-list={KERNEL}", f"-mcpu={target}",
        folder / "linked.bc", "-o", folder / "optimised.bc")
    run(llc, "-O3", f"-mcpu={target}", folder / "optimised.bc", "-o", folder / "tools.s")

    right = True
    bytes_of_headers, *_ = measure(folder / "header.s")
    for name in ("header", "compiler", "tools"):
        size, vgprs, scratch, spills = measure(folder / f"{name}.s")
        print(f"{name}: {size} bytes, {vgprs} VGPRs, {scratch} bytes of scratch memory, {spills} spills")
        right = right and size * 100 <= bytes_of_headers * percent and vgprs <= registers
        right = right and spills <= most_spills and scratch == 0
    if "xio_device_abi_" not in (folder / "tools.s").read_text(encoding="utf-8"):
        print("the symbol of the ABI is lost")
        right = False
    print(f"at most {bytes_of_headers * percent // 100} bytes, {registers} VGPRs and {most_spills} spills")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
