# SPDX-License-Identifier: MIT
# Instructions, registers and fences that a call may cost; docs/internals/instruction-budgets.md is the table. The limits hold for
# gfx942, where the peers were counted; the other targets are counted too, so that the table can be kept.

# What a path must pass, so that no infeasible one is counted. Entries are stored with cache hints, state words are not.
set(entry_store "(global|buffer)_store_(dwordx4|b128).*(nt|slc|TH_STORE_NT|sc1|SCOPE_SYS)")
set(doorbell_store "global_store_(dword|b32) ")
set(slot_look "s_load_(dwordx2|b64) .*, s[0-9]+ offset|global_load_(dwordx2|b64)")
set(post codegen/post.hip)

foreach(arch IN LISTS XIO_HIP_TARGETS)
  # Targets that wait for stores separately need no write-back for host memory, and those of RDNA more hints.
  if(arch STREQUAL gfx942)
    set(room 48)
    set(token 60)
    set(guard 80)
    set(checked 108)
    set(loop 45)
    set(batch 4)
    set(one_look 26)
    set(registers 32)
  else()
    set(room 56)
    set(token 68)
    set(guard 100)
    set(checked 115)
    set(loop 60)
    set(batch 9)
    set(one_look 34)
    set(registers 40)
  endif()
  set(one_release kernel_writebacks=1 kernel_invalidates=0 scratch_bytes=0 kernel_narrow_stores=0)

  xio_budget_test(${post} KERNEL post_room ARCH ${arch} MUST ${entry_store} ${doorbell_store}
    MAX instructions=${room} vgprs=${registers} stores=6 waits=5 ${one_release})
  xio_budget_test(${post} KERNEL post_token ARCH ${arch} MUST ${entry_store} ${doorbell_store}
    MAX instructions=${token} vgprs=${registers} ${one_release})
  xio_budget_test(${post} KERNEL post_guard ARCH ${arch} MUST ${slot_look} ${entry_store} ${doorbell_store}
    MAX instructions=${guard} vgprs=${registers} ${one_release})
  xio_budget_test(${post} KERNEL post_checked ARCH ${arch} MUST ${slot_look} ${entry_store} ${doorbell_store}
    MAX instructions=${checked} vgprs=64 kernel_writebacks=2 kernel_invalidates=0 scratch_bytes=0)
  xio_budget_test(${post} KERNEL post_loop ARCH ${arch} LOOP MUST ${entry_store} ${doorbell_store}
    MAX instructions=${loop} loads=0 scalar_loads=0 stores=5 waits=2 vgprs=${registers} ${one_release})
  xio_budget_test(${post} KERNEL look ARCH ${arch} MUST ${doorbell_store}
    MAX instructions=${one_look} vgprs=8 loads=1 kernel_invalidates=0 scratch_bytes=0)
  xio_budget_test(${post} KERNEL look_at ARCH ${arch} MUST ${doorbell_store}
    MAX instructions=36 vgprs=8 loads=1 kernel_invalidates=0 scratch_bytes=0)

  # A full wave: the path is that of the wave, which walks masked regions.
  if(arch MATCHES "^gfx9")
    set(entries 64)
  else()
    set(entries 32)
  endif()
  xio_budget_test(codegen/batch.hip KERNEL submit_batch ARCH ${arch} WAVE PER ${entries}
    MUST "global_load_(dwordx2|b64) " quad_perm ${entry_store} ${doorbell_store}
    MAX instructions=${batch} stores=7 vgprs=64 ${one_release})

  # WriteThrough: no write-back where the target stores through its caches.
  set(through_writebacks 0)
  if(arch STREQUAL gfx90a)
    set(through_writebacks 1)
  endif()
  xio_budget_test(codegen/write_through.hip KERNEL through_thread ARCH ${arch} MUST store ${doorbell_store}
    MAX instructions=56 vgprs=${registers} kernel_writebacks=${through_writebacks} kernel_invalidates=0 scratch_bytes=0)

  # Waiting: no fence in any polling loop, one acquire behind them (two instructions where caches are invalidated one by
  # one). A call of a shared queue is itself a loop, whose turns are the queues of the wave's lanes.
  set(acquire 1)
  if(arch MATCHES "^gfx(90a|11)")
    set(acquire 2)
  endif()
  foreach(kernel wait_word wait_token wait_token_grid drain)
    set(polls loop)
    if(kernel STREQUAL wait_token_grid)
      set(polls inner_loop)
    endif()
    xio_budget_test(codegen/poll.hip KERNEL ${kernel} ARCH ${arch}
      MAX ${polls}_invalidates=0 ${polls}_writebacks=0 kernel_invalidates=${acquire} kernel_writebacks=0 scratch_bytes=0)
  endforeach()

  # Steps counts in registers: in the loop only the entry and the doorbell are stored, and nothing is read.
  xio_budget_test(codegen/telemetry.hip KERNEL steps ARCH ${arch} LOOP MUST ${entry_store} ${doorbell_store}
    MAX loop_stores=5 loop_loads=0 loop_scalar_loads=0 loop_atomics=0 scratch_bytes=0)

  # The floor, counted for the table.
  xio_budget_test(codegen/floor.hip KERNEL floor_post ARCH ${arch} MAX scratch_bytes=0)
  xio_budget_test(codegen/floor.hip KERNEL floor_loop ARCH ${arch} LOOP MUST ${doorbell_store} MAX scratch_bytes=0)
  xio_budget_test(codegen/floor.hip KERNEL floor_batch ARCH ${arch} WAVE PER ${entries} MUST ${doorbell_store}
    MAX instructions=64)
  xio_budget_test(codegen/floor.hip KERNEL floor_look ARCH ${arch} MUST ${doorbell_store} MAX scratch_bytes=0)
