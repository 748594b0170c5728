# SPDX-License-Identifier: MIT
# Compiles HIP device code in tests, by calling clang directly: needs neither the HIP language of CMake nor a GPU.

# XIO_HIP_MISSING says why device code cannot be compiled here; empty where it can.
set(XIO_HIP_MISSING "")
find_program(XIO_HIP_CLANG_PATH ${XIO_HIP_CLANG})
find_program(XIO_FILECHECK_PATH ${XIO_FILECHECK})
set(XIO_DEVLIBS ${PROJECT_BINARY_DIR}/hip-devlibs)
# LLVM's generic targets that the compiler knows: their code runs on every GPU of a family.
set(XIO_HIP_GENERIC_TARGETS "")
if(NOT XIO_HIP_CLANG_PATH)
  set(XIO_HIP_MISSING "${XIO_HIP_CLANG} is not installed (Debian: clang-19)")
else()
  foreach(arch IN ITEMS gfx9-4-generic gfx11-generic gfx12-generic)
    execute_process(COMMAND ${XIO_HIP_CLANG_PATH} --target=amdgcn-amd-amdhsa -mcpu=${arch} -mcode-object-version=6 -nogpulib
        -x c -c /dev/null -o /dev/null
      RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
    if(refused EQUAL 0)
      list(APPEND XIO_HIP_GENERIC_TARGETS ${arch})
    endif()
  endforeach()
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/hip-devlibs ${XIO_DEVLIBS} ${XIO_HIP_TARGETS} ${XIO_HIP_GENERIC_TARGETS}
    RESULT_VARIABLE devlibs_result OUTPUT_VARIABLE devlibs_output ERROR_VARIABLE devlibs_output)
  if(NOT devlibs_result EQUAL 0)
    string(STRIP "${devlibs_output}" XIO_HIP_MISSING)
  endif()
endif()
if(XIO_HIP_MISSING)
  xio_left_out("kernels for AMD GPUs, in programs and tests" "${XIO_HIP_MISSING}")
elseif(XIO_BUILD_TESTS AND NOT XIO_FILECHECK_PATH)
  xio_left_out("tests that compare assembly" "no ${XIO_FILECHECK} (Debian: llvm-19-tools)")
endif()

# The newer compiler: it knows more targets, and does without HIP's headers and ROCm's device libraries, which Debian has for older ones.
# XIO_HIP_NEWER_MISSING says why it cannot be used; the rest of the build does without it.
if(XIO_HIP_NEWER)
  find_program(XIO_HIP_NEWER_PATH ${XIO_HIP_NEWER})
endif()
set(XIO_HIP_NEWER_MISSING "")
set(XIO_HIP_NEWER_VERSION "")
set(XIO_HIP_NEWER_TARGETS "")  # those that XIO_HIP_CLANG does not know
set(XIO_HIP_NEWER_GENERIC_TARGETS "")
if(NOT XIO_HIP_NEWER_PATH)
  set(XIO_HIP_NEWER_MISSING "no ${XIO_HIP_NEWER} (XIO_HIP_NEWER; Debian: clang-22, lld-22, llvm-22)")
else()
  foreach(arch IN LISTS XIO_HIP_TARGETS ITEMS gfx950 gfx1250 gfx11-generic gfx12-generic)
    execute_process(COMMAND ${XIO_HIP_NEWER_PATH} --target=amdgcn-amd-amdhsa -mcpu=${arch} -nogpulib -x c /dev/null
        -o ${PROJECT_BINARY_DIR}/newer-clang.co
      RESULT_VARIABLE refused OUTPUT_QUIET ERROR_VARIABLE refusal)
    if(refused EQUAL 0 AND arch MATCHES "generic")
      list(APPEND XIO_HIP_NEWER_GENERIC_TARGETS ${arch})
    elseif(refused EQUAL 0 AND NOT arch IN_LIST XIO_HIP_TARGETS)
      list(APPEND XIO_HIP_NEWER_TARGETS ${arch})
    elseif(arch IN_LIST XIO_HIP_TARGETS AND NOT refused EQUAL 0)
      string(STRIP "${refusal}" refusal)
      set(XIO_HIP_NEWER_MISSING "${XIO_HIP_NEWER} compiles nothing for ${arch} (Debian: lld-22): ${refusal}")
    endif()
  endforeach()
  execute_process(COMMAND ${XIO_HIP_NEWER_PATH} -dumpversion OUTPUT_VARIABLE XIO_HIP_NEWER_VERSION)
  string(REGEX MATCH "^[0-9]+" XIO_HIP_NEWER_VERSION "${XIO_HIP_NEWER_VERSION}")
