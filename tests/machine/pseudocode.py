# SPDX-License-Identifier: MIT
"""Evaluates the pseudocode with which AMD's instruction set documents define instructions."""

import math
import re
from fractions import Fraction

from pseudocode_values import NotEvaluated, Value, of_float


class Break(Exception):
    pass


class Return(Exception):
    def __init__(self, value):
        super().__init__()
        self.value = value


def rounded_down(number):
    return float(math.floor(number)) if math.isfinite(number) else number


def to_integer(value, low, high):
    number = value.number()
    if number != number:
        return 0
    return int(max(low, min(high, number))) if math.isfinite(number) else (high if number > 0 else low)


def fused(a, b, c):
    x, y, z = a.number(), b.number(), c.number()
    if not all(map(math.isfinite, (x, y, z))):
        try:
            return of_float(x * y + z)
        except OverflowError:
            raise NotEvaluated("fma") from None
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return of_float(x * y + z) if exact == 0 else of_float(exact)


def sign_extended(value, width):
    count = width.number()
    if count == 0:
        return Value(0, value.width, "i")
    if count >= value.width:
        return value
    field = value.bits & ((1 << count) - 1)
    return Value(field - (1 << count) if field >> (count - 1) else field, value.width, "i")


FUNCTIONS = {
    "signext": lambda a: Value(a.viewed("i", a.width).number(), 64, "i"),
    "signext_from_bit": sign_extended,
    "fma": fused,
    "trunc": lambda a: of_float(math.copysign(float(math.trunc(a.number())), a.number()) if math.isfinite(a.number()) else a.number()),
    "floor": lambda a: of_float(math.copysign(rounded_down(a.number()), a.number()) if a.number() == a.number() else a.number()),
    "fract": lambda a: of_float(a.number() - rounded_down(a.number()) if math.isfinite(a.number()) else 0.0),
    "isEven": lambda a: Value(math.isfinite(a.number()) and a.number() % 2 == 0, 1),
    "i32_to_f32": lambda a: of_float(Fraction(a.viewed("i", 32).number())),
    "u32_to_f32": lambda a: of_float(Fraction(a.bits)),
    "f32_to_u32": lambda a: Value(to_integer(a, 0, 0xFFFFFFFF), 32),
    "f32_to_i32": lambda a: Value(to_integer(a, -0x80000000, 0x7FFFFFFF), 32, "i"),
    "v_max_u32": lambda a, b: max(a, b, key=Value.number),
    "v_min_u32": lambda a, b: min(a, b, key=Value.number),
    "v_max3_u32": lambda a, b, c: max(a, b, c, key=Value.number),
}


def view_type(name):
    found = re.fullmatch(r"([uifb])(\d+)", name)
    if not found:
        raise NotEvaluated(f"type {name}")
    return found.group(1), int(found.group(2))


