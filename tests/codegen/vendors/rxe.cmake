# SPDX-License-Identifier: MIT
# What one RDMA write costs. The entry takes stores of 8 bytes, which are the largest that its memory takes.
set(must "global_store_(dwordx2|b64) ")
set(instructions 64)  # put_rxe on gfx942
set(stores 19)  # of the entry, the queue's state, side table, record and doorbell
set(wave_stores 18)  # the same in wave_rxe
set(host_checked 79)  # instructions of a checked post on the CPU
# On the CPU: stores of 16, 8 and 4 bytes of a post; bytes of the entry, and of the doorbell.
set(posted "0, 15, 1, 120, 4")
