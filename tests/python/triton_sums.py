#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""triton_sums.py: kernels of Triton, compiled and launched by the installed package, read blocks of QEMU's
controller and add up each one's words. In a folder that may be written to, with a GPU, which may be played.

The exit status is 77 where triton is not installed."""
import os
import random
import struct
import sys
import tempfile

# The model takes an access beyond a buffer for an error, and Triton makes some to leave lanes out.
os.environ["AMDGCN_USE_BUFFER_OPS"] = "0"
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(dir=".")

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as error:
    print(f"skipped: {error} (scripts/triton-env)")
    sys.exit(77)

import xio
import xio.triton as xt

WORDS = 64  # of 8 bytes, in a block


@triton.jit
def sums_of(queue, table, data, bus, pieces, told, bad, sums, N: tl.constexpr, WORDS: tl.constexpr):
    program = tl.program_id(0)
    i = program * N + tl.arange(0, N)
    xt.store_piece(pieces, i, tl.load(table + i), bus + i.to(tl.int64) * (WORDS * 8), 1)
    until = xt.deadline(queue, 100000000000)
    status = xt.batch_once(queue, xt.READ, pieces + program * (N * 3), N, told + program * 2, until)
    status |= xt.wait_count(queue, told + program * 2, N, until)
    tl.store(bad + program, status)
    total = tl.zeros([N], tl.int64)
    for word in range(WORDS):
        total += tl.load(data + i * WORDS + word, volatile=True)
    tl.store(sums + i, total)


SIGNATURE = {"queue": "i64", "table": "*i64", "data": "*i64", "bus": "i64", "pieces": "*i64", "told": "*i64",
             "bad": "*i32", "sums": "*i64", "N": "constexpr", "WORDS": "constexpr"}


@triton.jit
def wrong(queue, bad, N: tl.constexpr):
    tl.store(bad + tl.arange(0, N), xt.wait_count(queue, bad + tl.arange(0, N), 1, xt.deadline(queue, 1)))


def build(gpu, function, signature, constants, warps=1):
    kind = GPUTarget("hip", gpu.target, gpu.wave_size)
    if not gpu.target.startswith("gfx"):
        kind = GPUTarget("cuda", int(gpu.target.split("_")[1]), gpu.wave_size)
    return triton.compile(ASTSource(function, signature=signature, constexprs=constants), target=kind,
                          options={"num_warps": warps, "extern_libs": xt.extern_libs(gpu.target)})


def main():
    gpu = xio.Gpu()
    try:
        build(gpu, wrong, {"queue": "i64", "bad": "*i64", "N": "constexpr"}, {"N": 64})
        sys.exit("a tensor is accepted where one value is wanted")
    except triton.CompilationError as error:
        assert "one value for the program, not a tensor" in str(error.__cause__ or error), error

    image = random.Random(3).randbytes(1 << 20)
    with open("disk.img", "wb") as file:
        file.write(image)
    drive = xio.Drive("qemu:image=disk.img", gpu)
    queue = drive.queue(32)
    for warps, n, programs in ((1, 128, 2), (4, 256, 2), (8, 16, 4)):
        made = build(gpu, sums_of, SIGNATURE, {"N": n, "WORDS": WORDS}, warps)
        # Waves seldom overtake each other so far that pieces are not there yet.
        code = made.asm["amdgcn" if gpu.target.startswith("gfx") else "ptx"]
        assert warps == 1 or "s_barrier" in code or "bar.sync" in code, "no barrier before the batch"
        count = n * programs
        data, table, sums = drive.buffer(count * 512), drive.buffer(count * 8), drive.buffer(count * 8)
        pieces, told, bad = drive.buffer(count * 24), drive.buffer(programs * 16), drive.buffer(programs * 4)
        bad.memory[:] = b"\xff" * bad.nbytes
        blocks = random.Random(warps).sample(range(len(image) // 512), count)
        table.memory[:] = struct.pack(f"<{count}q", *blocks)
        kernel = xio.Kernel(made.asm["hsaco" if gpu.target.startswith("gfx") else "ptx"], made.metadata.name, gpu=gpu)
        # Behind its own arguments Triton has two addresses of memory that this kernel does not use.
        kernel(programs, warps * gpu.wave_size, queue, table, data, data.bus, pieces, told, bad, sums, None, None,
               lds=made.metadata.shared, timeout=300)
        xio.check(bad.memory.cast("I"))
        assert struct.unpack_from("<q", told.memory)[0] == n, "not every piece has ended, or more than these"
        for i, block in enumerate(blocks):
            words = image[block * 512:(block + 1) * 512]
            assert data.memory[i * 512:(i + 1) * 512] == words, f"block {i} is not the drive's {block}"
            total = sum(struct.unpack(f"<{WORDS}q", words))
            assert (sums.memory.cast("q")[i] - total) % (1 << 64) == 0, f"the sum of block {i}"
        print(f"{gpu.target}: {programs} programs of {warps} warps, {n} blocks each: ok", flush=True)


if __name__ == "__main__":
    main()