endif()
if(XIO_HIP_NEWER AND XIO_HIP_NEWER_MISSING)
  xio_left_out("kernels for gfx950 and gfx1250, and tests of what a newer compiler makes" "${XIO_HIP_NEWER_MISSING}")
endif()
set(XIO_HIP_NEWER_FLAGS
  -x hip -std=c++17 -O3 --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib
  "-D__host__=__attribute__((host))" "-D__device__=__attribute__((device))" "-D__global__=__attribute__((global))"
  -Wall -Wextra -Wshadow -Werror -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests
  -I${PROJECT_SOURCE_DIR}/bench -I${XIO_VENDORS_DIR})

# Of a newer ROCm than the distribution's; tests alone use them.
find_path(XIO_ROCM_HEADERS hip/hip_runtime_api.h PATHS ${XIO_CACHE}/rocm-headers/usr/include NO_DEFAULT_PATH
  DOC "headers of a newer ROCm (scripts/rocm-headers)")

set(XIO_HIP_FLAGS
  -x hip -std=c++17 -O3 --cuda-device-only --no-gpu-bundle-output
  --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS}
  -Wall -Wextra -Wshadow -Werror -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests
  -I${PROJECT_SOURCE_DIR}/bench -I${XIO_VENDORS_DIR})

set(XIO_CODEGEN_DIR ${PROJECT_SOURCE_DIR}/tests/codegen)
set(XIO_CODEGEN_BINARY_DIR ${PROJECT_BINARY_DIR}/tests/codegen)

# The name of a target in those of files and tests: newer:gfx942 is gfx942.clang22.
function(xio_target_name arch result)
  string(REGEX REPLACE "^newer:(.+)" "\\1.clang${XIO_HIP_NEWER_VERSION}" arch ${arch})
  set(${result} ${arch} PARENT_SCOPE)
endfunction()

# Tests of what the compiler makes for one target: by day there is one for each size of a wave.
set(XIO_HIP_NIGHTLY gfx90a gfx1100)
function(xio_target_labels arch result)
  set(labels ${ARGN})
  if(arch IN_LIST XIO_HIP_NIGHTLY OR arch MATCHES "^newer:")
    list(APPEND labels nightly)
  endif()
  set(${result} ${labels} PARENT_SCOPE)
endfunction()

# Registers a command that needs a tool; where the tool is missing, a test that says so and counts as skipped.
function(xio_register_tool_test missing)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;TIMEOUT" "COMMAND;LABELS;NEEDS")
  if(missing)
    set(arg_COMMAND ${PROJECT_SOURCE_DIR}/tests/unavailable.sh "${missing}")
  endif()
  # These tests do not depend on the host compiler or the build type: one configuration runs them ("once").
  xio_register_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND} LABELS ${arg_LABELS} once TIMEOUT ${arg_TIMEOUT} NEEDS ${arg_NEEDS})
endfunction()

