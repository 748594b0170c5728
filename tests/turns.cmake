# SPDX-License-Identifier: MIT
# Tests that take long, or whose programs do, and resemble others: each day some of a row, the next day the next, and at night all. Those of
# other days are labelled another_day. With XIO_BUILD_IN_TURN a usual build leaves out what they alone need; each then builds it first, when
# it is asked for.

# The day is fixed when the build is configured; XIO_TESTS_DAY is another one.
set(XIO_TESTS_DAY "" CACHE STRING "the day whose tests are not labelled another_day (tests/turns.cmake): a number, or empty for today")
function(xio_day result)
  set(day "${XIO_TESTS_DAY}")
  if(NOT day MATCHES "^[0-9]+$")
    string(TIMESTAMP day "1%j" UTC)  # 1, lest a zero begin it
  endif()
  set(${result} ${day} PARENT_SCOPE)
endfunction()

# xio_take_turns("<test>;..." ...): the tests of the first day of a row, of the second, and so on; a name without a dot is a program's, and
# means all of its tests. "*" is any text. What is not registered here (a tool is missing, or the configuration is another one) is passed over.
set_property(GLOBAL PROPERTY XIO_ANOTHER_DAY "nothing")
function(xio_take_turns)
  xio_day(day)
  math(EXPR today "${day} % ${ARGC}")
  math(EXPR last "${ARGC} - 1")
  foreach(turn RANGE ${last})
    foreach(name IN LISTS ARGV${turn})
      if(NOT turn EQUAL today)
        string(REPLACE "." "[.]" name "${name}")
        string(REPLACE "*" ".*" name "${name}")
        set_property(GLOBAL APPEND_STRING PROPERTY XIO_ANOTHER_DAY "|${name}")
      endif()
    endforeach()
  endforeach()
endfunction()

# xio_note_turn(<test> <variable with its labels> <name>...): notes for which targets of this build the test asks, and labels it.
function(xio_note_turn name labels)
  get_property(another_day GLOBAL PROPERTY XIO_ANOTHER_DAY)
  set(labels_now ${${labels}})
  set(targets "")
  foreach(argument IN LISTS ARGN)
    if(TARGET "${argument}")
      list(APPEND targets ${argument})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  foreach(one IN LISTS name targets)
    if("${one}" MATCHES "^(${another_day})$")
      list(APPEND labels_now another_day)
      break()
    endif()
  endforeach()
  set(${labels} "${labels_now}" PARENT_SCOPE)
  foreach(target IN LISTS targets)
    set_property(DIRECTORY APPEND PROPERTY XIO_BUILDS_OF_TESTS "${name} ${target}")
    set_property(GLOBAL APPEND PROPERTY XIO_TESTED_TARGETS ${target})
    if(NOT labels_now MATCHES "nightly|another_day")
      set_property(GLOBAL APPEND PROPERTY XIO_TARGETS_OF_TODAY ${target})
    endif()
  endforeach()
endfunction()

# At the end of a folder with tests: each needs the fixture build.<target> of what it asks for. Where all is built anyway there is none.
function(xio_require_builds)
  get_property(builds DIRECTORY PROPERTY XIO_BUILDS_OF_TESTS)
  foreach(build IN LISTS builds)
    string(REPLACE " " ";" build ${build})
    list(POP_FRONT build test target)
    set_property(TEST ${test} APPEND PROPERTY FIXTURES_REQUIRED build.${target})
  endforeach()
endfunction()

