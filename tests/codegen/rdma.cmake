# SPDX-License-Identifier: MIT
# What one RDMA write costs, for each vendor. Limits are for gfx942; the other targets are held to what they must not have.

# The 16-byte stores of an entry are the fewest that the recorded bytes allow: MLX5 3, BNXT 3 and an 8-byte table entry,
# IONIC 4 (the slot is zeroed), ERNIC 4; soft-RoCE's memory takes 8-byte ones.
set(entry "global_store_(dwordx4|b128) .*(nt|slc|TH_STORE_NT)")
set(must_mlx5 "${entry}" "offset:16.*(nt|slc|TH_STORE_NT)")
set(must_bnxt "${entry}")
set(must_ionic "${entry}")
set(must_ernic "${entry}")
set(must_rxe "global_store_(dwordx2|b64) ")
foreach(arch IN LISTS XIO_HIP_TARGETS)
  # vendor, instructions, stores: of the entry, the queue's state, side table, record and doorbell
  foreach(budget mlx5=58=6 bnxt=82=8 ionic=62=6 ernic=61=7 rxe=64=19)
    string(REPLACE "=" ";" budget ${budget})
    list(GET budget 0 vendor)
    list(GET budget 1 limit)
    list(GET budget 2 stores)
    if(NOT arch STREQUAL gfx942)
      math(EXPR limit "${limit} * 5 / 4")
    endif()
    xio_budget_test(codegen/rdma_post.hip KERNEL put_${vendor} ARCH ${arch} MUST ${must_${vendor}}
      MAX instructions=${limit} stores=${stores} vgprs=24 kernel_writebacks=1 kernel_invalidates=0 scratch_bytes=0
        kernel_narrow_stores=0)
  endforeach()
  # Bounds, arguments and the token; then the toggle of the BlueFlame register's halves too.
  foreach(budget checked=90 halves=90)
    string(REPLACE "=" ";" budget ${budget})
    list(GET budget 0 kernel)
    list(GET budget 1 limit)
    if(NOT arch STREQUAL gfx942)
      math(EXPR limit "${limit} * 9 / 8")
    endif()
    xio_budget_test(codegen/rdma_post.hip KERNEL put_${kernel}_mlx5 ARCH ${arch} MUST ${must_mlx5}
      MAX instructions=${limit} vgprs=24 kernel_writebacks=1 kernel_invalidates=0 scratch_bytes=0 kernel_narrow_stores=0)
  endforeach()
endforeach()
xio_compile_kernels(codegen/rdma_post.hip)

# H1, H38: who rings for a wave, and what comes before.
xio_codegen_test(codegen/rdma_rings.hip)
# The same kernels, counted for a whole wave: its stores are those of one lane, whatever the number of lanes. BNXT adds up
# packets lane by lane, so that its instructions are for one turn of a loop.
foreach(arch IN LISTS XIO_HIP_TARGETS)
  # vendor, stores of the path: entry, state, side table, record, doorbell
  foreach(budget mlx5=6 bnxt=8 ionic=6 ernic=7 rxe=18)
    string(REPLACE "=" ";" budget ${budget})
    list(GET budget 0 vendor)
    list(GET budget 1 stores)
    xio_budget_test(codegen/rdma_rings.hip KERNEL wave_${vendor} ARCH ${arch} WAVE MUST "global_store_.*(nt|slc|TH_STORE_NT|b64|x2)"
      MAX stores=${stores} vgprs=32 kernel_writebacks=1 kernel_invalidates=0 scratch_bytes=0 kernel_narrow_stores=0 atomics=0)
  endforeach()
endforeach()

# H17: taking the lock of the completions.
xio_codegen_test(codegen/rdma_drain.hip ARCHS sm_90)

# Looking at a collapsed completion queue: no fence; where others share it two atomics, by which the right to look is taken
# and given back.
foreach(arch IN LISTS XIO_HIP_TARGETS)
  foreach(vendor mlx5 ionic)
    xio_budget_test(codegen/rdma_collapsed.hip KERNEL drain_${vendor} ARCH ${arch}
      MAX vgprs=40 kernel_writebacks=0 kernel_invalidates=0 kernel_atomics=0 scratch_bytes=0)
    xio_budget_test(codegen/rdma_collapsed.hip KERNEL drain_${vendor}_grid ARCH ${arch}
      MAX vgprs=40 kernel_writebacks=0 kernel_invalidates=0 kernel_atomics=2 scratch_bytes=0)
  endforeach()
endforeach()
xio_compile_kernels(codegen/rdma_collapsed.hip)