# Prefixes that FileCheck reads for a target: its own, its family's, its wave size and CHECK.
function(xio_check_prefixes arch result)
  string(REPLACE "newer:" "" arch ${arch})
  string(TOUPPER ${arch} own)
  if(arch STREQUAL "gfx950")
    list(APPEND own GFX942)  # the same memory instructions
  endif()
  set(prefixes CHECK)
  if(arch MATCHES "^gfx9")
    list(APPEND prefixes AMD GFX9 WAVE64)
  elseif(arch MATCHES "^gfx(1[0-9])")
    list(APPEND prefixes AMD GFX${CMAKE_MATCH_1} GFX10PLUS WAVE32)
  elseif(arch MATCHES "^sm_")
    list(APPEND prefixes PTX)
  endif()
  list(APPEND prefixes ${own})
  list(JOIN prefixes "," prefixes)
  set(${result} ${prefixes} PARENT_SCOPE)
endfunction()

# Where the compiler's output of a test goes: <build>/tests/codegen/<group>-<name>[.<variant>].<arch>.<suffix>
function(xio_codegen_output source variant arch suffix result)
  xio_target_name(${arch} arch)
  string(REGEX REPLACE "\\.[a-z]+$" "" stem ${source})
  string(REPLACE "/" "-" stem ${stem})
  if(variant)
    string(APPEND stem ".${variant}")
  endif()
  set(${result} ${XIO_CODEGEN_BINARY_DIR}/${stem}.${arch}.${suffix} PARENT_SCOPE)
endfunction()

function(xio_codegen_name source variant result)
  string(REGEX REPLACE "\\.[a-z]+$" "" stem ${source})
  string(REPLACE "/" "." stem ${stem})
  if(variant)
    string(APPEND stem ".${variant}")
  endif()
  set(${result} ${stem} PARENT_SCOPE)
endfunction()

# The command that writes the assembly (AMD) or PTX (sm_NN) of a source to a file, and why it cannot run here, if so.
function(xio_assembly_command source arch flags output command_result missing_result)
  if(arch MATCHES "^sm_")
    set(command ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=${arch} ${flags} -ptx -o ${output} ${source})
    set(missing "${XIO_NVCC_MISSING}")
  elseif(arch MATCHES "^newer:(.+)")
    set(command ${XIO_HIP_NEWER_PATH} ${XIO_HIP_NEWER_FLAGS} --offload-arch=${CMAKE_MATCH_1} ${flags} -S -o ${output} ${source})
    set(missing "${XIO_HIP_NEWER_MISSING}")
  else()
    set(command ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${arch} ${flags} -S -o ${output} ${source})
    set(missing "${XIO_HIP_MISSING}")
  endif()
  set(${command_result} "${command}" PARENT_SCOPE)
  set(${missing_result} "${missing}" PARENT_SCOPE)
endfunction()

# Compares the code generated for tests/<source> with the FileCheck comments in it; one test for each target.
#   xio_codegen_test(<group>/<file>.hip [ARCHS target...] [FLAGS flag...] [VARIANT name] [PREFIXES PREFIX...])
# ARCHS: XIO_HIP_TARGETS unless given; sm_90 (PTX) and newer:<target> (by the newer clang, at night) are possible too. VARIANT tells apart tests of one file.
# No kernel in these files may use flat or scratch instructions, or store less than 32 bits at once.
function(xio_codegen_test source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VARIANT" "ARCHS;FLAGS;PREFIXES")
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${XIO_HIP_TARGETS})
  endif()
  xio_codegen_name(${source} "${arg_VARIANT}" name)
  foreach(arch IN LISTS arg_ARCHS)
    xio_codegen_output(${source} "${arg_VARIANT}" ${arch} s output)
    xio_check_prefixes(${arch} prefixes)
    list(JOIN arg_PREFIXES "," extra)
    if(extra)
      string(APPEND prefixes ",${extra}")
    endif()
    set(path ${PROJECT_SOURCE_DIR}/tests/${source})
    xio_assembly_command(${path} ${arch} "${arg_FLAGS}" ${output} command missing)
    if(NOT missing AND NOT XIO_FILECHECK_PATH)
      set(missing "${XIO_FILECHECK} is not installed (Debian: llvm-19-tools)")
    endif()
    xio_target_labels(${arch} labels codegen)
    xio_target_name(${arch} arch)
    xio_register_tool_test("${missing}" NAME ${name}.${arch} LABELS ${labels}
      COMMAND ${XIO_CODEGEN_DIR}/run_filecheck.sh ${XIO_FILECHECK_PATH} ${path} ${prefixes} ${output}
        "{{^[[:space:]]+(flat_|scratch_|[a-z]+_store_(byte|short|b8|b16|d16))}}" ${command})
  endforeach()
