# SPDX-License-Identifier: MIT
# Fuzzers: what a device, a peer, a file or a user may hand to the library, at random and guided by coverage (libFuzzer).
# Each first replays its inputs in corpus.tar.xz, then looks for new ones: of one day's all together 10 seconds on two
# processors, and of all an hour by the label nightly.

# They depend on neither the host compiler nor the build type: of the presets, release has them.
if(NOT XIO_BUILD_FUZZ_TESTS OR NOT XIO_BUILD_PROTOCOL_TESTS OR XIO_SANITIZE)
  return()
endif()

set(fuzz_dir ${XIO_TESTS_DIR}/fuzz)
set(fuzz_binary_dir ${XIO_TESTS_BINARY_DIR}/fuzz)
set(fuzz_names "")

include(${XIO_TESTS_DIR}/unpack.cmake)
xio_unpack(${fuzz_dir}/corpus.tar.xz ${fuzz_binary_dir}/corpus)

# libFuzzer comes with clang, in Debian in a package of its own.
find_program(XIO_FUZZ_CLANG_PATH ${XIO_FUZZ_CLANG})
set(fuzz_missing "")
if(NOT XIO_FUZZ_CLANG_PATH)
  set(fuzz_missing "${XIO_FUZZ_CLANG} is not installed (Debian: clang-19)")