# Behind all tests: what none of today needs is not built by itself.
function(xio_build_in_turn)
  if(NOT XIO_BUILD_IN_TURN)
    return()
  endif()
  get_property(targets GLOBAL PROPERTY XIO_TESTED_TARGETS)
  get_property(today GLOBAL PROPERTY XIO_TARGETS_OF_TODAY)
  list(REMOVE_DUPLICATES targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(target IN_LIST today OR NOT type MATCHES "EXECUTABLE|MODULE_LIBRARY|UTILITY")
      continue()
    endif()
    xio_build_later(${target})
  endforeach()
endfunction()
function(xio_build_later target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  xio_register_test(NAME build.${target} LABELS once nightly TIMEOUT 1800 LOCK build
    COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${target})
  set_tests_properties(build.${target} PROPERTIES FIXTURES_SETUP build.${target})
endfunction()

# Each sanitizer has half of the programs a day, and of the largest, which the sanitizers have in turn, half of the cases.
if(XIO_SANITIZE MATCHES "thread")
  xio_take_turns("" "executors.rdma.cpu32;executors.fabrics.cpu32" "" "executors.nvme.cpu32;executors.key_values.cpu32")
  xio_take_turns(
    "cache-pages;emulation-*;property-queues;qemu-*"
    "unit-*")
  return()
endif()
if(XIO_SANITIZE)
  xio_take_turns("executors.nvme.cpu32;executors.key_values.cpu32" "" "executors.rdma.cpu32;executors.fabrics.cpu32" "")
  xio_take_turns("cache-pages;unit-*" "emulation-*;layout-*;property-queues;qemu-*")
  return()
endif()

# The longest, each on a day that has little else.
xio_take_turns("guest.kernel_shared" "" "guest.vfio" "" "guest.tester_rdma" "")
xio_take_turns("guest.rxe_queue_pair" "guest.rxe_raw;guest.rxe_nodes")
# The scenarios on the CPU, and the schedules of a few lanes.
xio_take_turns("executors.nvme.cpu8;executors.rdma.cpu64" "" "executors.nvme.explorer;executors.fabrics.cpu32;executors.key_values.cpu32;scenarios.matrix"
  "executors.nvme.cpu64;executors.rdma.cpu8" "" "")
xio_take_turns("model-rdma;model-storm" "model-fabric;model-requests;model-stalls" "model-cache;model-explorer;model-outcomes;model-protocol")
# The same tool on another played GPU, or with another controller, on days when it has kernels for that one (XIO_TESTER_KERNELS); and the
# engine of fio.
xio_take_turns("" "machine.tester_qemu.gfx942;fio.gpu_qemu.gfx942" "" "" "machine.tester.sm_90" "" "" "machine.tester_qemu.sm_90;fio.gpu_emulated.sm_90"
  "" "" "machine.tester.gfx942" "")
xio_day(day)
math(EXPR day "${day} % 12")
set(XIO_KERNELS_OF_TODAY OFF)
if(day MATCHES "^(1|10)$")
  set(XIO_KERNELS_OF_TODAY gfx942)
elseif(day MATCHES "^(4|7)$")
  set(XIO_KERNELS_OF_TODAY NVIDIA)
endif()
xio_take_turns("" "xio_fio;docs.commands" "" "" "fio-ring" "")
xio_take_turns("" "" "" "" "xio-vendors" "")
xio_take_turns("machine.timed" "machine.amdgcn_loading;machine.arithmetic" "machine.amdgcn_smoke;machine.litmus.*")
# What the compilers make, for one size of a wave.
foreach(group codegen assembly budget machine.one_shot)
  xio_take_turns("${group}*.gfx942" "${group}*.gfx1201")
endforeach()
xio_take_turns("counted-callgrind" "counted-callgrind_rdma")
# Headers by another compiler, and programs that are only compiled: others of these targets are compiled each day.
xio_take_turns("headers.host" "headers.gfx942;headers.nvrtc" "headers.cxx20;headers.gfx1201")
xio_take_turns("headers.hip_host.gfx942" "headers.hiprtc.gfx942;headers.hiprtc.gfx1201")
xio_take_turns("headers-two_sources" "headers-two_vendors;headers.sm_90" "xio-golden")
xio_take_turns("gpu.orderings.compile.gfx942" "gpu.scaling.compile.gfx942" "gpu.throughput.compile.gfx942")
xio_take_turns("example-*" "examples.kernels.gfx942" "examples.first_read_gpu.link;machine.first_read_gpu.*")
xio_take_turns("" "" "executors.defects.calls")
xio_take_turns("codegen.resources.sm_90" "codegen.sizes.sm_90" "codegen.spills")
# The bitcode, the library in C and the package for Python, which link it.
xio_take_turns("" "abi.*;python.*" "")
xio_take_turns("docs.typed.getting_started" "docs.typed.laboratory" "docs.typed.today")
xio_take_turns("docs.doxygen;docs.reference;docs.calls" "docs.code")
xio_take_turns("" "install.consumer")
# Tests of the protocol, of xio-tester's parts and of its runs.
xio_take_turns("cache-*;emulation-conformance;emulation-rdma_interleave;emulation-rdma_sizes;emulation-tester_workload;qemu-stress"
  "emulation-protocol_counts;emulation-protocol_stale;emulation-rdma;emulation-rdma_order;emulation-tester")
xio_take_turns("emulation.tester_rdma_runs" "emulation.tester_nodes" "emulation.tester_report;emulation.tester_matrix")
xio_take_turns("qemu.tester_bad_input;qemu.tester_functional;qemu.tester_stop" "qemu.tester_matrix;qemu.tester_swapped;qemu.tester_tools")
