#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_in.py IMAGE SPEC...: a kernel fetches the pages of a KV cache that lie scattered on drives, layer by layer, and
uses each layer as soon as it is there; the CPU compares every page.

IMAGE is the code object of page_in.hip. Pages go to the cache whole (PRPs), or with --sgl their keys and values to
different halves of it."""
import argparse
import ctypes
import pathlib
import random
import struct
import sys

import xio

PAGE = struct.Struct("<QII")  # of page_in.hip
NOTIFICATION = 16
TYPES = [ctypes.c_uint64] * 8 + [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("image", type=pathlib.Path)
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--pages", type=int, default=10000)
    parser.add_argument("--page-bytes", type=int, default=16384)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--sgl", action="store_true")
    parser.add_argument("--fill", action="store_true", help="write the drives first: random blocks")
    parser.add_argument("--fetchers", type=int, default=2, help="waves that fetch")
    parser.add_argument("--computers", type=int, default=2, help="waves that compute")
    return parser.parse_args()


def fill(drive, seed):
    """Random bytes in all blocks."""
    noise = random.Random(seed)
    with drive.buffer(1 << 20) as buffer:
        step = buffer.nbytes // drive.block_bytes
        for lba in range(0, drive.blocks - step + 1, step):
            buffer.memory[:] = noise.randbytes(buffer.nbytes)
            drive.write(lba, buffer)


def table_of(drives, wanted):
    """(drive, first block, slot, layer) of each page, by layer, and the first page of each layer."""
    blocks = wanted.page_bytes // drives.block_bytes
    slots = random.sample(range(wanted.pages), wanted.pages)
    pages, first = [], [0]
    for layer in range(wanted.layers):
        first.append(wanted.pages * (layer + 1) // wanted.layers)
        some = []
        for slot in slots[first[-2]:first[-1]]:
            which = random.randrange(len(drives.drives))
            some.append((which, random.randrange(drives.drives[which].blocks // blocks) * blocks, slot, layer))
        pages += sorted(some)  # lanes of a wave that use one drive submit together
    return pages, first


def compare(drives, cache, pages, wanted):
    """The first word of each half of each page, added up for each layer; ends the program where a page differs."""
    half = wanted.page_bytes // 2
    sums = [0] * wanted.layers
    buffers = [drive.buffer(wanted.page_bytes) for drive in drives.drives]
    for which, lba, slot, layer in pages:
        drives.drives[which].read(lba, buffers[which])
        good = bytes(buffers[which].memory)
        at = (slot * 2 * half, slot * 2 * half + half)
        if wanted.sgl:
            at = (slot * half, wanted.pages * half + slot * half)
        if bytes(cache.memory[at[0]:at[0] + half]) + bytes(cache.memory[at[1]:at[1] + half]) != good:
            sys.exit(f"slot {slot} does not hold the page at block {lba} of drive {which}")
        sums[layer] += sum(struct.unpack_from("<Q", good, place)[0] for place in (0, half))
    return [total % (1 << 64) for total in sums]


def main():
    wanted = options()
    gpu = xio.Gpu()
    with xio.DriveSet(wanted.specs, gpu, depth=128) as drives:
        if wanted.page_bytes % (2 * drives.block_bytes) != 0:
            sys.exit(f"a page is a multiple of {2 * drives.block_bytes} bytes")
        for number, drive in enumerate(drives.drives if wanted.fill else ()):
            fill(drive, number)
        pages, first = table_of(drives, wanted)
        waves = wanted.fetchers + wanted.computers
        cache = drives.buffer(wanted.pages * wanted.page_bytes)
        table, starts = drives.buffer(len(pages) * PAGE.size), drives.buffer(len(first) * 4)
        told, sums = drives.buffer(wanted.layers * NOTIFICATION), drives.buffer(wanted.layers * 8)
        status = drives.buffer(waves * 8)
        for i, (which, lba, slot, layer) in enumerate(pages):
            PAGE.pack_into(table.memory, i * PAGE.size, which << 48 | lba, slot, layer)
        starts.memory[:] = struct.pack(f"<{len(first)}I", *first)
        half = wanted.pages * wanted.page_bytes // 2 if wanted.sgl else 0

        kernel = xio.Kernel(wanted.image.read_bytes(), "page_in", TYPES, gpu)
        kernel(waves, gpu.wave_size, drives, cache.region, cache, table, starts, told, sums, status, wanted.layers,
               wanted.page_bytes, half, wanted.fetchers, timeout=300)

        xio.check(struct.unpack(f"<{waves * 2}I", status.memory)[::2])
        for layer, (done, _) in enumerate(struct.iter_unpack("<QQ", told.memory)):
            if done != first[layer + 1] - first[layer]:
                sys.exit(f"layer {layer}: {done} pages have ended")
        if list(sums.memory.cast("Q")) != compare(drives, cache, pages, wanted):
            sys.exit("a layer was used before it was there")
    print(f"{gpu.target}: {wanted.pages} pages of {wanted.page_bytes} bytes by {'SGLs' if wanted.sgl else 'PRPs'} from "
          f"{len(drives.drives)} drives, {wanted.layers} layers: all right")


if __name__ == "__main__":
    main()
