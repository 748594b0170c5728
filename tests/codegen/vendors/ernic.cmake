# SPDX-License-Identifier: MIT
# What one RDMA write costs. The entry takes 4 stores of 16 bytes.
set(must "global_store_(dwordx4|b128) .*(nt|slc|TH_STORE_NT)")
set(instructions 61)  # put_ernic on gfx942
set(stores 7)  # of the entry, the queue's state, side table, record and doorbell
set(wave_stores 7)  # the same in wave_ernic
set(host_checked 68)  # instructions of a checked post on the CPU
# On the CPU: stores of 16, 8 and 4 bytes of a post; bytes of the entry, and of the doorbell.
set(posted "4, 0, 1, 64, 4")
