# SPDX-License-Identifier: MIT
# GPU code, executed by a model of the GPU that takes every liberty which its architecture gives.

# The code is the GPU's: how the host's compiler is told to look at itself makes no difference to it.
if(XIO_SANITIZE)
  return()
endif()
if(XIO_TOOLS_MISSING)
  xio_left_out("tests that execute GPU code" "${XIO_TOOLS_MISSING}")
  return()
endif()

set(machine_dir ${XIO_TESTS_DIR}/machine)
set(scenarios_dir ${XIO_TESTS_DIR}/scenarios)
set(machine_programs ${XIO_TESTS_BINARY_DIR}/machine)

add_library(machine STATIC EXCLUDE_FROM_ALL ${machine_dir}/core/load.cpp)
target_include_directories(machine PUBLIC ${XIO_TESTS_DIR})
target_link_libraries(machine PRIVATE xio_build_options PUBLIC machine_amdgcn machine_ptx)

xio_add_tests(machine damaged_files SOURCES damaged_files LIBS machine LABELS once SEPARATE)

# Compiles tests/scenarios/kernels/<kind>.hip for a target, with lines; the result names the file. newer:<target> is by the newer clang, named
# <target>.clang<version>. LATER: not with everything else, but by
# the test machine.kernels.<kind>.<target>, which those of these kernels require.
function(xio_scenarios kind arch result)
  cmake_parse_arguments(PARSE_ARGV 3 arg "LATER" "" "")
  if(arch MATCHES "gfx")
    set(by ${arch})
    xio_target_name(${by} arch)
    set(output ${machine_programs}/${kind}.${arch}.co)
    xio_kernel_file(${output} ${scenarios_dir}/kernels/${kind}.hip ${by} -gline-tables-only)
  elseif(arch STREQUAL sm_70)
    set(output ${machine_programs}/${kind}.${arch}.ptx)
    xio_kernel_file(${output} ${scenarios_dir}/kernels/${kind}.hip clang:${arch} -gline-tables-only)
  else()
    set(output ${machine_programs}/${kind}.${arch}.ptx)
    xio_kernel_file(${output} ${scenarios_dir}/kernels/${kind}.hip ${arch} -lineinfo)
  endif()
  set(target machine-kernels-${kind}-${arch})
  if(arg_LATER)
    add_custom_target(${target} DEPENDS ${output})
    xio_register_test(NAME machine.kernels.${kind}.${arch} LABELS machine once nightly TIMEOUT 600
      COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${target})
    set_tests_properties(machine.kernels.${kind}.${arch} PROPERTIES FIXTURES_SETUP ${target})
    if(arch MATCHES "gfx")
      xio_register_test(NAME codegen.spills.${kind}.${arch} LABELS codegen once nightly COMMAND ${XIO_CODEGEN_DIR}/spills.py ${output})
      set_tests_properties(codegen.spills.${kind}.${arch} PROPERTIES FIXTURES_REQUIRED ${target})
    endif()
  else()
    add_custom_target(${target} ALL DEPENDS ${output})
  endif()
  set(${result} ${output} PARENT_SCOPE)
endfunction()

# Predictions of the timed mode; its kernels' arguments are declared beside devices that are kernels themselves.
set(timed_dir ${machine_dir}/timed)
add_library(machine_timed STATIC EXCLUDE_FROM_ALL ${timed_dir}/command.cpp ${timed_dir}/rows.cpp ${timed_dir}/rounds.cpp ${timed_dir}/puts.cpp
  ${timed_dir}/reads.cpp)
target_link_libraries(machine_timed PRIVATE xio_build_options PUBLIC xio::xio machine_ptx CLI11::CLI11)
target_compile_definitions(machine_timed PRIVATE __global__=)
set_property(SOURCE ${timed_dir}/command.cpp APPEND PROPERTY COMPILE_DEFINITIONS XIO_MACHINE_TIMED_DIR="${timed_dir}")
xio_optimise_test(machine_timed -O0)
xio_add_tests(machine timed SOURCES timed_rows LIBS machine_timed LABELS once)

