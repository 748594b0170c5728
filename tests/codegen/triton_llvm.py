#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""triton_llvm.py TARGET COMPILER ARGUMENT...: code for an AMD GPU by the LLVM inside PyPI's triton.

That LLVM is built with assertions, which Debian's compilers leave out: the same mistake that these compile without a word ends it. COMPILER
ARGUMENT... is a command of a clang that is not newer than it, up to its source; it makes LLVM's assembly. The exit status is 77 where
triton is not installed.
"""

import re
import subprocess
import sys

try:
    from triton._C.libtriton import llvm
except ImportError as error:
    print(f"skipped: {error} (scripts/triton-env)")
    sys.exit(77)


def main(target, command):
    llvm.init_targets()
    made = subprocess.run([*command, f"--offload-arch={target}", "-S", "-emit-llvm", "-o", "-"], check=True,
                          stdout=subprocess.PIPE, text=True)
    code = llvm.translate_to_asm(made.stdout, "amdgcn-amd-amdhsa", target, "", [], False, False, False)
    kernels = len(re.findall(r"^\s*\.amdhsa_kernel ", code, re.MULTILINE))
    print(f"{kernels} kernels, {code.count(chr(10))} lines for {target}")
    return 0 if kernels else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
