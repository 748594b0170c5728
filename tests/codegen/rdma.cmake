# SPDX-License-Identifier: MIT
# What one RDMA write costs, for each vendor. Limits are for gfx942; the other targets are held to what they must not have.

# The 16-byte stores of an entry are the fewest that the recorded bytes allow; vendors/*.cmake state them and the limits.
foreach(arch IN LISTS XIO_HIP_TARGETS)
  foreach(vendor IN LISTS XIO_RDMA_VENDORS)
    include(${XIO_CODEGEN_DIR}/vendors/${vendor}.cmake)
    set(must_${vendor} ${must})
    set(limit ${instructions})
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
  foreach(vendor IN LISTS XIO_RDMA_VENDORS)
    include(${XIO_CODEGEN_DIR}/vendors/${vendor}.cmake)
    xio_budget_test(codegen/rdma_rings.hip KERNEL wave_${vendor} ARCH ${arch} WAVE MUST "global_store_.*(nt|slc|TH_STORE_NT|b64|x2)"
      MAX stores=${wave_stores} vgprs=32 kernel_writebacks=1 kernel_invalidates=0 scratch_bytes=0 kernel_narrow_stores=0 atomics=0)
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
