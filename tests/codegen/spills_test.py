#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of spills.py with blocks written by hand."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import spills  # noqa: E402


def found(*block, before="\tv_add_u32_e32 v1, v2, v3"):
    text = ["kernel:", "; %bb.0:", before, ".LBB0_1:                                ;   in Loop: Header", *block,
            "\ts_endpgm"]
    blocks = spills.search("\n".join(text))
    return blocks.restores, len(blocks.found)


class Spills(unittest.TestCase):
    def test_saves_before_lanes_come_back(self):
        for save in ("scratch_store_dword off, v41, off offset:76 ; 4-byte Folded Spill",
                     "scratch_store_b32 off, v41, s32 offset:4",
                     "buffer_store_dword v4, off, s[0:3], s32 offset:4",
                     "v_accvgpr_write_b32 a3, v7"):
            for restore in ("s_andn2_saveexec_b64 s[2:3], s[2:3]", "s_or_saveexec_b32 s4, s5",
                            "s_and_not1_saveexec_b32 s2, s2", "s_or_b64 exec, exec, s[6:7]",
                            "s_or_b32 exec_lo, exec_lo, s6"):
                self.assertEqual(found("\ts_mov_b32 s71, s37", "\t" + save, "\t" + restore), (1, 1), (save, restore))

    def test_saves_behind_it(self):
        self.assertEqual(found("\ts_or_b64 exec, exec, s[6:7]", "\tscratch_store_dword off, v1, off"), (1, 0))

    def test_saves_of_what_the_lanes_compute(self):
        self.assertEqual(found("\tv_add_u32_e32 v1, v2, v3", "\tscratch_store_dword off, v1, off",
                               "\ts_or_b64 exec, exec, s[6:7]"), (0, 0))

    def test_saves_of_whole_waves(self):
        self.assertEqual(found("\tscratch_store_dword off, v1, off", "\ts_or_saveexec_b64 s[0:1], -1"), (0, 0))

    def test_a_block_ends_where_the_next_begins(self):
        self.assertEqual(found("\tscratch_store_dword off, v1, off", "; %bb.2:", "\ts_or_b64 exec, exec, s[6:7]"), (1, 0))

    def test_buffers_are_memory_where_scratch_has_instructions(self):
        self.assertEqual(found("\tbuffer_store_dword v4, off, s[0:3], 0", "\ts_or_b64 exec, exec, s[6:7]",
                               before="\tscratch_load_dword v1, off, off"), (0, 0))

    def test_a_disassembly(self):
        blocks = spills.search("\n".join(["0000000000002800 <kernel>:", "\tv_add_u32_e32 v1, v2, v3    // 000000002800: 68020602",
                                "0000000000002804 <L0>:",
                                "\tscratch_store_dword off, v41, off offset:76    // 000000002804: DC704000 007F2900",
                                "\ts_andn2_saveexec_b64 s[2:3], s[2:3]     // 00000000280C: BE822302"]))
        self.assertEqual(blocks.found, ["kernel: scratch_store_dword off, v41, off offset:76 before "
                                        "s_andn2_saveexec_b64 s[2:3], s[2:3]"])


if __name__ == "__main__":
    unittest.main()
