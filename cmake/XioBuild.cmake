# SPDX-License-Identifier: MIT
# How our own programs are compiled; nothing here reaches a user of the library.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# clang-tidy reads it.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(xio_build_options INTERFACE)
target_compile_options(xio_build_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
# Collecting garbage later: a twelfth of g++'s time for templates like ours, and less than half a gigabyte more.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(xio_build_options INTERFACE --param=ggc-min-expand=200 --param=ggc-min-heapsize=1000000)
endif()
# Headers that sources use where they are there. What was compiled without one is compiled anew when it has been installed,
# which no list of dependencies would bring about.
foreach(name IN ITEMS VERBS MLX5DV)
  if(XIO_${name}_HEADER)
    target_compile_definitions(xio_build_options INTERFACE XIO_BUILT_WITH_${name}=1)
  endif()
endforeach()
# Of a hundred programs, linking is a minute with the default linker of binutils.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold XIO_HAVE_GOLD)
if(XIO_HAVE_GOLD)
  target_link_options(xio_build_options INTERFACE -fuse-ld=gold)
endif()

# Compiles `batch` sources of a target as one (0: all of them), unless XIO_UNITY is off.
function(xio_unity target batch)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${XIO_UNITY} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

set(xio_sanitizer_environment "")
set(xio_tsan_options "halt_on_error=1:second_deadlock_stack=1")
if(XIO_SANITIZE)
  target_compile_options(xio_build_options INTERFACE
    -fsanitize=${XIO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(xio_build_options INTERFACE -fsanitize=${XIO_SANITIZE})
  set(xio_sanitizer_environment
    "TSAN_OPTIONS=${xio_tsan_options}"
    "ASAN_OPTIONS=detect_stack_use_after_return=0:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1")
endif()

# Registers a program, or any command, with ctest: 77 means "cannot run here".
#   xio_register_test(NAME group.name COMMAND command [arg...] [LABELS label...] [TIMEOUT seconds]
#                     [ENVIRONMENT NAME=value...] [NEEDS target...] [LOCK name] [WILL_FAIL] [SERIAL])
# NEEDS: what must be built beside the targets that the command names (tests/turns.cmake).
# LOCK: no other test with this lock runs beside it. SERIAL: none at all does.
# LABELS timing: on a machine that does other things it may need a second try, which scripts/test gives it; see xio_limit_timing().
function(xio_register_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "WILL_FAIL;SERIAL" "NAME;TIMEOUT;LOCK" "COMMAND;LABELS;ENVIRONMENT;NEEDS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  list(GET arg_COMMAND 0 program)
  set(named ${arg_COMMAND})
  list(FILTER named INCLUDE REGEX "^[$]<TARGET_[A-Z]+:[^>]+>$")
  list(TRANSFORM named REPLACE ".*:(.+)>" "\\1")
  xio_note_turn(${arg_NAME} arg_LABELS ${program} ${named} ${arg_NEEDS})
  # What orders the waves here runs in another process, which the sanitizer does not see.
  if("qemu" IN_LIST arg_LABELS)
    list(APPEND arg_ENVIRONMENT "TSAN_OPTIONS=${xio_tsan_options}:suppressions=${PROJECT_SOURCE_DIR}/tests/qemu/tsan.supp")
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  set_tests_properties(${arg_NAME} PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "${xio_sanitizer_environment};${arg_ENVIRONMENT}")
  if("timing" IN_LIST arg_LABELS)
    set_property(GLOBAL APPEND PROPERTY XIO_TIMING_TESTS ${arg_NAME})
  endif()
  if(arg_WILL_FAIL)
    set_tests_properties(${arg_NAME} PROPERTIES WILL_FAIL TRUE)
  endif()
  if(arg_LOCK)
    # Begun first, so that others run beside the last of them.
    set_tests_properties(${arg_NAME} PROPERTIES RESOURCE_LOCK ${arg_LOCK} COST 1000)
  endif()
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# At most so many tests may be labelled `timing`: one that races the clock is to be mended.
function(xio_limit_timing most)
  get_property(tests GLOBAL PROPERTY XIO_TIMING_TESTS)
  list(LENGTH tests count)
  if(count GREATER most)
    list(JOIN tests ", " tests)
    message(FATAL_ERROR "${count} tests are labelled timing, at most ${most} may be: ${tests}")
  endif()
endfunction()

# Includes the lists that match a pattern; the variables of one are not seen by the next.
function(xio_include_lists pattern)
  file(GLOB lists CONFIGURE_DEPENDS ${pattern})
  foreach(list IN LISTS lists)
    block()
      include(${list})
    endblock()
  endforeach()
endfunction()

if(XIO_BUILD_TESTS)
  include(${PROJECT_SOURCE_DIR}/tests/turns.cmake)
else()
  function(xio_note_turn)
  endfunction()
endif()
