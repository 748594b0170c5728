#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of AMD GPU kernels in the assembly that clang writes with -S.

For each kernel: registers, scratch and code size as the compiler reports them, then the instructions of the whole
kernel and of its shortest path: the cheapest walk through the control-flow graph from entry to end that passes, in
order, one block matching each --must expression. A conditional branch takes its cheaper side, so without --must the
path is the one without work.

With --loop the path is one turn of a loop: from the block of the first --must back to itself, through the others.

With --max NAME=N the path has a limit; the exit status is 1 if one is exceeded. Names: instructions,
stores, loads, atomics, lds, waits, writebacks, invalidates, scalar_loads, scratch_accesses, branches, narrow_stores
(below 32 bits) of the path; with the prefix kernel_ for the whole kernel, with loop_ for all of its loops together, with inner_loop_ for loops within loops;
vgprs, sgprs, scratch_bytes, lds_bytes (of a block), code_bytes of the kernel.

With --record FILE the figures of the path are also written to FILE, as JSON with these names, for xio-vendors.
"""

import argparse
import collections
import heapq
import json
import pathlib
import re
import sys

ACCESS_BITS = {
    "byte": 8, "ubyte": 8, "sbyte": 8, "b8": 8, "u8": 8, "i8": 8,
    "short": 16, "ushort": 16, "sshort": 16, "b16": 16, "u16": 16, "i16": 16,
    "dword": 32, "b32": 32, "dwordx2": 64, "b64": 64, "dwordx3": 96, "b96": 96, "dwordx4": 128, "b128": 128,
}
WRITEBACKS = {"buffer_wbl2", "global_wb", "global_wbinv"}
INVALIDATES = {"buffer_inv", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv",
               "buffer_gl1_inv", "global_inv", "s_dcache_inv"}
HINTS = {"s_delay_alu", "s_clause", "s_nop", "s_code_end", "s_set_inst_prefetch_distance", "s_sendmsg", "s_setprio"}
RETURNS = {"s_setpc_b64", "s_set_pc_i64"}  # gfx1250 has the second name
CALLS = {"s_swappc_b64", "s_swap_pc_i64"}
END_OF_PATH = {"s_endpgm", *RETURNS}
NEVER_ON_A_FAST_PATH = {"s_trap", "s_sethalt", *CALLS}

# `back`: target of a branch to a label that is already known; numeric labels may occur again.
Instruction = collections.namedtuple("Instruction", "opcode operands back", defaults=(None,))


def text_of(instruction):
    return f"{instruction.opcode} {instruction.operands}"


class Kernel:
    """The instructions of one function, its labels (name to index) and the figures in the compiler's comments."""

    def __init__(self, name, buffer_is_scratch):
        self.name = name
        self.buffer_is_scratch = buffer_is_scratch
        self.instructions = []
        self.labels = {}
        self.notes = {}

    def note(self, *names):
        for name in names:
            if name in self.notes:
                return int(self.notes[name])
        return 0

    def resources(self):
        return {"code_bytes": self.note("codeLenInByte"), "vgprs": self.note("NumVgprs"),
                "sgprs": self.note("TotalNumSgprs", "NumSgprs"), "scratch_bytes": self.note("ScratchSize"),
                "lds_bytes": self.note("LDSByteSize")}


def read_kernels(path):
    kernels = []
    kernel = None
    # On targets with scratch instructions, a buffer access is an ordinary access.
    buffer_is_scratch = True
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            target = re.match(r'\s*\.amdgcn_target\s+".*--(gfx\w+)', line)
            if target:
                buffer_is_scratch = not re.match(r"gfx(94|95|1[12])", target.group(1))
            start = re.match(r"([A-Za-z_][\w.$]*):\s*; @", line)
            if start:
                kernel = Kernel(start.group(1), buffer_is_scratch)
                kernels.append(kernel)
            elif kernel is not None:
                read_line(kernel, line)
    return [k for k in kernels if k.instructions]


