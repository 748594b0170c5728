# SPDX-License-Identifier: MIT
# What one RDMA write costs. The entry takes 3 stores of 16 bytes, and one of 8 to the side table.
set(must "global_store_(dwordx4|b128) .*(nt|slc|TH_STORE_NT)")
set(instructions 82)  # put_bnxt on gfx942
set(stores 8)  # of the entry, the queue's state, side table, record and doorbell
set(wave_stores 8)  # the same in wave_bnxt
set(host_checked 100)  # instructions of a checked post on the CPU
# On the CPU: stores of 16, 8 and 4 bytes of a post; bytes of the entry, and of the doorbell.
set(posted "3, 1, 0, 48, 8")
