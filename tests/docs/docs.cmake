# SPDX-License-Identifier: MIT
# The pages: what they tell a reader to type, and the code that they show.

set(docs_dir ${XIO_TESTS_DIR}/docs)
set(docs_kinds "")
set(docs_path "$ENV{PATH}")
if(NOT XIO_HIP_MISSING)
  list(APPEND docs_kinds amd)
endif()
if(NOT XIO_NVCC_MISSING)
  list(APPEND docs_kinds nvidia)
  get_filename_component(folder ${XIO_NVCC} DIRECTORY)
  string(APPEND docs_path ":${folder}")
endif()
list(JOIN docs_kinds "," docs_kinds_list)

# Programs are compiled for the CPU by day, for GPUs at night. Each day a third of the guides is typed, at night all.
file(GLOB docs_typed CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/guides/*.md)
list(FILTER docs_typed EXCLUDE REGEX "README")
foreach(page IN ITEMS docs/getting-started.md docs/internals/laboratory.md LISTS docs_typed)
  get_filename_component(name ${page} NAME_WE)
  string(REPLACE "-" "_" name ${name})
  set(labels docs qemu once)
  if(page IN_LIST docs_typed)
    list(APPEND labels nightly)
  endif()
  xio_register_test(NAME docs.typed.${name} LABELS ${labels} TIMEOUT 600
    COMMAND ${docs_dir}/typed.py ${PROJECT_SOURCE_DIR} ${page})
  xio_register_test(NAME docs.typed.${name}_gpu LABELS docs qemu once nightly TIMEOUT 600
    COMMAND ${CMAKE_COMMAND} -E env "PATH=${docs_path}" ${docs_dir}/typed.py ${PROJECT_SOURCE_DIR} ${page} ${docs_kinds})
endforeach()
xio_register_test(NAME docs.typed.today LABELS docs qemu once TIMEOUT 900
  COMMAND ${docs_dir}/typed.py --share 3 ${PROJECT_SOURCE_DIR} ${docs_typed})

xio_register_test(NAME docs.words LABELS docs once COMMAND ${docs_dir}/words.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME docs.claims LABELS docs once COMMAND ${docs_dir}/claims.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME docs.lists LABELS docs once COMMAND ${docs_dir}/lists.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME docs.names LABELS docs once COMMAND ${docs_dir}/names.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME docs.hazards LABELS docs once COMMAND ${docs_dir}/hazards.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME docs.picture LABELS docs once COMMAND ${PROJECT_SOURCE_DIR}/docs/pictures/draw.py
  ${PROJECT_SOURCE_DIR}/docs/pictures/queue-protocol.txt ${PROJECT_SOURCE_DIR}/docs/pictures/queue-protocol.svg --check)
xio_register_test(NAME docs.code LABELS docs once
  COMMAND ${docs_dir}/code.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${XIO_TESTS_CXX} -std=c++17 -Wall -Wextra -Werror -Wno-unused
    -I${PROJECT_SOURCE_DIR}/include)
if(TARGET xio-tester)
  set(kinds "")
  if(TARGET xio_fio)
    set(kinds fio)
  endif()
  xio_register_test(NAME docs.commands LABELS docs qemu once TIMEOUT 600
    COMMAND ${docs_dir}/commands.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} --kinds=${kinds} NEEDS xio_fio bitcode-gfx942)
  xio_register_test(NAME docs.commands_all LABELS docs qemu once nightly TIMEOUT 7200
    COMMAND ${CMAKE_COMMAND} -E env "PATH=${docs_path}" ${docs_dir}/commands.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} --night
      --kinds=${docs_kinds_list},${kinds} NEEDS xio_fio xio-vendors machine-run machine-timed-kernels)
  set_tests_properties(docs.commands_all PROPERTIES
    FIXTURES_REQUIRED "machine-kernels-nvme-gfx942;machine-kernels-rdma-gfx942;machine-kernels-nvme-sm_90")
endif()

# What the test docs.doxygen has written.
xio_register_tool_test("${XIO_DOXYGEN_MISSING}" NAME docs.reference LABELS docs
  COMMAND ${docs_dir}/reference.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/docs)
xio_register_tool_test("${XIO_DOXYGEN_MISSING}" NAME docs.calls LABELS docs
  COMMAND ${docs_dir}/calls.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/docs)
xio_register_tool_test("${XIO_DOXYGEN_MISSING}" NAME docs.reference_browser LABELS docs nightly
  COMMAND ${docs_dir}/reference_browser.py ${PROJECT_BINARY_DIR}/docs)
if(NOT XIO_DOXYGEN_MISSING)
  set_tests_properties(docs.reference docs.calls docs.reference_browser PROPERTIES FIXTURES_REQUIRED reference)
endif()
