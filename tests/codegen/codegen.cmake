# SPDX-License-Identifier: MIT
# What the compilers make of the device code, compared with the comments in the sources.

set(sources batch block cache lane_masks one_lane_rings poll post primitives release write_through)
foreach(source IN LISTS sources)
  xio_codegen_test(codegen/${source}.hip)
endforeach()
foreach(source batch poll post primitives release write_through)
  xio_codegen_test(codegen/${source}.hip ARCHS sm_90)
endforeach()

# What the newer clang makes is ordered alike where the text is short enough to compare; the tests of the machine execute all of it.
if(NOT XIO_HIP_NEWER_MISSING)
  set(newer ${XIO_HIP_TARGETS} ${XIO_HIP_NEWER_TARGETS})
  list(TRANSFORM newer PREPEND newer:)
  foreach(source batch lane_masks post release write_through)
    xio_codegen_test(codegen/${source}.hip ARCHS ${newer})
  endforeach()
  xio_compile_kernels(codegen/kernels.hip ARCHS ${newer})
endif()

# At night for waves of 32, whose code is that of the machine's kernels.
xio_compile_kernels(codegen/kernels.hip NIGHTLY gfx1201)

# 16 bytes for each token of each of 64 threads; without the bound it would be for 1,024: all of the LDS of a block on gfx1100.
foreach(arch IN LISTS XIO_HIP_TARGETS)
  xio_budget_test(codegen/tokens.hip KERNEL tokens_in_flight ARCH ${arch} MAX lds_bytes=4096)
endforeach()

# telemetry::Off adds no instruction.
foreach(arch IN LISTS XIO_HIP_TARGETS)
  xio_target_labels(${arch} labels codegen)
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME codegen.telemetry_off.${arch} LABELS ${labels}
    COMMAND ${XIO_CODEGEN_DIR}/telemetry_off.sh ${XIO_CODEGEN_BINARY_DIR}/telemetry.${arch}
      ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${arch} -S ${XIO_CODEGEN_DIR}/telemetry.hip)
endforeach()

# The assembler takes our inline assembly, and NVIDIA's kernels need no stack.
foreach(arch IN LISTS XIO_HIP_TARGETS)
  xio_target_labels(${arch} labels codegen)
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME codegen.assembled.${arch} LABELS ${labels}
    COMMAND ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${arch} -c
      -o ${XIO_CODEGEN_BINARY_DIR}/assembled.${arch}.o ${XIO_CODEGEN_DIR}/one_lane_rings.hip)
endforeach()
xio_register_tool_test("${XIO_NVCC_MISSING}" NAME codegen.resources.sm_90 LABELS codegen TIMEOUT 300
  COMMAND ${XIO_CODEGEN_DIR}/nvcc_resources.sh ${XIO_CODEGEN_BINARY_DIR}/kernels.sm_90.cubin
    ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=sm_90 ${XIO_CODEGEN_DIR}/kernels.hip)

# Host code: instructions of one call, counted by callgrind in code that g++ made with -O3, whatever compiles the rest.
set(counted_cxx "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(counted_cxx ${CMAKE_CXX_COMPILER})
elseif(XIO_TESTS_CXX MATCHES "(^|/)g\\+\\+[^/]*$")
  set(counted_cxx ${XIO_TESTS_CXX})
endif()
function(xio_counted_program name)
  set(program ${XIO_TESTS_BINARY_DIR}/codegen-${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${counted_cxx} -std=c++17 -O3 -DNDEBUG -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -pthread
      -I${PROJECT_SOURCE_DIR}/include -I${XIO_TESTS_DIR} -I${XIO_VENDORS_DIR} -MD -MT ${program} -MF ${program}.d
      ${XIO_CODEGEN_DIR}/${name}.cpp -o ${program} -ldl
    DEPENDS ${XIO_CODEGEN_DIR}/${name}.cpp DEPFILE ${program}.d VERBATIM COMMENT "Counted: ${name}")
  add_custom_target(counted-${name} ALL DEPENDS ${program})
endfunction()
if(NOT XIO_SANITIZE AND counted_cxx)
  xio_counted_program(callgrind)
  foreach(budget post_unchecked=60 post_trusting=120 post_checked=126 poll_one=61 process_one=75 wait_one=180)
    string(REPLACE "=" ";" budget ${budget})
    list(GET budget 0 call)
    xio_register_test(NAME budget.${call}.host LABELS codegen budget once
      COMMAND ${XIO_CODEGEN_DIR}/callgrind_budget.sh ${XIO_TESTS_BINARY_DIR}/codegen-callgrind ${budget} NEEDS counted-callgrind)
  endforeach()

  # One RDMA write of one piece of memory: with everything checked, limits are at what was reached.
  xio_counted_program(callgrind_rdma)
  foreach(vendor IN LISTS XIO_RDMA_VENDORS)
    include(${XIO_CODEGEN_DIR}/vendors/${vendor}.cmake)
    foreach(call post_unchecked=80 post_checked=${host_checked} poll_one=61)
      string(REPLACE "=" ";" call ${call})
      list(GET call 0 function)
      xio_register_test(NAME budget.${function}_${vendor}.host LABELS codegen budget once
        COMMAND ${XIO_CODEGEN_DIR}/callgrind_budget.sh ${XIO_TESTS_BINARY_DIR}/codegen-callgrind_rdma ${call} ${vendor}
          NEEDS counted-callgrind_rdma)
    endforeach()
  endforeach()
endif()

# What scripts/gpu runs compiles everywhere: tests/gpu/*.hip for AMD, one target for each size of a wave, and for NVIDIA. At night, but for
# what the tests of the machine do not link and run (tests/machine): they execute what these programs use for all targets.

file(GLOB gpu_programs CONFIGURE_DEPENDS RELATIVE ${XIO_TESTS_DIR} ${XIO_TESTS_DIR}/gpu/*.hip)
foreach(program IN LISTS gpu_programs)
  set(later gfx1201)
  if(program MATCHES protocol)
    list(APPEND later gfx942)
  endif()
  xio_compile_kernels(${program} ARCHS gfx942 gfx1201 NIGHTLY ${later})
  xio_nvcc_compile_test(${program} LABELS nightly)
endforeach()

# The scripts that count.
xio_register_tool_test("" NAME codegen.isa_count LABELS codegen COMMAND ${XIO_CODEGEN_DIR}/isa_count_test.py)
xio_register_tool_test("" NAME codegen.spills_test LABELS codegen COMMAND ${XIO_CODEGEN_DIR}/spills_test.py)