add_executable(machine-run ${machine_dir}/run/main.cpp ${machine_dir}/run/mutate.cpp ${scenarios_dir}/nvme_cases.cpp
  ${scenarios_dir}/rdma_cases.cpp ${scenarios_dir}/fabric_cases.cpp)
target_link_libraries(machine-run PRIVATE xio_build_options xio::emulation machine machine_timed CLI11::CLI11)
set_target_properties(machine-run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${XIO_TESTS_BINARY_DIR})
target_compile_options(machine-run PRIVATE -O2)
# Instructions and devices are executed elsewhere.
set_property(SOURCE ${machine_dir}/run/main.cpp ${machine_dir}/run/mutate.cpp APPEND PROPERTY COMPILE_OPTIONS -O0)

# What rounds take on the model's clock, held to budgets; tests/peers compares with what a GPU measured. machine-timed-budgets writes the budgets anew.
set(timed_kernels "")
if(NOT XIO_NVCC_MISSING)
  foreach(kind rdma nvme)
    list(APPEND timed_kernels ${machine_programs}/timed/${kind}.sm_90.ptx)
    xio_kernel_file(${machine_programs}/timed/${kind}.sm_90.ptx ${timed_dir}/${kind}.cu sm_90 -lineinfo)
  endforeach()
  add_custom_target(machine-timed-kernels ALL DEPENDS ${timed_kernels})
  add_custom_target(machine-timed-budgets COMMAND machine-run ${timed_kernels} --timed --update DEPENDS ${timed_kernels} VERBATIM)
endif()
xio_register_tool_test("${XIO_NVCC_MISSING}" NAME machine.timed LABELS machine once budget TIMEOUT 600
  COMMAND machine-run ${timed_kernels} --timed NEEDS machine-timed-kernels)

# Every way of sharing, policy and call against the in-process devices, with a few seeds by day and many at night. PTX is nvcc's for
# sm_90 and clang's for sm_70. Of twelve days ten have the cases of NVMe, of RDMA, of NVMe over RDMA or of values under keys on one target;
# at night all have all, those of the newer compiler among them.
set(machine_day_fabrics_sm_90 0)
set(machine_day_key_values_sm_90 1)
set(machine_day_rdma_gfx942 2)
set(machine_day_nvme_gfx1201 3)
set(machine_day_rdma_sm_90 5)
set(machine_day_fabrics_gfx942 6)
set(machine_day_key_values_gfx942 7)
set(machine_day_rdma_gfx1201 8)
set(machine_day_nvme_sm_90 9)
set(machine_day_nvme_gfx942 11)
xio_day(today)
math(EXPR today "${today} % 12")
set(machine_targets sm_90 ${XIO_HIP_TARGETS} sm_70)
if(NOT XIO_HIP_NEWER_MISSING)
  foreach(arch IN LISTS XIO_HIP_TARGETS XIO_HIP_NEWER_TARGETS)
    list(APPEND machine_targets newer:${arch})
  endforeach()