endforeach()

# What a kernel takes that makes one call and waits, in bytes of code, with every function that it calls. No register is
# spilled, but 6 to others where there are two calls in place. Where calls are in a function of the program, a further one
# takes at most 1536 bytes, and there is scratch memory for that function's return address. The aims on gfx942: 5 KiB for a
# thread, 6 KiB for a wave, 10 KiB for a grid, and 7 KiB for an MLX5 write; on gfx1100 a quarter more.
set(sizes_gfx942 read_thread=5144 read_wave=6160 read_grid=9840 read_grid_twice=15140/6 put_thread=4850 put_wave=6690
  put_grid=7070 read_called=10540/0/16 read_called_twice=10620/0/48 read_called_twice-read_called=78)
set(sizes_gfx1100 read_thread=6250 read_wave=7260 read_grid=11470 read_grid_twice=17520 put_thread=5870 put_wave=7750
  put_grid=8380 read_called=12530/0/16 read_called_twice=12640/0/16 read_called_twice-read_called=116)
foreach(arch gfx942 gfx1100)
  string(REPLACE ";" "," sizes "${sizes_${arch}}")
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME codegen.sizes.${arch} LABELS codegen budget
    COMMAND ${XIO_CODEGEN_DIR}/code_sizes.py ${sizes} ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${arch} -S -o -
      ${XIO_CODEGEN_DIR}/sizes.hip)
endforeach()

# The same for NVIDIA, of nvcc: instructions of 16 bytes, registers, and bytes of stack, which holds a copy of a handle whose
# address is passed to a function.
set(sizes_sm_90 read_thread=1070/56 read_wave=1240/72 read_grid=1920/80 read_grid_twice-read_grid=880 put_thread=900/42
  put_wave=1330/48 put_grid=1460/65 read_called=3390/130/264 read_called_twice-read_called=155)
string(REPLACE ";" "," sizes "${sizes_sm_90}")
xio_register_tool_test("${XIO_NVCC_MISSING}" NAME codegen.sizes.sm_90 LABELS codegen budget TIMEOUT 300
  COMMAND ${XIO_CODEGEN_DIR}/nvcc_sizes.py ${sizes} ${XIO_CODEGEN_BINARY_DIR}/sizes.sm_90.cubin
    ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=sm_90 ${XIO_CODEGEN_DIR}/sizes.hip)