else()
  file(WRITE ${fuzz_binary_dir}/probe.cpp
    "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n")
  execute_process(
    COMMAND ${XIO_FUZZ_CLANG_PATH} -fsanitize=fuzzer,address,undefined probe.cpp -o probe
    WORKING_DIRECTORY ${fuzz_binary_dir} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(NOT result EQUAL 0)
    set(fuzz_missing "${XIO_FUZZ_CLANG} has no libFuzzer or no sanitizers (Debian: libclang-rt-19-dev)")
  endif()
endif()
if(fuzz_missing)
  xio_left_out("fuzzers" "${fuzz_missing}")
endif()

# By day, when they have seconds to run and most is to read the kept inputs, optimising would take longer than it saves.
set(fuzz_level -O0)
if(XIO_BUILD_SANITIZED_TESTS)
  set(fuzz_level -O1)
endif()
set(fuzz_flags -std=c++17 ${fuzz_level} -gline-tables-only -fno-omit-frame-pointer -pthread
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
set(fuzz_compile_flags ${fuzz_flags} -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  -I${PROJECT_SOURCE_DIR}/include -I${XIO_TESTS_DIR} -I${PROJECT_SOURCE_DIR}/bench -I${XIO_VENDORS_DIR})

# Builds tests/fuzz/<name>.cpp into <build>/tests/fuzz/<name>, and registers it as fuzz.<name> and fuzz.<name>.long.
#   xio_add_fuzzer(<name> [LATER | DAY turn] [MORE source...] [COMMON header] [FLAGS flag...] [OPTIONS option...])
# LATER: neither built nor run but at night. DAY: LATER but on one of three days, 0 to 2.
# MORE: further sources, relative to the project. COMMON: what all of them include, compiled once. FLAGS: of the compiler. OPTIONS: of
# libFuzzer.
function(xio_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LATER" "COMMON;DAY" "MORE;FLAGS;OPTIONS")
  if(DEFINED arg_DAY)
    xio_day(day)
    math(EXPR day "${day} % 3")
    if(NOT arg_DAY EQUAL day)
      set(arg_LATER TRUE)
    endif()
  endif()
  set(fuzz_names ${fuzz_names} ${name} PARENT_SCOPE)
  set(fuzz_options_${name} ${arg_OPTIONS} PARENT_SCOPE)
  set(fuzz_later_${name} ${arg_LATER} PARENT_SCOPE)
  if(fuzz_missing)
    return()
  endif()
  set(objects "")
  set(common "")
  file(MAKE_DIRECTORY ${fuzz_binary_dir}/${name}.objects)
  if(arg_COMMON)
    set(common ${fuzz_binary_dir}/${name}.objects/common.pch)
    add_custom_command(OUTPUT ${common}
      COMMAND ${XIO_FUZZ_CLANG_PATH} ${fuzz_compile_flags} ${arg_FLAGS} -MD -MT ${common} -MF ${common}.d
        -x c++-header ${PROJECT_SOURCE_DIR}/${arg_COMMON} -o ${common}
      DEPENDS ${PROJECT_SOURCE_DIR}/${arg_COMMON} DEPFILE ${common}.d COMMENT "Fuzzer ${name}: ${arg_COMMON}" VERBATIM)
    list(APPEND arg_FLAGS -include-pch ${common})
  endif()
  foreach(source tests/fuzz/${name}.cpp ${arg_MORE})
    string(REPLACE "/" "-" stem ${source})
    set(object ${fuzz_binary_dir}/${name}.objects/${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${XIO_FUZZ_CLANG_PATH} ${fuzz_compile_flags} ${arg_FLAGS} -MD -MT ${object} -MF ${object}.d
        -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${common} DEPFILE ${object}.d COMMENT "Fuzzer ${name}: ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${fuzz_binary_dir}/${name}
    COMMAND ${XIO_FUZZ_CLANG_PATH} ${fuzz_flags} ${objects} -ldl -o ${fuzz_binary_dir}/${name}
    DEPENDS ${objects} COMMENT "Fuzzer ${name}" VERBATIM)
  if(arg_LATER)
    add_custom_target(fuzz-${name} DEPENDS ${fuzz_binary_dir}/${name})
  else()
    add_custom_target(fuzz-${name} ALL DEPENDS ${fuzz_binary_dir}/${name})
  endif()
endfunction()

# Sequences of calls: inputs are long from the beginning.
set(sequences -len_control=0 -max_len=400)

xio_add_fuzzer(nvme_pointers DAY 0)
xio_add_fuzzer(nvme_commands DAY 1)
xio_add_fuzzer(nvme_submit DAY 1 OPTIONS ${sequences})
xio_add_fuzzer(nvme_completions DAY 2 OPTIONS ${sequences})
xio_add_fuzzer(rdma_completions DAY 0 OPTIONS ${sequences})
xio_add_fuzzer(specs DAY 2 OPTIONS -dict=${fuzz_dir}/specs.dict -max_len=200)
xio_add_fuzzer(records DAY 2 OPTIONS -len_control=0 -max_len=300)
xio_add_fuzzer(identify DAY 1 OPTIONS -len_control=0 -max_len=300)
xio_add_fuzzer(fabric_answers DAY 2 OPTIONS -len_control=0 -max_len=300)

set(session rdma/session rdma/pulse rdma/role rdma/runner rdma/plan cli/interrupt cli/progress measure/result measure/summary)
list(TRANSFORM session PREPEND bench/tester/)
list(TRANSFORM session APPEND .cpp)
xio_add_fuzzer(exchange DAY 1 MORE ${session} OPTIONS -len_control=0 -max_len=3000)

# Most of the time would go into compiling. By day machine.damaged_files damages files of its own.
set(loaders amdgcn/elf_file amdgcn/message_pack amdgcn/operand_parser amdgcn/program amdgcn/target ptx/arithmetic ptx/bits ptx/decode ptx/floats
  ptx/lexer ptx/operands ptx/parser ptx/quick ptx/sharing ptx/special)
list(TRANSFORM loaders PREPEND tests/machine/)
list(TRANSFORM loaders APPEND .cpp)
xio_add_fuzzer(machine_files LATER MORE ${loaders} FLAGS -O1 OPTIONS -max_len=4000)

find_path(XIO_NLOHMANN_JSON_INCLUDE nlohmann/json.hpp DOC "JSON for Modern C++ (Debian: nlohmann-json3-dev)")
if(XIO_NLOHMANN_JSON_INCLUDE)
  file(GLOB golden RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${XIO_TESTS_DIR}/golden/*.cpp)
  list(REMOVE_ITEM golden tests/golden/xio_golden.cpp)
  # Most of the time would go into compiling. By day xio-golden reads the kept inputs.
  xio_add_fuzzer(golden_files LATER MORE ${golden} COMMON tests/golden/common.hpp FLAGS -O0 -fno-sanitize=undefined -DXIO_COUNT_OPERATIONS=2
    OPTIONS -len_control=0 -max_len=6000 -malloc_limit_mb=1024 -rss_limit_mb=4096)
endif()

# Of the processor time that all of them have, each gets the same share.
list(LENGTH fuzz_names count)
math(EXPR seconds "30 / ${count}")
math(EXPR long_seconds "7200 / ${count}")
math(EXPR timeout "${seconds} + 280")
math(EXPR long_timeout "${long_seconds} + 600")
foreach(name IN LISTS fuzz_names)
  set(program ${fuzz_binary_dir}/${name} ${fuzz_binary_dir}/corpus/${name} ${fuzz_binary_dir}/found)
  set(labels fuzz slow)
  if(fuzz_later_${name})
    list(APPEND labels nightly)
    if(NOT fuzz_missing)
      xio_register_test(NAME fuzz.${name}.program LABELS fuzz nightly TIMEOUT 900
        COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target fuzz-${name})
      set_tests_properties(fuzz.${name}.program PROPERTIES FIXTURES_SETUP fuzz-${name})
    endif()
  endif()
  xio_register_tool_test("${fuzz_missing}" NAME fuzz.${name} LABELS ${labels} TIMEOUT ${timeout}
    COMMAND ${fuzz_dir}/run_fuzzer.sh ${program} ${seconds} ${fuzz_options_${name}})
  xio_register_tool_test("${fuzz_missing}" NAME fuzz.${name}.long LABELS fuzz nightly TIMEOUT ${long_timeout}
    COMMAND ${fuzz_dir}/run_fuzzer.sh ${program} ${long_seconds} ${fuzz_options_${name}})
  foreach(test fuzz.${name} fuzz.${name}.long)
    # Both keep what they find in one place.
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK fuzz.${name})
    if(fuzz_later_${name})
      set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED fuzz-${name})
    endif()
  endforeach()
endforeach()
