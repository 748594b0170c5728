#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of isa_count.py against assembly counted by hand."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import isa_count  # noqa: E402

ASSEMBLY = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--{target}"
post:                                   ; @post
; %bb.0:
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_cbranch_scc1 .LBB0_3
; %bb.1:
\tglobal_store_dwordx4 v2, v[0:3], s[2:3]
\tglobal_store_dwordx2 v2, v[0:1], s[2:3] offset:16
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
\ts_sleep 1
\tglobal_load_dword v4, v2, s[2:3] sc0 sc1
\ts_waitcnt vmcnt(0)
\ts_cbranch_vccnz .LBB0_2
; %bb.3:
\t;;#ASMSTART
\ts_nop 0
1:\ts_ff1_i32_b64 s8, s[6:7]
\ts_cbranch_scc1 1b
\t;;#ASMEND
\tbuffer_wbl2 sc0 sc1
\tbuffer_store_dwordx4 v[0:3], v5, s[4:7], 0 offen
\tbuffer_inv sc0 sc1
\tglobal_atomic_add v1, v2, s[2:3]
.LBB0_3:
\ts_endpgm
\t.section\t.rodata,"a",@progbits
; codeLenInByte = 120
; NumSgprs: 16
; NumVgprs: 6
; ScratchSize: 8
; LDSByteSize: 512 bytes/workgroup (compile time only)
"""


class IsaCount(unittest.TestCase):
    def kernel(self, target="gfx942"):
        with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
            file.write(ASSEMBLY.format(target=target))
            file.flush()
            kernels = isa_count.read_kernels(file.name)
        self.assertEqual([k.name for k in kernels], ["post"])
        return kernels[0]

    def test_resources(self):
        self.assertEqual(self.kernel().resources(),
                         {"code_bytes": 120, "vgprs": 6, "sgprs": 16, "scratch_bytes": 8, "lds_bytes": 512})

    def test_whole_kernel(self):
        kernel = self.kernel()
        totals, stores, loads = isa_count.count(kernel, kernel.instructions)
        expected = dict(instructions=17, stores=3, loads=1, atomics=1, waits=2, writebacks=1, invalidates=1,
                        scalar_loads=1, branches=3, hints=1)
        self.assertEqual(dict(totals), expected)
        self.assertEqual((dict(stores), dict(loads)), ({128: 2, 64: 1}, {32: 1}))

    def test_buffer_access_is_scratch_where_scratch_has_no_instructions(self):
        kernel = self.kernel("gfx90a")
        totals, stores, _ = isa_count.count(kernel, kernel.instructions)
        self.assertEqual((totals["scratch_accesses"], totals["stores"], dict(stores)), (1, 2, {128: 1, 64: 1}))

    def test_paths(self):
        graph = isa_count.Graph(self.kernel(), False)
        length = lambda *musts, avoid=None: len(graph.path(musts, avoid) or ())
        self.assertEqual(length(), 4)                                      # straight to the end
        self.assertEqual(length("global_store"), 17)                       # through both loops once
        self.assertEqual(length("global_load", "global_store"), 0)         # never in this order
        self.assertEqual(length("global_store", avoid="buffer_wbl2"), 0)   # no way around the write-back

    def test_loops(self):
        kernel = self.kernel()
        graph = isa_count.Graph(kernel, False)
        self.assertEqual(len(graph.loop(["global_load"], None)), 4)        # one turn
        self.assertEqual(len(graph.loop(["s_ff1"], None)), 2)              # labelled by a number, in inline assembly
        self.assertIsNone(graph.loop(["buffer_wbl2"], None))
        totals = isa_count.count(kernel, graph.looping())[0]
        self.assertEqual((totals["instructions"], totals["loads"], totals["stores"]), (6, 1, 0))
        self.assertEqual(graph.looping_within(), [])
        # 1 and 3 turn around 2, which turns on its own.
        graph.blocks = [(n, n + 1) for n in range(5)]
        graph.successors = [[1], [2], [2, 3], [1, 4], []]
        self.assertEqual(graph.looping_within(), [graph.code[2]])

    def test_limits_decide_the_exit_status(self):
        with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
            file.write(ASSEMBLY.format(target="gfx942"))
            file.flush()
            run = lambda *limits: subprocess.run(
                [sys.executable, f"{HERE}/isa_count.py", file.name, "post", "--must", "global_store", *limits],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
            self.assertEqual(run("--max", "instructions=17", "--max", "vgprs=6"), 0)
            self.assertEqual(run("--max", "instructions=16"), 1)
            self.assertEqual(run("--max", "kernel_writebacks=1", "--max", "loop_writebacks=0"), 0)
            self.assertEqual(run("--max", "kernel_writebacks=0"), 1)
            self.assertEqual(run("--max", "loop_loads=0"), 1)
            self.assertEqual(run("--max", "vgprs=5"), 1)
            self.assertEqual(run("--max", "instructions=4.25", "--per", "4"), 0)
            self.assertEqual(run("--max", "instructions=4", "--per", "4"), 1)
            self.assertEqual(run("--max", "instruction=15"), 1)


if __name__ == "__main__":
    unittest.main()
