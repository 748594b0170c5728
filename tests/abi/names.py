#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""names.py BITCODE HEADER NM COMPILER... [-- WRAPPERS...]: what the bitcode defines is what the header declares, name by
name, and wrappers of other languages call nothing else.

COMPILER... preprocesses C. Of WRAPPERS each word is taken for a call that begins as one: xio_nvme_, xio_mlx5_ and so on.
"""

import pathlib
import re
import subprocess
import sys

CALL = r"\bxio_(?:nvme|mlx5|bnxt|ionic|ernic|rxe|wait)_\w+"


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    bitcode, header, nm, *compiler = arguments[:cut]
    declared = set(re.findall(rf"({CALL})\s*\(", run(*compiler, "-x", "c", "-E", "-P", header)))
    symbols = [line.split()[-2:] for line in run(nm, "--defined-only", bitcode).splitlines()]
    defined = {name for kind, name in symbols if kind == "T"}
    wrong = [f"declared, not defined: {name}" for name in sorted(declared - defined)]
    wrong += [f"defined, not declared: {name}" for name in sorted(defined - declared)]
    numbers = [name for _, name in symbols if name.startswith("xio_device_abi_")]
    if len(numbers) != 1:
        wrong.append(f"symbols of the ABI: {numbers}")
    # What else has a name that all modules share would meet another of this name.
    wrong += [f"not ours alone: {kind} {name}" for kind, name in symbols
              if kind not in "tTdrbW" and name not in numbers and not name.startswith("__hip_cuid_")]
    missing = run(nm, "--undefined-only", bitcode).split()
    wrong += [f"used, not defined: {name}" for name in missing if name not in ("U", "__gxx_personality_v0")]
    for wrapper in arguments[cut + 1:]:
        used = set(re.findall(CALL, pathlib.Path(wrapper).read_text(encoding="utf-8")))
        wrong += [f"{wrapper}: no such call: {name}" for name in sorted(used - declared)]
    print("\n".join(wrong) if wrong else f"{len(defined)} calls")
    return 1 if wrong or len(defined) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