endif()
foreach(kind nvme rdma fabrics key_values)
  set(which "")
  if(NOT kind STREQUAL nvme)
    set(which --${kind})
  endif()
  foreach(by IN LISTS machine_targets)
    xio_target_name(${by} arch)
    set(missing "${XIO_HIP_MISSING}")
    if(arch STREQUAL sm_90)
      set(missing "${XIO_NVCC_MISSING}")
    elseif(by MATCHES "newer:")
      set(missing "")
    endif()
    if(missing)
      xio_register_tool_test("${missing}" NAME machine.${kind}.${arch} LABELS machine)
      continue()
    endif()
    set(labels machine once)
    set(later "")
    if(NOT "${machine_day_${kind}_${by}}" STREQUAL today)
      list(APPEND labels nightly)
      set(later LATER)
    endif()
    set(cost 100)  # the longest tests begin first
    if(arch MATCHES "^sm_")
      set(cost 400)
    endif()
    xio_scenarios(${kind} ${by} file ${later})
    set(kernels_${kind}_${arch} ${file})
    set(names machine.${kind}.${arch} machine.${kind}_full.${arch})
    xio_register_test(NAME machine.${kind}.${arch} LABELS ${labels} TIMEOUT 900
      COMMAND machine-run ${file} ${which} --seeds 30 --operations 2400)
    set_tests_properties(machine.${kind}.${arch} PROPERTIES COST ${cost})
    xio_register_test(NAME machine.${kind}_full.${arch} LABELS machine once nightly TIMEOUT 36000
      COMMAND machine-run ${file} ${which} --seeds 10000)
    # Memory that is not where handles say: only there do releases of the GPU's scope reach devices.
    if(kind STREQUAL rdma AND arch STREQUAL sm_90)
      list(APPEND names machine.misplaced.${arch})
      xio_register_test(NAME machine.misplaced.${arch} LABELS ${labels} TIMEOUT 300
        COMMAND machine-run ${file} ${which} --misplaced --case mlx5_wave_on_gpu --seeds 20 --stop)
      set_tests_properties(machine.misplaced.${arch} PROPERTIES PASS_REGULAR_EXPRESSION " 1 wrong")
    endif()
    # What an operation costs in executed instructions: limits are of clang 19's code, and nvcc's.
    if(NOT by MATCHES "newer:" AND (kind MATCHES "^(nvme|rdma)$" OR "${kind}.${by}" MATCHES "^fabrics.(gfx942|sm_90)$"))
      list(APPEND names machine.${kind}_costs.${arch})
      xio_register_test(NAME machine.${kind}_costs.${arch} LABELS ${labels} budget
        COMMAND machine-run ${file} ${which} --counts --budgets ${machine_dir}/budgets.txt
          --write ${XIO_CODEGEN_BINARY_DIR}/counts)
    endif()
    if(later)
      set_tests_properties(${names} PROPERTIES FIXTURES_REQUIRED machine-kernels-${kind}-${arch})
    endif()
  endforeach()
endforeach()

# The same kernels by an LLVM with assertions.
set(XIO_TRITON_PYTHON ${XIO_CACHE}/triton/bin/python)
set(missing "${XIO_HIP_NEWER_MISSING}")
if(NOT missing AND NOT EXISTS ${XIO_TRITON_PYTHON})
  set(missing "no triton (scripts/triton-env)")
endif()
foreach(arch IN LISTS XIO_HIP_TARGETS)
  foreach(kind nvme rdma fabrics key_values)
    xio_register_tool_test("${missing}" NAME codegen.assertions.${kind}.${arch} LABELS codegen once nightly TIMEOUT 900
      COMMAND ${XIO_TRITON_PYTHON} ${XIO_CODEGEN_DIR}/triton_llvm.py ${arch} ${XIO_HIP_NEWER_PATH} ${XIO_HIP_NEWER_FLAGS}
        ${scenarios_dir}/kernels/${kind}.hip)
  endforeach()
endforeach()