endfunction()

# Compiles the kernels of tests/<source>, or of a file given by its full path, for every target; one test for each.
#   xio_compile_kernels(<group>/<file>.hip [ARCHS target...] [NIGHTLY target...] [FLAGS flag...] [NAME test-name])
# The kernels must need no scratch memory, unless SCRATCH_ALLOWED is given. NIGHTLY: the tests for these are labelled so.
function(xio_compile_kernels source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SCRATCH_ALLOWED" "NAME" "ARCHS;NIGHTLY;FLAGS")
  if(NOT arg_ARCHS)
    set(arg_ARCHS ${XIO_HIP_TARGETS})
  endif()
  if(IS_ABSOLUTE ${source})
    set(path ${source})
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
  else()
    set(path ${PROJECT_SOURCE_DIR}/tests/${source})
  endif()
  if(NOT arg_NAME)
    xio_codegen_name(${source} compile arg_NAME)
  endif()
  set(count . --max scratch_bytes=0)
  if(arg_SCRATCH_ALLOWED)
    set(count .)
  endif()
  list(LENGTH count count_length)
  foreach(arch IN LISTS arg_ARCHS)
    xio_codegen_output(${source} compile ${arch} s output)
    xio_assembly_command(${path} ${arch} "${arg_FLAGS}" ${output} command missing)
    xio_target_labels(${arch} labels codegen)
    if(arch IN_LIST arg_NIGHTLY)
      list(APPEND labels nightly)
    endif()
    xio_target_name(${arch} arch)
    xio_register_tool_test("${missing}" NAME ${arg_NAME}.${arch} LABELS ${labels}
      COMMAND ${XIO_CODEGEN_DIR}/run_budget.sh ${output} ${count_length} ${count} ${command})
  endforeach()
endfunction()

# Holds one kernel of tests/<source> to a budget, counted in the assembly along its shortest path (isa_count.py).
#   xio_budget_test(<group>/<file>.hip KERNEL name ARCH target MAX name=n... [MUST regex...] [AVOID regex] [PER n]
#                   [WAVE] [LOOP] [FLAGS flag...])
# MAX instructions=48 vgprs=32 writebacks=1 ...: see isa_count.py for the names. PER: instructions for one of n entries.
function(xio_budget_test source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WAVE;LOOP" "KERNEL;ARCH;AVOID;PER" "MAX;MUST;FLAGS")
  # One test compiles the file for all the kernels in it.
  string(MAKE_C_IDENTIFIER "${arg_FLAGS}" variant)
  xio_codegen_output(${source} budget${variant} ${arg_ARCH} s output)
  get_filename_component(assembly ${output} NAME_WLE)
  xio_assembly_command(${PROJECT_SOURCE_DIR}/tests/${source} ${arg_ARCH} "${arg_FLAGS}" ${output} command missing)
  xio_target_labels(${arg_ARCH} labels codegen)
  if(NOT missing AND NOT TEST assembly.${assembly})
    xio_register_tool_test("" NAME assembly.${assembly} LABELS ${labels}
      COMMAND ${XIO_CODEGEN_DIR}/run_compiler.sh ${output} ${command})
    set_tests_properties(assembly.${assembly} PROPERTIES FIXTURES_SETUP ${assembly})
  endif()
  set(count ^${arg_KERNEL}$)
  foreach(limit IN LISTS arg_MAX)
    list(APPEND count --max ${limit})
  endforeach()
  foreach(must IN LISTS arg_MUST)
    list(APPEND count --must ${must})
  endforeach()
  if(arg_AVOID)
    list(APPEND count --avoid ${arg_AVOID})
  endif()
  if(arg_PER)
    list(APPEND count --per ${arg_PER})
  endif()
  if(arg_WAVE)
    list(APPEND count --wave)
  endif()
  if(arg_LOOP)
    list(APPEND count --loop)
  endif()
  # bench/xio-vendors.cmake names this folder too.
  list(APPEND count --record ${XIO_CODEGEN_BINARY_DIR}/counts/${arg_KERNEL}.${arg_ARCH}.json)
  xio_register_tool_test("${missing}" NAME budget.${arg_KERNEL}.${arg_ARCH} LABELS ${labels} budget
    COMMAND ${XIO_CODEGEN_DIR}/isa_count.py ${output} ${count})
  if(NOT missing)
    set_tests_properties(budget.${arg_KERNEL}.${arg_ARCH} PROPERTIES
      FIXTURES_REQUIRED ${assembly} FIXTURES_SETUP counted.${arg_KERNEL}.${arg_ARCH})
  endif()
endfunction()

# What clang makes PTX of, without CUDA: it knows all that the library asks for. Version 7.0 loads on drivers from 2020.
set(XIO_CLANG_PTX_FLAGS
  -x cuda -std=c++17 -O3 --cuda-device-only -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx70
  "-D__host__=__attribute__((host))" "-D__device__=__attribute__((device))" "-D__global__=__attribute__((global))"
  -Wall -Wextra -Wshadow -Werror -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests -I${PROJECT_SOURCE_DIR}/bench
  -I${XIO_VENDORS_DIR})

# A file of the build that holds what a GPU loads, made of a source of kernels and made anew when that changes: a code object for an
# AMD target (newer:gfxNNN by the newer clang), PTX for sm_NN or compute_NN by nvcc, PTX for clang:sm_NN by clang. Asked for only where the
# compiler is there.
#   xio_kernel_file(<output> <source> <target> [flag...])
function(xio_kernel_file output source arch)
  if(arch MATCHES "^newer:(.+)")
    set(command ${XIO_HIP_NEWER_PATH} ${XIO_HIP_NEWER_FLAGS} --offload-arch=${CMAKE_MATCH_1} ${ARGN} -c)
  elseif(arch MATCHES "^gfx")
    set(command ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=${arch} ${ARGN} -c)
    if(arch MATCHES "-generic$")
      # clang 19 warns of this version, whatever the source; the source's own warnings are seen for the other targets.
      list(APPEND command -mcode-object-version=6 -w)
    endif()
  elseif(arch MATCHES "^clang:(.+)")
    set(command ${XIO_HIP_CLANG_PATH} ${XIO_CLANG_PTX_FLAGS} --cuda-gpu-arch=${CMAKE_MATCH_1} ${ARGN} -S)
  else()
    set(command ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=${arch} ${ARGN} -ptx)
  endif()
  get_filename_component(folder ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  get_filename_component(name ${output} NAME)
  if(arch MATCHES "gfx")
    set_property(GLOBAL APPEND_STRING PROPERTY XIO_KERNEL_FILES "${output}\n")
  endif()
  set(depends -MD -MF ${output}.d -MT ${output})
  if(arch MATCHES "^newer:")
    # clang 22 hands these options to no compilation for a device alone.
    set(depends -Xclang -dependency-file -Xclang ${output}.d -Xclang -MT -Xclang ${output})
  endif()
  add_custom_command(OUTPUT ${output} COMMAND ${command} ${depends} -o ${output} ${source}
    DEPENDS ${source} DEPFILE ${output}.d COMMENT "Kernels: ${name}" VERBATIM)
endfunction()