def read_line(kernel, line):
    label = re.match(r"(\.L\w+):", line)
    if label:
        kernel.labels[label.group(1)] = len(kernel.instructions)
        return
    note = re.match(r"; ([A-Za-z]\w+)\s*[:=]\s*(\d+)\b", line)
    if note:
        kernel.notes.setdefault(note.group(1), note.group(2))
        return
    # Labels of inline assembly are numbers; a branch names the nearest one before (b) or after (f) it.
    local = re.match(r"\s*(\d+):(.*)", line)
    if local:
        kernel.labels[local.group(1) + "b"] = len(kernel.instructions)
        line = "\t" + local.group(2)
    code = line.split(";")[0].strip()
    if not line.startswith("\t") or not code or code.startswith((".", "//")):
        return
    opcode, operands = (code.split(None, 1) + [""])[:2]
    kernel.instructions.append(Instruction(opcode, operands.strip(), kernel.labels.get(operands.strip())))


def count(kernel, instructions):
    """Totals by class; loads and stores also by width in bits."""
    totals = collections.Counter(instructions=len(instructions))
    stores, loads = collections.Counter(), collections.Counter()
    for opcode, *_ in instructions:
        memory = re.match(r"(global|flat|buffer|scratch)_(store|load|atomic)(?:_d16)?(?:_hi)?_?(\w*)", opcode)
        if opcode in WRITEBACKS:
            totals["writebacks"] += 1
        elif opcode in INVALIDATES:
            totals["invalidates"] += 1
        elif memory:
            space, action, width = memory.groups()
            if space == "scratch" or (space == "buffer" and action != "atomic" and kernel.buffer_is_scratch):
                totals["scratch_accesses"] += 1
            elif action == "atomic":
                totals["atomics"] += 1
            else:
                totals[action + "s"] += 1
                bits = ACCESS_BITS.get(re.sub(r"_d16|_hi", "", width), 0)
                if action == "store" and bits < 32:
                    totals["narrow_stores"] += 1
                (stores if action == "store" else loads)[bits] += 1
        elif opcode.startswith("ds_"):
            totals["lds"] += 1
        elif opcode.startswith(("s_waitcnt", "s_wait_")):
            totals["waits"] += 1
        elif opcode.startswith(("s_load", "s_buffer_load")):
            totals["scalar_loads"] += 1
        elif opcode.startswith("s_cbranch") or opcode == "s_branch" or opcode in RETURNS or opcode in CALLS:
            totals["branches"] += 1
        elif opcode in HINTS:
            totals["hints"] += 1
    return totals, stores, loads


