# SPDX-License-Identifier: MIT
"""Values of AMD's pseudocode: bits with a size and a type."""

import math
import struct
from fractions import Fraction


class NotEvaluated(Exception):
    """A construct that this evaluator does not support."""


class Value:
    """Bits, their number, and their type: u(nsigned), i(nteger), f(loat), b(its)."""

    def __init__(self, bits, width=32, kind="u"):
        self.bits = bits & ((1 << width) - 1)
        self.width = width
        self.kind = kind

    def number(self):
        if self.kind == "f":
            return to_float(self.bits, self.width)
        if self.kind == "i" and self.width and self.bits >> (self.width - 1):
            return self.bits - (1 << self.width)
        return self.bits

    def viewed(self, kind, width):
        """The same bits as another type, truncated if it is narrower; a widened signed integer keeps its number."""
        return Value(self.number() if width > self.width and self.kind == "i" else self.bits, width, kind)


def to_float(bits, width):
    if width not in (32, 64):
        raise NotEvaluated(f"floating point of {width} bits")
    return struct.unpack("<f" if width == 32 else "<d", bits.to_bytes(width // 8, "little"))[0]


def of_float(number, width=32):
    """A number rounded once, to nearest, ties to even."""
    if isinstance(number, Fraction):
        if number == 0:
            return Value(0, width, "f")
        digits, least = (24, -149) if width == 32 else (53, -1074)
        size = abs(number)
        exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - digits - 1, least)
        while size / Fraction(2) ** exponent >= 1 << digits:
            exponent += 1
        number = math.ldexp(round(size / Fraction(2) ** exponent), exponent) * (-1 if number < 0 else 1)
    try:
        packed = struct.pack("<f" if width == 32 else "<d", number)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, number))
    return Value(int.from_bytes(packed, "little"), width, "f")
