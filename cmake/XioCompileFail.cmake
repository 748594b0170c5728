# SPDX-License-Identifier: MIT
# Tests of what the compiler must refuse.

# tests/<source> must be refused by the compiler with a message that matches the (extended) regular expression, and be
# accepted with -DXIO_CORRECTED.
#   xio_compile_fail_test(<group>/<file>.cpp "regex" [FLAGS flag...] [NAME test-name])
function(xio_compile_fail_test source expected)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME" "FLAGS")
  if(NOT arg_NAME)
    xio_codegen_name(${source} "" arg_NAME)
  endif()
  xio_register_test(NAME ${arg_NAME} LABELS compile_fail
    COMMAND ${PROJECT_SOURCE_DIR}/tests/compile_fail/compile_fail.sh ${PROJECT_SOURCE_DIR}/tests/${source} ${expected}
      ${CMAKE_CXX_COMPILER} -std=c++17 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests ${arg_FLAGS})
endfunction()