class Graph:
    """Basic blocks [begin, end) of a kernel, and the successors of each."""

    def __init__(self, kernel, whole_wave):
        self.code = kernel.instructions
        begins = {0} | set(kernel.labels.values()) | {i.back for i in self.code if i.back is not None}
        for index, (opcode, *_) in enumerate(self.code):
            if opcode.startswith("s_cbranch") or opcode == "s_branch" or opcode in END_OF_PATH:
                begins.add(index + 1)
        begins = sorted(b for b in begins if b < len(self.code))
        self.blocks = list(zip(begins, begins[1:] + [len(self.code)]))
        block_at = {begin: number for number, begin in enumerate(begins)}
        self.successors = []
        for begin, end in self.blocks:
            targets = self.targets(kernel, begin, end, whole_wave)
            self.successors.append([block_at[t] for t in targets if t in block_at])
        self.ends = {n for n, (_, end) in enumerate(self.blocks) if self.code[end - 1].opcode in END_OF_PATH}

    def targets(self, kernel, begin, end, whole_wave):
        opcode, operands, back = self.code[end - 1]
        taken = back if back is not None else kernel.labels.get(operands)
        if opcode == "s_branch":
            return [taken]
        if opcode in END_OF_PATH:
            return []
        if not opcode.startswith("s_cbranch"):
            return [end]
        if whole_wave and opcode in ("s_cbranch_execz", "s_cbranch_execnz"):
            return self.wave_targets(opcode, begin, end, taken)
        return [end, taken]

    def wave_targets(self, opcode, begin, end, taken):
        """Successors for a whole wave: it enters masked blocks, where some lane is active, and leaves a loop with none."""
        leaves_loop = any(re.match(r"s_(and_not1|andn2|and_andn2)_b(32|64) exec", text_of(i))
                          for i in self.code[max(begin, end - 4):end - 1])
        if opcode == "s_cbranch_execz":
            return [end, taken] if leaves_loop else [end]
        if leaves_loop:
            return [end]
        return [end] if taken is not None and taken < end else [taken]

    def matching(self, expression):
        return {number for number, (begin, end) in enumerate(self.blocks)
                if any(re.search(expression, text_of(i)) for i in self.code[begin:end])}

    def cost(self, number):
        begin, end = self.blocks[number]
        trapped = any(i.opcode in NEVER_ON_A_FAST_PATH for i in self.code[begin:end])
        return end - begin + (1_000_000 if trapped else 0)

    def shortest(self, source, goals, avoided):
        """Dijkstra over blocks: the blocks after `source`, or None. At least one step, even if `source` is a goal."""
        best = {}
        came_from = {}
        queue = []
        for following in self.successors[source]:
            if following not in avoided:
                best[following] = self.cost(following)
                heapq.heappush(queue, (best[following], following))
        while queue:
            cost, number = heapq.heappop(queue)
            if cost > best[number]:
                continue
            if number in goals:
                walk = [number]
                while number in came_from:
                    number = came_from[number]
                    walk.append(number)
                return walk[::-1]
            for following in self.successors[number]:
                total = cost + self.cost(following)
                if following not in avoided and total < best.get(following, sys.maxsize):
                    best[following] = total
                    came_from[following] = number
                    heapq.heappush(queue, (total, following))
        return None

    def path(self, musts, avoid):
        """Instructions of the walk through one block for each of `musts`, in their order; None if there is none."""
        avoided = self.matching(avoid) if avoid else set()
        walk = self.legs(0, [self.matching(must) for must in musts] + [self.ends], avoided)
        return walk and self.instructions(walk)

    def loop(self, musts, avoid):
        """Instructions of the cheapest turn of a loop through one block for each of `musts`; None if there is none."""
        avoided = self.matching(avoid) if avoid else set()
        turns = []
        for start in self.matching(musts[0]):
            walk = self.legs(start, [self.matching(must) for must in musts[1:]] or [], avoided)
            back = walk and self.shortest(walk[-1], {start}, avoided)
            if back:
                turns.append(self.instructions(walk + back[:-1]))
        return min(turns, key=len, default=None)

    def looping(self):
        """Instructions of all blocks that are part of a loop."""
        return self.instructions(n for n in range(len(self.blocks)) if self.shortest(n, {n}, set()) is not None)

    def looping_within(self):
        """Instructions of all blocks that are part of a loop within another loop."""
        def in_loop(number, avoided):
            return self.shortest(number, {number}, avoided) is not None

        heads = {head for number, following in enumerate(self.successors) for head in following
                 if in_loop(head, set()) and self.shortest(head, {number}, set()) is None}
        return self.instructions(n for n in range(len(self.blocks)) if n not in heads and in_loop(n, heads))

    def legs(self, start, stations, avoided):
        walk = [start]
        for goals in stations:
            if walk[-1] in goals:
                continue
            leg = self.shortest(walk[-1], goals, avoided)
            if leg is None:
                return None
            walk += leg
        return walk

    def instructions(self, walk):
        return [i for number in walk for i in self.code[slice(*self.blocks[number])]]