# Each ordering of this code, weakened: some case must detect it, or unneeded.txt has the reason why it is not needed.
list(REMOVE_ITEM machine_targets sm_70)
foreach(by IN LISTS machine_targets)
  xio_target_name(${by} arch)
  set(missing "${XIO_HIP_MISSING}")
  if(arch STREQUAL sm_90)
    set(missing "${XIO_NVCC_MISSING}")
  elseif(by MATCHES "newer:")
    set(missing "")
  endif()
  string(REGEX REPLACE "\\.clang.*" "" target ${arch})
  xio_register_tool_test("${missing}" NAME machine.mutations.${arch} LABELS machine once nightly TIMEOUT 3600
    COMMAND python3 ${machine_dir}/mutations.py $<TARGET_FILE:machine-run> ${target} ${kernels_nvme_${arch}}
      rdma:${kernels_rdma_${arch}} --seeds 300)
  if(NOT missing)
    set_tests_properties(machine.mutations.${arch} PROPERTIES
      FIXTURES_REQUIRED "machine-kernels-nvme-${arch};machine-kernels-rdma-${arch}")
  endif()
  # Those of NVMe over RDMA and of values under keys; most of them are in code that the cases of NVMe and RDMA execute too.
  xio_register_tool_test("${missing}" NAME machine.mutations_fabrics.${arch} LABELS machine once nightly TIMEOUT 3600
    COMMAND python3 ${machine_dir}/mutations.py $<TARGET_FILE:machine-run> ${target} fabrics:${kernels_fabrics_${arch}}
      key_values:${kernels_key_values_${arch}} --by ${kernels_nvme_${arch}} rdma:${kernels_rdma_${arch}} --seeds 60)
  if(NOT missing)
    set(fixtures nvme rdma fabrics key_values)
    list(TRANSFORM fixtures REPLACE "(.+)" "machine-kernels-\\1-${arch}")
    set_tests_properties(machine.mutations_fabrics.${arch} PROPERTIES FIXTURES_REQUIRED "${fixtures}")
  endif()
endforeach()

# What one call was counted to be in the assembly, executed: the same assembly, made into a code object.
add_executable(machine-one-shot ${machine_dir}/run/one_shot.cpp)
target_link_libraries(machine-one-shot PRIVATE xio_build_options xio::emulation machine nlohmann_json::nlohmann_json)
set_target_properties(machine-one-shot PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${XIO_TESTS_BINARY_DIR})
xio_optimise_test(machine-one-shot -O0)
set(posts post_room post_token post_guard post_checked)
set(puts put_checked_mlx5 ${XIO_RDMA_VENDORS})
list(TRANSFORM puts PREPEND put_ REGEX "^[^_]+$")
foreach(arch IN LISTS XIO_HIP_TARGETS)
  xio_codegen_output(codegen/post.hip budget ${arch} s post)
  xio_codegen_output(codegen/rdma_post.hip budget ${arch} s put)
  set(fixtures ${posts} ${puts})
  list(TRANSFORM fixtures REPLACE "(.+)" "counted.\\1.${arch}")
  xio_target_labels(${arch} labels machine once)
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME machine.one_shot.${arch} LABELS ${labels}
    COMMAND ${machine_dir}/one_shot.sh $<TARGET_FILE:machine-one-shot> ${XIO_HIP_CLANG_PATH} ${arch} ${XIO_CODEGEN_BINARY_DIR}/counts
      ${post} ${posts} -- ${put} ${puts})
  if(NOT XIO_HIP_MISSING)
    set_tests_properties(machine.one_shot.${arch} PROPERTIES FIXTURES_REQUIRED "${fixtures}")
  endif()
endforeach()

# Runtimes that a program finds by LD_LIBRARY_PATH, with a GPU that the machine plays.
set(played_dir ${XIO_TESTS_BINARY_DIR}/played-gpu)
add_library(played-gpu SHARED ${machine_dir}/runtime/device.cpp ${machine_dir}/runtime/programs.cpp ${machine_dir}/runtime/hip.cpp
  ${machine_dir}/runtime/hip_program.cpp ${machine_dir}/runtime/cuda.cpp ${machine_dir}/runtime/cuda_program.cpp)
target_link_libraries(played-gpu PRIVATE xio_build_options machine Threads::Threads)
target_link_options(played-gpu PRIVATE -Wl,--version-script=${machine_dir}/runtime/symbols.map)
set_property(TARGET played-gpu PROPERTY LINK_DEPENDS ${machine_dir}/runtime/symbols.map)
set_target_properties(machine PROPERTIES POSITION_INDEPENDENT_CODE ON)
set_target_properties(played-gpu PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${played_dir})
# What programs are linked with, and what they load by name.
foreach(name libamdhip64.so.5 libamdhip64.so.7 libhsa-runtime64.so.1 libcudart.so.13 libcuda.so.1)
  add_custom_command(TARGET played-gpu POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE_NAME:played-gpu> ${played_dir}/${name} VERBATIM)
