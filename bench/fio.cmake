# SPDX-License-Identifier: MIT
# libxio_fio.so, xio as an engine of the fio that scripts/fio-engine has found the headers of (docs/fio.md).
if(NOT XIO_FIO_HEADERS)
  xio_left_out("the engine of fio" "no headers of fio (scripts/fio-engine fetches them)")
  return()
endif()
# fio, which loads it, comes without sanitizers.
if(XIO_SANITIZE)
  return()
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${XIO_FIO_HEADERS}/made-of)
file(STRINGS ${XIO_FIO_HEADERS}/made-of fio_version REGEX "^fio-")
string(REGEX REPLACE " .*" "" fio_version "${fio_version}")

# fio's headers do without our warnings.
add_library(xio-fio-engine OBJECT EXCLUDE_FROM_ALL ${XIO_BENCH_DIR}/fio/engine.c ${XIO_BENCH_DIR}/fio/zoned.c)
target_compile_options(xio-fio-engine PRIVATE -std=gnu11 -O2 -Wall -include ${XIO_FIO_HEADERS}/config-host.h)
target_include_directories(xio-fio-engine SYSTEM PRIVATE ${XIO_FIO_HEADERS})
target_include_directories(xio-fio-engine PRIVATE ${XIO_BENCH_DIR})
target_compile_definitions(xio-fio-engine PRIVATE _GNU_SOURCE FIO_INTERNAL XIO_FIO_VERSION="${fio_version}")
set_target_properties(xio-fio-engine PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(xio_fio MODULE ${XIO_BENCH_DIR}/fio/completions.cpp ${XIO_BENCH_DIR}/fio/drives.cpp
  ${XIO_BENCH_DIR}/fio/gpu.cpp ${XIO_BENCH_DIR}/fio/job.cpp ${XIO_BENCH_DIR}/fio/zones.cpp
  $<TARGET_OBJECTS:xio-fio-engine>)
xio_embed_kernels(xio_fio XIO_FIO kernels ${XIO_BENCH_DIR}/fio/gpu.cpp ${XIO_BENCH_DIR}/fio/kernels.hip)
target_link_libraries(xio_fio PRIVATE xio_build_options xio::emulation)
target_include_directories(xio_fio PRIVATE ${XIO_BENCH_DIR})
set(exports ${XIO_BENCH_DIR}/fio/exports.map)
set_target_properties(xio_fio PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${XIO_BENCH_BINARY_DIR} LINK_DEPENDS ${exports})
target_link_options(xio_fio PRIVATE -Wl,--version-script=${exports})