class Machine:
    """Runs a program on named registers, whose contents are Values."""

    def __init__(self, registers):
        self.names = dict(registers)
        self.functions = {}

    def run(self, block):
        for statement in block:
            self.execute(statement)

    def execute(self, statement):
        what = statement[0]
        if what == "set":
            self.assign(statement[1], self.value(statement[2]))
        elif what == "if":
            for condition, body in statement[1]:
                if self.value(condition).bits:
                    return self.run(body)
            self.run(statement[2])
        elif what == "for":
            _, name, first, last, body = statement
            try:
                for i in range(self.value(first).number(), self.value(last).number() + 1):
                    self.names[name] = Value(i, 32, "i")
                    self.run(body)
            except Break:
                pass
        elif what == "break":
            raise Break
        elif what == "return":
            raise Return(self.value(statement[1]))
        elif what == "function":
            self.functions[statement[1]] = statement[2:]

    def assign(self, target, value):
        what = target[0]
        if what == "name":
            # Registers keep their size; variables take the size of the value.
            old = self.names.get(target[1])
            fixed = old is not None and target[1].isupper() or target[1] in ("D0", "D1", "SCC")
            self.names[target[1]] = value.viewed(value.kind, old.width) if fixed and old else value
        elif what == "view":
            kind, width = view_type(target[2])
            if target[1][0] != "name":
                return self.assign(target[1], value.viewed(kind, width))
            old = self.names.get(target[1][1], Value(0, width))
            value = converted(value, kind, width)
            keep = old.bits >> width << width if old.width > width else 0
            self.names[target[1][1]] = Value(keep | value.bits, max(width, old.width), kind)
        elif what in ("slice", "bit"):
            if what == "slice":
                high, low = self.value(target[2]).number(), self.value(target[3]).number()
            else:
                high = low = self.value(target[2]).number()
            base = target[1]
            while base[0] == "view":
                base = base[1]
            if base[0] != "name":
                raise NotEvaluated("assignment to a part of a part")
            if base[1] not in self.names and what == "bit":
                self.names[base[1]] = {}
            if isinstance(self.names.get(base[1]), dict):
                self.names[base[1]][low] = value
                return
            old = self.names.get(base[1], Value(0, 64))
            width = abs(high - low) + 1
            bits = value.bits & ((1 << width) - 1)
            if high < low:
                raise NotEvaluated("reversed assignment")
            self.names[base[1]] = Value(old.bits & ~(((1 << width) - 1) << low) | bits << low, old.width, old.kind)
        elif what == "join":
            for part in reversed(target[1]):
                width = view_type(part[2])[1]
                self.assign(part, Value(value.bits, width))
                value = Value(value.bits >> width, max(value.width - width, 1))
        else:
            raise NotEvaluated(f"assignment to {what}")

    def value(self, node):
        what = node[0]
        if what == "value":
            return node[1]
        if what == "name":
            if node[1] not in self.names:
                raise NotEvaluated(f"name {node[1]}")
            return self.names[node[1]]
        if what == "view":
            kind, width = view_type(node[2])
            return self.value(node[1]).viewed(kind, width)
        if what == "cast":
            return converted(self.value(node[3]), node[1], node[2])
        if what == "bit":
            base = self.value(node[1])
            index = self.value(node[2]).number()
            return base[index] if isinstance(base, dict) else Value(base.bits >> index, 1)
        if what == "slice":
            base, high, low = self.value(node[1]), self.value(node[2]).number(), self.value(node[3]).number()
            if high < low:
                return Value(int(format(base.bits & ((1 << (low + 1)) - 1), f"0{low + 1}b")[::-1], 2), low + 1)
            return Value(base.bits >> low, high - low + 1)
        if what == "join":
            bits, width = 0, 0
            for part in node[1]:
                one = self.value(part)
                bits, width = bits << one.width | one.bits, width + one.width
            return Value(bits, width)
        if what == "choice":
            return self.value(node[2 if self.value(node[1]).bits else 3])
        if what == "unary":
            one = self.value(node[2])
            if node[1] == "-":
                return of_float(-one.number(), one.width) if one.kind == "f" else Value(-one.number(), one.width, "i")
            return Value(~one.bits, one.width, one.kind) if node[1] == "~" else Value(one.bits == 0, 1)
        if what == "call":
            return self.call(node[1], [self.value(argument) for argument in node[2]])
        return binary(node[1], self.value(node[2]), self.value(node[3]))

    def call(self, name, arguments):
        if name in self.functions:
            names, body = self.functions[name]
            inner = Machine(dict(zip(names, arguments)))
            try:
                inner.run(body)
            except Return as result:
                return result.value
        if name not in FUNCTIONS:
            raise NotEvaluated(f"function {name}")
        return FUNCTIONS[name](*arguments)


def converted(value, kind, width):
    """As another type. Keeps the number where it fits; a float as an integer keeps its bits."""
    if kind == "f":
        return value if value.kind == "f" and value.width == width else of_float(value.number(), width)
    if value.kind == "f":
        return value.viewed(kind, width)
    return Value(value.number() if kind != "b" or value.kind == "i" else value.bits, width, kind)


def binary(operator, a, b):
    if operator in ("<<", ">>"):
        count = b.bits
        return Value(a.number() << count if operator == "<<" else a.number() >> count, a.width, a.kind)
    if operator in ("==", "!=", "<>", "<", "<=", ">", ">="):
        # With mixed signedness, the bits are compared, as in C.
        x, y = (a.number(), b.number()) if a.kind == b.kind or "f" in (a.kind, b.kind) else (a.bits, b.bits)
        result = {"==": x == y, "!=": x != y, "<>": x < y or x > y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
        return Value(result[operator], 1)
    if operator in ("&&", "||"):
        return Value(bool(a.bits) and bool(b.bits) if operator == "&&" else bool(a.bits) or bool(b.bits), 1)
    width = max(a.width, b.width)
    if "f" in (a.kind, b.kind):
        return of_float(arithmetic(operator, a.number(), b.number()), width)
    kind = "i" if a.kind == b.kind == "i" else "u"
    if operator in "&|^":
        x, y = (one.number() if one.kind == "i" else one.bits for one in (a, b))
        return Value({"&": x & y, "|": x | y, "^": x ^ y}[operator], width, kind)
    return Value(arithmetic(operator, a.number(), b.number()), width, kind)


def arithmetic(operator, x, y):
    if operator == "/":
        if isinstance(x, int):
            raise NotEvaluated("division of integers")
        if y == 0:
            return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
        if math.isfinite(x) and math.isfinite(y) and x != 0:
            return Fraction(x) / Fraction(y)
        return x / y
    return {"+": x + y, "-": x - y, "*": x * y}[operator]