endforeach()

# Whole programs for HIP, as the compiler links them with HIP's own runtime: an example, and the tests that scripts/gpu runs. On the played GPU.
find_library(XIO_AMDHIP64 amdhip64 PATHS /opt/rocm/lib DOC "HIP's runtime (Debian: libamdhip64-dev)")
set(missing "${XIO_HIP_MISSING}")
if(NOT missing AND NOT XIO_AMDHIP64)
  set(missing "no libamdhip64 (Debian: libamdhip64-dev)")
endif()
# xio_played_program(<name> <program> <target>... [LABELS label...]): needs the fixture <name>, which links the program.
function(xio_played_program name program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LABELS")
  foreach(arch IN LISTS arg_UNPARSED_ARGUMENTS)
    xio_register_tool_test("${missing}" NAME machine.${name}.${arch} LABELS machine once ${arg_LABELS} TIMEOUT 600
      COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${played_dir} XIO_PLAYED_GPU=${arch} XIO_GPU_SHARE=20 ${program})
    if(NOT missing)
      set_tests_properties(machine.${name}.${arch} PROPERTIES FIXTURES_REQUIRED ${name} SKIP_RETURN_CODE -1)
    endif()
  endforeach()
endfunction()
foreach(name protocol orderings scaling rdma_peers)
  set(program ${XIO_TESTS_BINARY_DIR}/gpu-${name})
  xio_register_tool_test("${missing}" NAME gpu.${name}.link LABELS machine once nightly
    COMMAND ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 -O1 -Xarch_host -O0 --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS} --offload-arch=gfx942
      -I${PROJECT_SOURCE_DIR}/include -I${XIO_TESTS_DIR} ${XIO_TESTS_DIR}/gpu/${name}.hip -x none ${XIO_AMDHIP64} -lpthread -ldl -o ${program})
  if(NOT missing)
    set_tests_properties(gpu.${name}.link PROPERTIES FIXTURES_SETUP gpu_${name})
  endif()
  xio_played_program(gpu_${name} ${program} gfx942 LABELS nightly)
endforeach()
if(XIO_BUILD_EXAMPLES)
  xio_played_program(first_read_gpu ${PROJECT_BINARY_DIR}/examples/first_read_gpu gfx942 gfx1201)
  set(missing_amd "${missing}")
  set(missing "${XIO_FIRST_READ_NEWER_MISSING}")
  xio_played_program(first_read_newer ${PROJECT_BINARY_DIR}/examples/first_read_newer gfx942 gfx1201 LABELS nightly)
  set(missing "${missing_amd}")
  xio_played_program(stream_io_gpu ${PROJECT_BINARY_DIR}/examples/stream_io_gpu gfx942 gfx1201 LABELS nightly)
  # Linked by nvcc, which takes its time.
  set(missing_amd "${missing}")
  set(missing "${XIO_NVCC_MISSING}")
  foreach(name first_read batch several_drives notifications)
    xio_played_program(${name}_nvidia ${PROJECT_BINARY_DIR}/examples/${name}_nvidia sm_90 LABELS nightly)
  endforeach()
  set(missing "${missing_amd}")
endif()

