#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gather.py [--image IMAGE] SPEC...: a kernel reads scattered blocks of drives into a tensor, and adds up each one's
words; the CPU compares.

The kernel is Triton's; without Triton it is that of gather.hip, whose code object IMAGE names. Each program reads from
one drive, by that drive's own queue."""
import argparse
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
    def gather_sums(queues, table, data, buses, pieces, told, bad, sums, N: tl.constexpr, WORDS: tl.constexpr,
                    LIMIT: tl.constexpr):
        program = tl.program_id(0)
        queue = tl.load(queues + program)
        i = program * N + tl.arange(0, N)
        xt.store_piece(pieces, i, tl.load(table + i), tl.load(buses + program) + i.to(tl.int64) * (WORDS * 8), 1)
        until = xt.deadline(queue, LIMIT)
        status = xt.batch_once(queue, xt.READ, pieces + program * (N * 3), N, told + program * 2, until)
        status |= xt.wait_count(queue, told + program * 2, N, until)
        tl.store(bad + program, status)
        total = tl.zeros([N], tl.int64)
        for word in range(WORDS):
            total += tl.load(data + i * WORDS + word, volatile=True)
        tl.store(sums + i, total)

    SIGNATURE = {"queues": "*i64", "table": "*i64", "data": "*i64", "buses": "*i64", "pieces": "*i64", "told": "*i64",
                 "bad": "*i32", "sums": "*i64", "N": "constexpr", "WORDS": "constexpr", "LIMIT": "constexpr"}


def compile_by_triton(gpu, n, words, warps, seconds=60):
    """The kernel for programs of `n` blocks, as Triton's result. A program waits for so many seconds at most."""
    values = {"N": n, "WORDS": words, "LIMIT": seconds * 1000000000}
    amd = gpu.target.startswith("gfx")
    kind = GPUTarget("hip", gpu.target, gpu.wave_size) if amd else GPUTarget("cuda", int(gpu.target.split("_")[1]), 32)
    return triton.compile(ASTSource(gather_sums, signature=SIGNATURE, constexprs=values), target=kind,
                          options={"num_warps": warps, "extern_libs": xt.extern_libs(gpu.target)})


class Gather:
    """Buffers for `programs` times `n` blocks of a set's drives, and launches."""

    def __init__(self, drives, n, programs):
        self.n, self.programs, self.words = n, programs, drives.block_bytes // 8
        count = n * programs
        self.data, self.table, self.sums = (drives.buffer(count * size) for size in (drives.block_bytes, 8, 8))
        self.pieces, self.told = drives.buffer(count * 24), drives.buffer(programs * 16)
        self.bad, self.queues, self.buses = (drives.buffer(programs * size) for size in (4, 8, 8))
        #: the drive of each program's blocks
        self.drive_of = [program % len(drives.drives) for program in range(programs)]
        for table, entry in ((self.queues, lambda one: drives.queue(one).address), (self.buses, self.data.bus_of)):
            table.memory.cast("Q")[:] = array.array("Q", map(entry, self.drive_of))
        self.arguments = (self.queues, self.table, self.data, self.buses, self.pieces, self.told, self.bad, self.sums)

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


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--image", type=pathlib.Path, help="code object of gather.hip")
    parser.add_argument("specs", nargs="+")
    return parser.parse_args()


def main():
    wanted = options()
    if triton is None and wanted.image is None:
        sys.exit("no Triton: compile gather.hip, and name the code object: --image")
    n, programs = 128, max(2, len(wanted.specs))
    gpu = xio.Gpu()
    with xio.DriveSet(wanted.specs, gpu) as drives:
        gather = Gather(drives, n, programs)
        table = [lba for which in gather.drive_of for lba in random.sample(range(drives.drives[which].blocks), n)]
        gather.table.memory.cast("q")[:] = array.array("q", table)
        if wanted.image:
            gather.by_bitcode(gpu, wanted.image.read_bytes())
        else:
            gather.by_triton(gpu, compile_by_triton(gpu, n, gather.words, warps=2))
        xio.check(gather.bad.memory.cast("I"))
        blocks = [drive.buffer(drive.block_bytes) for drive in drives.drives]
        for i, (lba, total) in enumerate(zip(table, gather.sums.memory.cast("Q"))):
            which = gather.drive_of[i // n]
            drives.drives[which].read(lba, blocks[which])
            if sum(blocks[which].memory.cast("Q")) % (1 << 64) != total:
                sys.exit(f"the sum of block {lba} of drive {which} is wrong")
    print(f"{gpu.target}: {n * programs} blocks of {len(wanted.specs)} drives gathered "
          f"{'in plain C' if wanted.image else 'by Triton'}, all sums are right")


if __name__ == "__main__":
    main()
