# SPDX-License-Identifier: MIT
# Everything a user may choose at configure time.

include(GNUInstallDirs)

option(XIO_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(XIO_BUILD_BENCH "Build xio-tester and the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(XIO_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(XIO_INSTALL "Add install rules, and the target uninstall" ${PROJECT_IS_TOP_LEVEL})
set(XIO_HOMEPAGE "" CACHE STRING "URL of the project, for its packages and for xio.pc")
option(XIO_BUILD_DOCS "Add the target docs (Doxygen, warnings are errors)" OFF)

set(XIO_SANITIZE "" CACHE STRING "Sanitizers for our own targets: empty, thread, or address,undefined")
set_property(CACHE XIO_SANITIZE PROPERTY STRINGS "" "thread" "address,undefined")

set(XIO_HIP_CLANG clang++-19 CACHE STRING "clang++ that compiles HIP device code in the tests")
set(XIO_HIP_NEWER clang++-22 CACHE STRING "newer clang++, if it is installed: compiles the kernels of xio-tester, for gfx950 and gfx1250 too, and the tests' kernels once more")
set(XIO_HIP_TARGETS "gfx90a;gfx942;gfx1100;gfx1201" CACHE STRING "AMD targets that the tests compile for")
set(XIO_FILECHECK FileCheck-19 CACHE STRING "LLVM FileCheck of the same version as XIO_HIP_CLANG")

if(DEFINED ENV{XIO_CACHE})
  set(xio_cache_default $ENV{XIO_CACHE})
else()
  set(xio_cache_default $ENV{HOME}/.cache/xio)
endif()
set(XIO_CACHE ${xio_cache_default} CACHE PATH "Where scripts/nvcc-env keeps its private CUDA compiler, scripts/fio-engine the headers of fio")
find_program(XIO_NVCC nvcc
  HINTS ${XIO_CACHE}/nvcc/cuda/bin ENV CUDA_HOME
  PATHS /usr/local/cuda/bin
  DOC "nvcc for the compile tests (scripts/nvcc-env installs one)")

find_path(XIO_FIO_HEADERS made-of HINTS ${XIO_CACHE}/fio NO_DEFAULT_PATH DOC "headers of the installed fio (scripts/fio-engine)")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(XIO_BUILD_PROTOCOL_TESTS "Build the tests of the queue protocol, the longest to compile" ON)
option(XIO_BUILD_SANITIZED_TESTS "Build also those tests of the queue protocol and of the host side that the builds with sanitizers have" ON)
option(XIO_BUILD_GOLDEN_TESTS "Build the tests that replay recorded drivers" ON)
option(XIO_BUILD_FUZZ_TESTS "Build the fuzzers, where XIO_BUILD_PROTOCOL_TESTS is on" ON)
set(XIO_TESTS_CXX "" CACHE STRING "C++ compiler of what tests compile while they run; empty: that of the build")
if(NOT XIO_TESTS_CXX)
  set(XIO_TESTS_CXX ${CMAKE_CXX_COMPILER})
endif()
set(XIO_FUZZ_CLANG clang++-19 CACHE STRING "clang++ that the fuzzers are compiled with")
option(XIO_BUILD_IN_TURN "Leave out of a usual build what no test of this day needs (tests/turns.cmake)" OFF)
option(XIO_UNITY "Compile several sources of a program as one: shorter to build, longer after a change" ON)