def describe(totals, stores, loads):
    widths = lambda counter: " + ".join(f"{n} x {bits}" for bits, n in sorted(counter.items())) or "0"
    named = ("atomics", "lds", "waits", "writebacks", "invalidates", "scalar_loads", "scratch_accesses", "branches",
             "hints")
    rest = ", ".join(f"{name} {totals[name]}" for name in named)
    return f"{totals['instructions']} instructions: stores {widths(stores)}, loads {widths(loads)}, {rest}"


def exceeded(values, limits, per):
    failures = []
    for name, limit in limits:
        share = per if name == "instructions" else 1
        verdict = "ok" if values[name] <= limit * share else "EXCEEDED"
        unit = f" / {share} = {values[name] / share:.2f}" if share != 1 else ""
        print(f"  {verdict}: {name} {values[name]}{unit}, at most {limit:g}")
        if verdict != "ok":
            failures.append(name)
    return failures


def parse_limit(text):
    name, _, number = text.partition("=")
    return name, float(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="assembly")
    parser.add_argument("kernel", nargs="?", default=".", help="expression that the kernel's name must match")
    parser.add_argument("--must", action="append", default=[], metavar="REGEX", help="the path passes such a block")
    parser.add_argument("--avoid", metavar="REGEX", help="the path passes no such block")
    parser.add_argument("--wave", action="store_true", help="follow a wave: masked blocks are walked, not skipped")
    parser.add_argument("--loop", action="store_true", help="one turn of the loop past all of --must")
    parser.add_argument("--max", action="append", default=[], type=parse_limit, metavar="NAME=N", help="a limit")
    parser.add_argument("--per", type=int, default=1, help="the limit of instructions is for one of so many entries")
    parser.add_argument("--record", type=pathlib.Path, metavar="FILE", help="where the path's figures are kept")
    arguments = parser.parse_args()

    kernels = [k for k in read_kernels(arguments.file) if re.search(arguments.kernel, k.name)]
    if not kernels:
        sys.exit(f"no kernel in {arguments.file} matches {arguments.kernel}")
    failed = False
    for kernel in kernels:
        resources = kernel.resources()
        print(f"{kernel.name}: " + ", ".join(f"{name} {value}" for name, value in resources.items()))
        print("  all:  " + describe(*count(kernel, kernel.instructions)))
        graph = Graph(kernel, arguments.wave)
        path = (graph.loop if arguments.loop else graph.path)(arguments.must, arguments.avoid)
        if path is None:
            print("  no path passes all of --must")
            failed = True
            continue
        totals, stores, loads = count(kernel, path)
        print("  path: " + describe(totals, stores, loads))
        values = collections.Counter(resources)
        values.update(totals)
        for prefix, instructions in (("kernel_", kernel.instructions), ("loop_", graph.looping()),
                                     ("inner_loop_", graph.looping_within())):
            for name, number in count(kernel, instructions)[0].items():
                values[prefix + name] = number
        if arguments.record:
            arguments.record.parent.mkdir(parents=True, exist_ok=True)
            arguments.record.write_text(json.dumps({"kernel": kernel.name, **totals, **resources}) + "\n", encoding="utf-8")
        unknown = [name for name, _ in arguments.max if name not in KNOWN_LIMITS]
        if unknown:
            sys.exit(f"unknown limit {unknown[0]}; known: {', '.join(KNOWN_LIMITS)}")
        failed |= bool(exceeded(values, arguments.max, arguments.per))
    sys.exit(1 if failed else 0)


COUNTED = ("instructions", "stores", "loads", "atomics", "lds", "waits", "writebacks", "invalidates", "scalar_loads",
           "scratch_accesses", "branches", "narrow_stores")
KNOWN_LIMITS = tuple(p + name for p in ("", "kernel_", "loop_", "inner_loop_") for name in COUNTED) + (
    "vgprs", "sgprs", "scratch_bytes", "lds_bytes", "code_bytes")

if __name__ == "__main__":
    main()
