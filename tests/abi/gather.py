#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gather.py TARGET BITCODE [RUN]: a kernel of Triton that calls xio.triton and is linked with the bitcode reads blocks, each
once, with any number of warps and elements. RUN is the program of run.cpp, which executes it on the model.

Triton's LLVM is built with assertions. The exit status is 77 where triton is not installed."""

import os
import subprocess
import sys
import tempfile

# The model takes an access beyond a buffer for an error, and Triton makes some to leave lanes out.
os.environ["AMDGCN_USE_BUFFER_OPS"] = "0"
os.environ["TRITON_CACHE_DIR"] = cache = tempfile.mkdtemp()

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as error:
    print(f"skipped: {error} (scripts/triton-env)")
    sys.exit(77)

import xio.triton as xt


@triton.jit
def gather(queue, data, bus, pieces, told, bad, sums, N: tl.constexpr, WORDS: tl.constexpr):
    i = tl.arange(0, N).to(tl.int64)
    xt.store_piece(pieces, i, N - 1 - i, bus + i * (WORDS * 8), 1)
    until = xt.deadline(queue, 2000000000)
    status = xt.batch_once(queue, xt.READ, pieces, N, told, until)
    status |= xt.wait_count(queue, told, N, until)
    tl.store(bad, status)
    total = tl.zeros([N], tl.int64)
    for word in range(WORDS):
        total += tl.load(data + i * WORDS + word, volatile=True)
    tl.store(sums + i, total)


SIGNATURE = {"queue": "i64", "data": "*i64", "bus": "i64", "pieces": "*i64", "told": "*i64", "bad": "*i32", "sums": "*i64",
             "N": "constexpr", "WORDS": "constexpr"}


def main():
    target, bitcode, *run = sys.argv[1:]
    if target.startswith("gfx"):
        gpu, kind = GPUTarget("hip", target, 64 if target.startswith("gfx9") else 32), "hsaco"
    else:
        gpu, kind = GPUTarget("cuda", int(target.split("_")[1]), 32), "ptx"
    for warps, blocks in ((1, 16), (4, 64), (8, 256)):
        made = triton.compile(ASTSource(gather, signature=SIGNATURE, constexprs={"N": blocks, "WORDS": 64}), target=gpu,
                              options={"num_warps": warps, "extern_libs": {"xio": bitcode}})
        code = made.asm[kind]
        print(f"{target}, {warps} warps, {blocks} blocks: {len(code)} bytes", flush=True)
        with open(os.path.join(cache, "gather"), "wb") as file:
            file.write(code if isinstance(code, bytes) else code.encode())
        if run and subprocess.run([*run, file.name, str(warps), str(blocks)], check=False).returncode != 0:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
