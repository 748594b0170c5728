#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gather.py SPEC [IMAGE]: a kernel reads scattered blocks into a tensor, and adds up each one's words; the CPU
compares.

The kernel is Triton's; without Triton it is that of gather.hip, whose code object IMAGE names."""
import array
import ctypes
import pathlib
import random
import sys

import xio

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import xio.triton as xt
except ImportError:
    triton = None


if triton:
    @triton.jit
    def gather_sums(queue, table, data, bus, pieces, told, bad, sums, N: tl.constexpr, WORDS: tl.constexpr,
                    LIMIT: tl.constexpr):
        program = tl.program_id(0)
        i = program * N + tl.arange(0, N)
        xt.store_piece(pieces, i, tl.load(table + i), bus + i.to(tl.int64) * (WORDS * 8), 1)
        until = xt.deadline(queue, LIMIT)
        status = xt.batch_once(queue, xt.READ, pieces + program * (N * 3), N, told + program * 2, until)
        status |= xt.wait_count(queue, told + program * 2, N, until)
        tl.store(bad + program, status)
        total = tl.zeros([N], tl.int64)
        for word in range(WORDS):
            total += tl.load(data + i * WORDS + word, volatile=True)
        tl.store(sums + i, total)

    SIGNATURE = {"queue": "i64", "table": "*i64", "data": "*i64", "bus": "i64", "pieces": "*i64", "told": "*i64",
                 "bad": "*i32", "sums": "*i64", "N": "constexpr", "WORDS": "constexpr", "LIMIT": "constexpr"}


def compile_by_triton(gpu, n, words, warps, seconds=60):
    """The kernel for programs of `n` blocks, as Triton's result. A program waits for so many seconds at most."""
    values = {"N": n, "WORDS": words, "LIMIT": seconds * 1000000000}
    amd = gpu.target.startswith("gfx")
    kind = GPUTarget("hip", gpu.target, gpu.wave_size) if amd else GPUTarget("cuda", int(gpu.target.split("_")[1]), 32)
    return triton.compile(ASTSource(gather_sums, signature=SIGNATURE, constexprs=values), target=kind,
                          options={"num_warps": warps, "extern_libs": xt.extern_libs(gpu.target)})


class Gather:
    """Buffers for `programs` times `n` blocks of a drive, and launches."""

    def __init__(self, drive, n, programs, depth=64):
        self.n, self.programs, self.words = n, programs, drive.block_bytes // 8
        self.queue = drive.queue(depth)
        count = n * programs
        self.data, self.table, self.sums = (drive.buffer(count * size) for size in (drive.block_bytes, 8, 8))
        self.pieces, self.told = drive.buffer(count * 24), drive.buffer(programs * 16)
        self.bad = drive.buffer(programs * 4)
        self.arguments = (self.queue, self.table, self.data, self.data.bus, self.pieces, self.told, self.bad, self.sums)

    def by_triton(self, gpu, made, timeout=300):
        """Launches what compile_by_triton() has made, and waits for it so many seconds at most."""
        image = made.asm["hsaco" if gpu.target.startswith("gfx") else "ptx"]
        kernel = xio.Kernel(image, made.metadata.name, gpu=gpu)
        # Behind its own arguments Triton has two addresses of memory that this kernel does not use.
        kernel(self.programs, made.metadata.num_warps * gpu.wave_size, *self.arguments, None, None,
               lds=made.metadata.shared, timeout=timeout)

    def by_bitcode(self, gpu, image):
        """Launches the kernel of gather.hip."""
        kernel = xio.Kernel(image, "gather_sums", gpu=gpu)
        size = (ctypes.c_uint32(self.n), ctypes.c_uint32(self.words))
        kernel(self.programs, self.n, *self.arguments, *size, timeout=300)


def main():
    spec, *image = sys.argv[1:]
    if triton is None and not image:
        sys.exit("no Triton: compile gather.hip, and name the code object")
    n, programs = 128, 2
    gpu = xio.Gpu()
    with xio.Drive(spec, gpu) as drive:
        gather = Gather(drive, n, programs)
        table = random.sample(range(drive.blocks), n * programs)
        gather.table.memory.cast("q")[:] = array.array("q", table)
        if image:
            gather.by_bitcode(gpu, pathlib.Path(image[0]).read_bytes())
        else:
            gather.by_triton(gpu, compile_by_triton(gpu, n, gather.words, warps=2))
        xio.check(gather.bad.memory.cast("I"))
        block = drive.buffer(drive.block_bytes)
        for lba, total in zip(table, gather.sums.memory.cast("Q")):
            drive.read(lba, block)
            if sum(block.memory.cast("Q")) % (1 << 64) != total:
                sys.exit(f"the sum of block {lba} is wrong")
    print(f"{gpu.target}: {n * programs} blocks gathered {'in plain C' if image else 'by Triton'}, all sums are right")


if __name__ == "__main__":
    main()
