# SPDX-License-Identifier: MIT
# Tests of what the compiler must refuse.

set(xio_compile_fail_command ${XIO_TESTS_CXX} -std=c++17 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests)

# <build>/compile_fail/<name>.hpp, which includes a header and is compiled once, by the test compile_fail.<name>. The compiler takes what
# was compiled in its place.
#   xio_compile_fail_header(<name> <header> result)
function(xio_compile_fail_header name header result)
  set(file ${PROJECT_BINARY_DIR}/compile_fail/${name}.hpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "#include <${header}>\n")
  xio_register_test(NAME compile_fail.${name} LABELS compile_fail
    COMMAND ${xio_compile_fail_command} -x c++-header ${file} -o ${file}.gch)
  set_tests_properties(compile_fail.${name} PROPERTIES FIXTURES_SETUP ${file})
  set(${result} ${file} PARENT_SCOPE)
endfunction()

# tests/<source> must be refused by the compiler with a message that matches the (extended) regular expression, and be
# accepted with -DXIO_CORRECTED.
#   xio_compile_fail_test(<group>/<file>.cpp "regex" [HEADER file] [FLAGS flag...] [NAME test-name])
# HEADER: see xio_compile_fail_header()
function(xio_compile_fail_test source expected)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME;HEADER" "FLAGS")
  if(NOT arg_NAME)
    xio_codegen_name(${source} "" arg_NAME)
  endif()
  if(arg_HEADER)
    list(PREPEND arg_FLAGS -include ${arg_HEADER})
  endif()
  xio_register_test(NAME ${arg_NAME} LABELS compile_fail
    COMMAND ${PROJECT_SOURCE_DIR}/tests/compile_fail/compile_fail.sh ${PROJECT_SOURCE_DIR}/tests/${source} ${expected}
      ${xio_compile_fail_command} ${arg_FLAGS})
  if(arg_HEADER)
    set_tests_properties(${arg_NAME} PROPERTIES FIXTURES_REQUIRED ${arg_HEADER})
  endif()
endfunction()
