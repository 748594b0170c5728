# SPDX-License-Identifier: MIT
# Machine code of AMD GPUs, executed by a model of them.

# The machine is not what a sanitizer is to look at, and much slower under one.
if(XIO_SANITIZE)
  return()
endif()

file(GLOB machine_amdgcn_sources CONFIGURE_DEPENDS ${XIO_TESTS_DIR}/machine/amdgcn/*.cpp)
add_library(machine_amdgcn STATIC EXCLUDE_FROM_ALL ${machine_amdgcn_sources})
xio_unity(machine_amdgcn 7)
target_include_directories(machine_amdgcn PUBLIC ${XIO_TESTS_DIR})
target_link_libraries(machine_amdgcn PRIVATE xio_build_options)
xio_optimise_test(machine_amdgcn -O2)
set_target_properties(machine_amdgcn PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_options(machine_amdgcn PRIVATE -fno-semantic-interposition)

find_program(XIO_OBJDUMP_PATH llvm-objdump-19)
set(machine_amdgcn_missing "${XIO_HIP_MISSING}")
if(NOT machine_amdgcn_missing AND NOT XIO_OBJDUMP_PATH)
  set(machine_amdgcn_missing "llvm-objdump-19 is not installed (Debian: llvm-19)")
endif()

# Code objects of tests/machine/<name>.hip for every target, and for more of them: <build>/tests/machine/<name, - for />.<target>.o
set(XIO_MACHINE_CODE ${XIO_TESTS_BINARY_DIR}/machine)
function(xio_machine_code name)
  string(REPLACE "/" "-" stem ${name})
  foreach(arch IN LISTS XIO_HIP_TARGETS ARGN)
    set(object ${XIO_MACHINE_CODE}/${stem}.${arch}.o)
    xio_kernel_file(${object} ${XIO_TESTS_DIR}/machine/${name}.hip ${arch} -gline-tables-only)
    list(APPEND objects ${object})
  endforeach()
  add_custom_target(machine-code-${stem} ALL DEPENDS ${objects})
endfunction()

if(machine_amdgcn_missing)
  foreach(name amdgcn_smoke amdgcn_loading litmus arithmetic)
    xio_register_test(NAME machine.${name} LABELS machine once
      COMMAND ${XIO_TESTS_DIR}/unavailable.sh "${machine_amdgcn_missing}")
  endforeach()
else()
  xio_machine_code(amdgcn_smoke ${XIO_HIP_GENERIC_TARGETS})
  xio_machine_code(amdgcn_loading)
  xio_machine_code(litmus/amdgcn)
  # Where scripts/tinygrad-env has put it, if not with the own Python of the system.
  set(XIO_TINYGRAD_PYTHON ${XIO_CACHE}/tinygrad/bin/python)
  if(NOT EXISTS ${XIO_TINYGRAD_PYTHON})
    set(XIO_TINYGRAD_PYTHON python3)
  endif()
  list(JOIN XIO_HIP_GENERIC_TARGETS " " generic)
  set(machine_definitions XIO_TESTS_DIR="${XIO_TESTS_DIR}" XIO_MACHINE_CODE="${XIO_MACHINE_CODE}" XIO_MACHINE_GENERIC="${generic}" XIO_TINYGRAD_PYTHON="${XIO_TINYGRAD_PYTHON}")
  foreach(name amdgcn_smoke amdgcn_loading arithmetic litmus_amdgcn)
    xio_add_test(machine/${name} LIBS machine_amdgcn DEFINITIONS ${machine_definitions} LABELS machine once NO_TEST)
  endforeach()
  foreach(test amdgcn_smoke=amdgcn_smoke amdgcn_loading=amdgcn_loading arithmetic=litmus-amdgcn)
    string(REPLACE "=" ";" test ${test})
    list(POP_FRONT test name code)
    xio_register_test(NAME machine.${name} COMMAND machine-${name} LABELS machine once NEEDS machine-code-${code})
  endforeach()
  # One test for each target, to run side by side; by day one for each size of a wave.
  foreach(arch IN LISTS XIO_HIP_TARGETS)
    set(labels machine once)
    if(NOT arch MATCHES "gfx942|gfx1201")
      list(APPEND labels nightly)
    endif()
    xio_register_test(NAME machine.litmus.${arch} COMMAND machine-litmus_amdgcn "Litmus: ${arch}" LABELS ${labels} TIMEOUT 600
      NEEDS machine-code-litmus-amdgcn)
  endforeach()
  xio_register_test(NAME machine.litmus.missing_wait LABELS machine once
    COMMAND machine-litmus_amdgcn "Litmus: a write-back that LLVM does not wait for" NEEDS machine-code-litmus-amdgcn)
endif()
