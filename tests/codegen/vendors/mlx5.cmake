# SPDX-License-Identifier: MIT
# What one RDMA write costs. The entry takes 3 stores of 16 bytes.
set(must "global_store_(dwordx4|b128) .*(nt|slc|TH_STORE_NT)" "offset:16.*(nt|slc|TH_STORE_NT)")
set(instructions 58)  # put_mlx5 on gfx942
set(stores 6)  # of the entry, the queue's state, side table, record and doorbell
set(wave_stores 6)  # the same in wave_mlx5
set(host_checked 80)  # instructions of a checked post on the CPU
# On the CPU: stores of 16, 8 and 4 bytes of a post; bytes of the entry, and of the doorbell.
set(posted "3, 0, 1, 48, 8")