# Code for a GPU's own target is preferred to generic code, as the library chooses from a bundle.
if("gfx11-generic" IN_LIST XIO_HIP_GENERIC_TARGETS AND "gfx12-generic" IN_LIST XIO_HIP_GENERIC_TARGETS AND XIO_OFFLOAD_BUNDLER
    AND NOT XIO_HIP_MISSING)
  set(bundle ${machine_programs}/generic.hipfb)
  set(objects "")
  set(bundle_targets "host-x86_64-unknown-linux-gnu-")
  set(bundle_inputs "-input=/dev/null")
  foreach(arch IN ITEMS gfx11-generic gfx1100 gfx1201 gfx12-generic)
    set(object ${machine_programs}/generic.${arch}.co)
    xio_kernel_file(${object} ${machine_dir}/generic.hip ${arch})
    list(APPEND objects ${object})
    string(APPEND bundle_targets ",hipv4-amdgcn-amd-amdhsa--${arch}")
    list(APPEND bundle_inputs -input=${object})
  endforeach()
  add_custom_command(OUTPUT ${bundle}
    COMMAND ${XIO_OFFLOAD_BUNDLER_PATH} -type=o -bundle-align=4096 -targets=${bundle_targets} ${bundle_inputs} -output=${bundle}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(machine-generic-kernels ALL DEPENDS ${bundle})
  xio_add_test(machine/generic OWN_MAIN NO_TEST)
  foreach(pair gfx1100=1100 gfx1102=11 gfx1150=11 gfx1200=12 gfx1201=1201)
    string(REPLACE "=" ";" pair ${pair})
    list(POP_FRONT pair arch number)
    xio_register_test(NAME machine.generic.${arch} LABELS machine once COMMAND machine-generic ${bundle} ${number} NEEDS machine-generic-kernels
      ENVIRONMENT LD_LIBRARY_PATH=${played_dir} XIO_PLAYED_GPU=${arch})
  endforeach()
endif()

# The tester itself, with the kernels that it carries, found as on a real machine.
if(XIO_BUILD_BENCH)
  set(played_targets ${XIO_KERNELS_AMD})
  if(XIO_KERNELS_NVIDIA)
    list(APPEND played_targets sm_90)
  endif()
  # GPUs that only generic code is there for.
  foreach(pair gfx9-4-generic=gfx950 gfx11-generic=gfx1102 gfx12-generic=gfx1200)
    string(REPLACE "=" ";" pair ${pair})
    list(POP_FRONT pair generic arch)
    if(generic IN_LIST played_targets)
      list(REMOVE_ITEM played_targets ${generic})
      list(APPEND played_targets ${arch})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES played_targets)
  # Pages name these, whichever kernels the tester has.
  foreach(name tester.gfx942 tester.sm_90 tester_qemu.gfx942 tester_qemu.sm_90)
    string(REGEX MATCH "[^.]+$" arch ${name})
    if(XIO_TESTER_KERNELS STREQUAL "TURN" AND NOT arch IN_LIST played_targets)
      xio_register_test(NAME machine.${name} LABELS machine once nightly
        COMMAND ${XIO_TESTS_DIR}/unavailable.sh "xio-tester has no kernels for ${arch} today (XIO_TESTER_KERNELS)")
    endif()
  endforeach()
  foreach(arch IN LISTS played_targets)
    xio_register_test(NAME machine.tester.${arch} LABELS machine once TIMEOUT 600
      COMMAND ${machine_dir}/tester.sh $<TARGET_FILE:xio-tester> ${played_dir} ${arch})
  endforeach()
  foreach(arch gfx942 gfx1100 sm_90)
    if(arch IN_LIST played_targets)
      xio_register_test(NAME machine.tester_qemu.${arch} LABELS machine qemu once TIMEOUT 600
        COMMAND ${machine_dir}/tester.sh $<TARGET_FILE:xio-tester> ${played_dir} ${arch} qemu)
    endif()
  endforeach()
  # What scripts/gpu does with it.
  # Target, lanes of a wave, and operations of a job.
  foreach(jobs gfx942=64=256 sm_90=32=96)
    string(REPLACE "=" ";" jobs ${jobs})
    list(POP_FRONT jobs arch lanes operations)
    xio_register_test(NAME machine.tester_jobs.${arch} LABELS machine once nightly TIMEOUT 7200
      COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${played_dir} XIO_PLAYED_GPU=${arch} XIO_JOB_SECONDS=300
        ${XIO_TESTS_DIR}/gpu/tester_jobs.sh
        $<TARGET_FILE:xio-tester> ${XIO_TESTS_BINARY_DIR}/tester-jobs-${arch} ${lanes} ${operations} 7000)
  endforeach()
endif()
