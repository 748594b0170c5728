#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""triton_sums.py EXAMPLES WARPS N PROGRAMS: the kernel of EXAMPLES/gather.py, compiled by Triton and launched by the
installed package, reads blocks of two controllers of QEMU and adds up each one's words, with each of so many warps, of blocks for
a program and of programs ("1,2,4,8"). In a folder that may be written to, with a GPU, which may be played.

The exit status is 77 where triton is not installed."""
import array
import itertools
import os
import random
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

sys.path.insert(0, sys.argv[1])
import gather  # pylint: disable=wrong-import-position

BLOCK = 512
PATIENCE = 900  # seconds: the model of a GPU is slow, and a machine may do other things


@triton.jit
def wrong(queue, bad, N: tl.constexpr):
    tl.store(bad + tl.arange(0, N), xt.wait_count(queue, bad + tl.arange(0, N), 1, xt.deadline(queue, 1)))


def refuse_a_tensor(gpu):
    amd = gpu.target.startswith("gfx")
    kind = GPUTarget("hip", gpu.target, gpu.wave_size) if amd else GPUTarget("cuda", int(gpu.target.split("_")[1]), 32)
    try:
        source = ASTSource(wrong, signature={"queue": "i64", "bad": "*i64", "N": "constexpr"}, constexprs={"N": 64})
        triton.compile(source, target=kind, options={"num_warps": 1, "extern_libs": xt.extern_libs(gpu.target)})
    except triton.CompilationError as error:
        assert "one value for the program, not a tensor" in str(error.__cause__ or error), error
    else:
        sys.exit("a tensor is accepted where one value is wanted")


def run(gpu, drives, images, made, n, programs):
    """Launches, and compares every block, every sum, and the number of commands of each program."""
    work = gather.Gather(drives, n, programs)
    work.bad.memory[:] = b"\xff" * work.bad.nbytes
    blocks = random.Random(n).sample(range(len(images[0]) // BLOCK), n * programs)
    work.table.memory.cast("q")[:] = array.array("q", blocks)
    work.by_triton(gpu, made, timeout=3 * PATIENCE)
    xio.check(work.bad.memory.cast("I"))
    for program, ended in enumerate(work.told.memory.cast("q")[::2]):
        assert ended == n, f"program {program}: {ended} commands have ended, of {n}"
    sums = work.sums.memory.cast("Q")
    for i, block in enumerate(blocks):
        which = work.drive_of[i // n]
        words = images[which][block * BLOCK:(block + 1) * BLOCK]
        assert work.data.memory[i * BLOCK:(i + 1) * BLOCK] == words, f"block {i} is not drive {which}'s {block}"
        assert sums[i] == sum(memoryview(words).cast("Q")) % (1 << 64), f"the sum of block {i}"


def main():
    gpu = xio.Gpu()
    refuse_a_tensor(gpu)
    images = [random.Random(seed).randbytes(8 << 20) for seed in (3, 4)]
    for number, image in enumerate(images):
        with open(f"disk{number}.img", "wb") as file:
            file.write(image)
    drives = xio.DriveSet(["qemu:image=disk0.img", "qemu:image=disk1.img"], gpu, depth=32)
    every_warps, every_n, every_programs = ([int(one) for one in text.split(",")] for text in sys.argv[2:])
    count = 0
    for warps, n in itertools.product(every_warps, every_n):
        made = gather.compile_by_triton(gpu, n, BLOCK // 8, warps, PATIENCE)
        # Waves seldom overtake each other so far that pieces are not there yet.
        code = made.asm["amdgcn" if gpu.target.startswith("gfx") else "ptx"]
        assert warps == 1 or "s_barrier" in code or "bar.sync" in code, "no barrier before the batch"
        for programs in every_programs:
            try:
                run(gpu, drives, images, made, n, programs)
            except (AssertionError, xio.Error) as error:
                sys.exit(f"{gpu.target}: {programs} programs of {warps} warps, {n} blocks each: {error}")
            count += 1
    print(f"{gpu.target}: {count} shapes, each block and sum right, each by one command", flush=True)


if __name__ == "__main__":
    main()
