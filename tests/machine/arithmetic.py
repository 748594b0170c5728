#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""arithmetic.py OUTPUT [SEED]: the results of AMD GPU instructions, from the pseudocode of AMD's documents.

Writes instructions, operands and expected results to OUTPUT, for tests/machine/arithmetic.cpp. The pseudocode comes from PyPI's
tinygrad (0.14); exits with status 77 if it or LLVM's assembler is missing.

A line of OUTPUT is "T <target>", "I <instruction>", or "C <lane> <register>=<hex>... > <register>=<hex>...".
"""

import importlib
import random
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from pseudocode import Machine  # noqa: E402
from pseudocode_parser import Parser  # noqa: E402
from pseudocode_values import NotEvaluated, Value  # noqa: E402

TARGETS = {"gfx90a": "cdna", "gfx942": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
CORNERS = [0, 1, 2, 3, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE,
           0xFFFFFFFF, 0x3F800000, 0xBF800000, 0x3F000000, 0x40200000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x4F7FFFFE, 0x4F800000,
           0x00200000, 0x00010004, 0x0C0D0E0F, 0x07060504, 0x08090A0B]
CASES = 48
CLASSES = ["SOP1Op", "SOP2Op", "SOPCOp", "SOPKOp", "VOP1Op", "VOP2Op", "VOPCOp", "VOP3Op", "VOP3SDOp"]
SOURCES = ("S0", "S1", "S2")


def pseudocode_of(family):
    module = importlib.import_module(f"tinygrad.runtime.autogen.amd.{family}.str_pcode")
    return {key: text for key, text in module.PCODE.items() if type(key).__name__ in CLASSES}


def width_of(name, text):
    """Width of a register in bits: 64 if the pseudocode `text` accesses 64 bits of it."""
    return 64 if re.search(rf"\b{name}\.[uibf]64", text) or (name == "D0" and re.search(r"D0\.u32\[63", text)) else 32


def scalar(first, width):
    return f"s{first}" if width == 32 else f"s[{first}:{first + 1}]"


def vector(first, width):
    return f"v{first}" if width == 32 else f"v[{first}:{first + 1}]"


class Form:
    """The text of an instruction, and the registers of its operands."""

    def __init__(self, text, inputs, result, carry=False):
        self.text, self.inputs, self.result, self.carry = text, inputs, result, carry


def forms(kind, name, text, lanes):
    """All forms that may be valid; the assembler decides which are."""
    used = [one for one in SOURCES if re.search(rf"\b{one}\b", text)]
    widths = {one: width_of(one, text) for one in used}
    result = width_of("D0", text)
    vcc = "vcc" if lanes == 64 else "vcc_lo"
    if kind.startswith("SOP"):
        inputs = {one: ("s", 4 + 4 * i, widths[one]) for i, one in enumerate(used)}
        operands = [scalar(first, width) for _, first, width in inputs.values()]
        if kind == "SOPCOp":
            yield Form(f"{name} {', '.join(operands)}", inputs, None)
        elif kind != "SOPKOp":
            yield Form(f"{name} {', '.join([scalar(0, result)] + operands)}", inputs, ("s", 0, result))
        return
    inputs = {one: ("v", 4 + 2 * i, widths[one]) for i, one in enumerate(used)}
    operands = [vector(first, width) for _, first, width in inputs.values()]
    if kind == "VOPCOp":
        yield Form(f"{name}_e32 {', '.join([vcc] + operands)}", inputs, None, True)
        return
    sources = ", ".join(operands)
    if kind == "VOP3SDOp" or "VCC" in text:
        carry_in = "VCC.u64[laneId]" in re.sub(r"VCC\.u64\[laneId\]\s*=[^=]", "", text)
        middle = f"{vcc}, " if re.search(r"VCC\.u64\[laneId\] =[^=]|D1", text) else ""
        last = f", {vcc}" if carry_in else ""
        for suffix in ("_e32", ""):
            yield Form(f"{name}{suffix} {vector(0, result)}, {middle}{sources}{last}", inputs, ("v", 0, result), True)
        return
    for suffix in ("_e32", "_e64", ""):
        yield Form(f"{name}{suffix} {vector(0, result)}, {sources}", inputs, ("v", 0, result))


def assembled(target, texts):
    """The instructions that exist, each with its text as in disassembly."""
    command = ["llvm-mc-19", "-arch=amdgcn", f"-mcpu={target}", "-filetype=asm"]
    run = subprocess.run(command, input="\n".join(texts) + "\n", capture_output=True, text=True, check=False)
    wrong = {int(line) for line in re.findall(r"<stdin>:(\d+):\d+: error", run.stderr)}
    good = [text for number, text in enumerate(texts, 1) if number not in wrong]
    run = subprocess.run(command, input="\n".join(good) + "\n", capture_output=True, text=True, check=True)
    printed = [line.split(";")[0].strip() for line in run.stdout.splitlines() if line.startswith("\t") and not line.startswith("\t.")]
    assert len(printed) == len(good)
    return dict(zip(good, printed))


def random_bits(rng, width):
    word = lambda: rng.choice(CORNERS) if rng.random() < 0.6 else rng.getrandbits(32)
    return word() if width == 32 else word() << 32 | word()


def shown(registers):
    return " ".join(f"{name}={bits:x}" for name, bits in registers.items())


def place(registers, where, bits):
    bank, first, width = where
    for i in range(width // 32):
        registers[f"{bank}{first + i}"] = bits >> 32 * i & 0xFFFFFFFF


def case(rng, form, program, lanes, gen9):
    """One line of operands and results."""
    lane = rng.randrange(lanes)
    full = (1 << lanes) - 1
    given, names = {}, {}
    for name, where in form.inputs.items():
        bits = random_bits(rng, where[2])
        place(given, where, bits)
        names[name] = Value(bits, where[2])
    old = random_bits(rng, form.result[2]) if form.result else 0
    if form.result:
        place(given, form.result, old)
    vcc = rng.getrandbits(64) & full
    scc = rng.getrandbits(1)
    # Scalar instructions may save the mask of active lanes, so it is arbitrary.
    execute = rng.getrandbits(lanes) if form.text.startswith("s_") else full
    given.update(vcc=vcc, scc=scc, exec=execute)
    compares = form.result is None and form.carry
    names.update(VCC=Value(vcc, 64), SCC=Value(scc, 1), EXEC=Value(execute, 64), laneId=Value(lane, 32))
    names["D0"] = Value(vcc if compares else old, 64 if compares else form.result[2] if form.result else 32)
    machine = Machine(names)
    machine.run(program)
    wanted = {}
    if form.result:
        value = machine.names["D0"]
        bits = value.bits
        # 16-bit results: gfx9 clears the rest of the register.
        if gen9 and re.search(r"_[biu]16[_ ]", form.text) and form.text.startswith("v_"):
            bits &= 0xFFFF
        if re.search(r"_f32", form.text) and value.kind == "f" and value.number() != value.number():
            wanted[f"{form.result[0]}{form.result[1]}"] = "nan"
        elif "rndne" in form.text and value.number() == 0:
            # The pseudocode adds and subtracts a half, which loses the sign of zero.
            wanted[f"{form.result[0]}{form.result[1]}"] = "zero"
        else:
            place(wanted, form.result, bits)
    if form.carry:
        source = machine.names["D0"] if compares else machine.names.get("D1", None) or machine.names["VCC"]
        bit = source.bits & 1 if source is machine.names.get("D1") else source.bits >> lane & 1
        wanted["vcc"] = bit << lane
    if form.text.startswith("s_"):
        wanted["scc"] = machine.names["SCC"].bits & 1
        wanted["exec"] = machine.names["EXEC"].bits & full
    right = " ".join(f"{name}={bits if isinstance(bits, str) else format(bits, 'x')}" for name, bits in wanted.items())
    return f"C {lane} {shown(given)} > {right}"


def write_target(output, target, rng):
    lanes = 64 if target.startswith("gfx9") else 32
    candidates = []
    for key, text in pseudocode_of(TARGETS[target]).items():
        name = re.sub(r"_E(32|64)$", "", key.name).lower()
        try:
            program = Parser(text).block()
        except (NotEvaluated, IndexError):
            continue
        candidates += [(form, program) for form in forms(type(key).__name__, name, text, lanes)]
    known = assembled(target, list(dict.fromkeys(form.text for form, _ in candidates)))
    done = set()
    print("T", target, file=output)
    for form, program in candidates:
        printed = known.get(form.text)
        if printed is None or printed in done:
            continue
        try:
            cases = [case(rng, form, program, lanes, target.startswith("gfx9")) for _ in range(CASES)]
        except (NotEvaluated, KeyError, OverflowError, ValueError, TypeError, AttributeError):
            continue
        done.add(printed)
        print("I", re.sub(r"\s+", " ", printed), file=output)
        print("\n".join(cases), file=output)
    return len(done)


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 2
    try:
        import tinygrad  # noqa: F401  pylint: disable=unused-import
    except ImportError:
        print("skipped: no tinygrad, whose tables say what instructions mean (pip install tinygrad==0.14.*)")
        return 77
    if not shutil.which("llvm-mc-19"):
        print("skipped: no llvm-mc-19 (Debian: llvm-19)")
        return 77
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        for target in TARGETS:
            print(target, write_target(output, target, rng), "instructions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
