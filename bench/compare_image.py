#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_image.py IMAGE REPORT: compares a raw image with the writes that `xio-tester nvme-ep --json REPORT` reported.

Shares no code with xio-tester: computes the contents of blocks and the order of operations independently. Prints the
number of correct blocks; exit status 1 if one is wrong, or if the result cannot be printed.
"""

import json
import os
import struct
import sys

BITS64 = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(value):
    """Finaliser of SplitMix64."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & BITS64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & BITS64
    return value ^ (value >> 31)


def hashed_block(seed, lba, size):
    base = mix(mix((seed + STEP) & BITS64) ^ (lba * STEP & BITS64))
    return struct.pack(f"<{size // 8}Q", *(mix((base + i * STEP) & BITS64) for i in range(size // 8)))


def lfsr_block(seed, lba, size):
    state = (seed ^ mix(lba)) & 0xFFFFFFFF or 1
    words = []
    for _ in range(size // 4):
        state = (state >> 1) ^ (0x80200003 if state & 1 else 0)
        words.append(state)
    return struct.pack(f"<{size // 4}I", *words)


class Shuffle:
    """A random permutation of range(count): a Feistel network, iterated until it gives a number below count."""

    FACTOR = 0xD6E8FEB86659FD93

    def __init__(self, count, seed):
        self.count = count
        self.keys = [mix((seed + turn * STEP) & BITS64) for turn in range(1, 5)]
        self.half = 1
        while 1 << (2 * self.half) < count:
            self.half += 1

    def __call__(self, index):
        mask = (1 << self.half) - 1
        while True:
            left, right = index >> self.half, index & mask
            for key in self.keys:
                left, right = right, left ^ ((right ^ key) * self.FACTOR & BITS64) >> 32 & mask
            index = left << self.half | right
            if index < self.count:
                return index


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file)
    setup = report["setup"]
    size = report["controller"]["block_bytes"]
    blocks = setup["lbas_per_io"]
    writes = sum(phase["asked"] for phase in report["phases"] if phase["operation"] == "write")
    places = (report["controller"]["blocks"] - setup["base_lba"]) // blocks
    order = Shuffle(places, setup["seed"]) if setup["access_pattern"] == "random" else lambda index: index

    good = 0
    count = min(writes, places)
    with open(sys.argv[1], "rb") as image:
        for operation in range(count):
            first = setup["base_lba"] + order(operation) * blocks
            image.seek(first * size)
            for lba in range(first, first + blocks):
                if setup["content"] == "lfsr":
                    expected = lfsr_block(setup["lfsr_seed"], lba, size)
                else:
                    expected = hashed_block(setup["seed"], lba, size)
                if image.read(size) == expected:
                    good += 1
                else:
                    print(f"block {lba} is not what was written")
    print(f"{sys.argv[1]}: {good} of {count * blocks} blocks are as they were written")
    return 0 if good == count * blocks and count > 0 else 1


def checked_main():
    """Runs main() and flushes its output; returns an error message if that fails."""
    if sys.stdout is None:
        return "compare_image: standard output is closed"
    try:
        status = main()
        sys.stdout.flush()
        return status
    except OSError as error:
        # Buffered output must not be written again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return f"compare_image: {error}"


if __name__ == "__main__":
    sys.exit(checked_main())
