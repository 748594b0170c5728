# SPDX-License-Identifier: MIT
# Every public header compiles alone, in every execution space that it is meant for; and all of them together.

file(GLOB_RECURSE all_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/include/xio/*.hpp)
set(headers_dir ${CMAKE_CURRENT_LIST_DIR})
set(headers_binary_dir ${XIO_TESTS_BINARY_DIR}/headers)

# A back end of xio::arch is included through xio/device/arch/arch.hpp, by the pass that it is for.
list(FILTER all_headers EXCLUDE REGEX "^xio/device/arch/")
list(APPEND all_headers xio/device/arch/arch.hpp)
set(device_headers ${all_headers})
list(FILTER device_headers EXCLUDE REGEX "^xio/host/")

# Of the host's headers those that examples and documents include; at night all.
file(GLOB_RECURSE texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md
  ${PROJECT_SOURCE_DIR}/examples/*.?pp)
set(included_headers "")
foreach(text IN LISTS texts)
  file(STRINGS ${text} lines REGEX "#include <xio/host/")
  list(TRANSFORM lines REPLACE ".*#include <(xio/host/[^>]+)>.*" "\\1")
  list(APPEND included_headers ${lines})
endforeach()

# One source for each header (included twice: the guard is there), and one that has them all.
set(all_sources "")
set(device_sources "")
set(host_sources "")
foreach(header IN LISTS all_headers)
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${headers_binary_dir}/alone/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include <${header}>\n#include <${header}>\n")
  list(APPEND all_sources ${source})
  if(header IN_LIST device_headers)
    list(APPEND device_sources ${source})
  elseif(header IN_LIST included_headers)
    list(APPEND host_sources ${source})
  endif()
endforeach()
foreach(set IN ITEMS all device)
  list(TRANSFORM ${set}_headers REPLACE "(.+)" "#include <\\1>" OUTPUT_VARIABLE includes)
  list(JOIN includes "\n" includes)
  file(CONFIGURE OUTPUT ${headers_binary_dir}/xio_${set}_headers.hpp CONTENT "${includes}\n")
endforeach()
foreach(set IN ITEMS all device host)
  list(JOIN ${set}_sources "\n" sources)
  file(CONFIGURE OUTPUT ${headers_binary_dir}/${set}_sources.txt CONTENT "${sources}\n")
endforeach()

set(check_headers ${headers_dir}/check_headers.sh)
set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
set(include -I${PROJECT_SOURCE_DIR}/include)

# Those of the device side are compiled alone for each GPU, too, which is faster.
set(alone ${XIO_TESTS_CXX} -std=c++17 ${warnings} ${include} -fsyntax-only)
# With what most of them include of the standard library, which takes half of the time; at night without.
set(given ${headers_binary_dir}/given.hpp)
set(includes algorithm atomic chrono cstdint cstring functional map memory mutex optional string thread utility vector)
list(TRANSFORM includes REPLACE "(.+)" "#include <\\1>")
list(JOIN includes "\n" includes)
file(CONFIGURE OUTPUT ${given} CONTENT "${includes}\n")
xio_register_test(NAME headers.host LABELS headers once TIMEOUT 600
  COMMAND ${check_headers} ${headers_binary_dir}/host_sources.txt --given ${given}
    ${XIO_TESTS_CXX} -std=c++17 ${warnings} ${include})
xio_register_test(NAME headers.host_all LABELS headers once nightly TIMEOUT 900
  COMMAND ${check_headers} ${headers_binary_dir}/all_sources.txt ${alone})
xio_register_test(NAME headers.cxx20 LABELS headers
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 ${warnings} ${include} -fsyntax-only
    -x c++ ${headers_binary_dir}/xio_all_headers.hpp)
xio_register_test(NAME headers.umbrella LABELS headers once
  COMMAND ${headers_dir}/umbrella.sh ${PROJECT_SOURCE_DIR}/include ${XIO_TESTS_CXX} -std=c++17 ${include})
xio_register_test(NAME headers.older_standard LABELS headers once
  COMMAND ${headers_dir}/older_standard.sh ${PROJECT_SOURCE_DIR}/include ${XIO_TESTS_CXX})

xio_register_test(NAME headers.user_names LABELS headers once
  COMMAND ${alone} ${headers_dir}/user_names.cpp)

xio_register_test(NAME headers.instances LABELS headers once
  COMMAND ${alone} ${headers_dir}/instances.cpp)
xio_register_test(NAME headers.found_by_ctags LABELS headers once
  COMMAND ${headers_dir}/found_by_ctags.sh ${PROJECT_SOURCE_DIR}/include/xio/device/nvme/queue.hpp
    ${PROJECT_SOURCE_DIR}/include/xio/device/nvme/drive_set.hpp ${PROJECT_SOURCE_DIR}/include/xio/device/rdma/queue_pair.hpp
    ${PROJECT_SOURCE_DIR}/include/xio/device/rdma/receive.hpp)

xio_register_test(NAME headers.lengths LABELS headers once
  COMMAND ${headers_dir}/lengths.py ${PROJECT_SOURCE_DIR})
xio_register_test(NAME headers.layers LABELS headers once
  COMMAND ${headers_dir}/layers.py ${PROJECT_SOURCE_DIR}/include)

# Without the HIP headers: the library asks nothing of them. Kernels that include them too are in tests/codegen.
set(bare_hip -x hip -std=c++17 --cuda-device-only -nogpulib -nogpuinc
  "-D__host__=__attribute__((host))" "-D__device__=__attribute__((device))" "-D__global__=__attribute__((global))"
  -Wall -Wextra -Wshadow -Werror ${include} -I${headers_binary_dir})
# One target for each size of a wave; the others at night.
function(headers_labels arch result)
  set(labels headers)
  if(NOT arch MATCHES "^(gfx942|gfx1201)$")
    list(APPEND labels nightly)
  endif()
  set(${result} ${labels} PARENT_SCOPE)
endfunction()
foreach(arch IN LISTS XIO_HIP_TARGETS)
  headers_labels(${arch} labels)
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME headers.${arch} LABELS ${labels}
    COMMAND ${check_headers} ${headers_binary_dir}/device_sources.txt
      ${XIO_HIP_CLANG_PATH} ${bare_hip} --offload-arch=${arch} -fsyntax-only)
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME headers.hiprtc.${arch} LABELS ${labels}
    COMMAND ${XIO_HIP_CLANG_PATH} ${bare_hip} --offload-arch=${arch} -nostdinc -nostdinc++ -D__HIPCC_RTC__
      -S -o ${headers_binary_dir}/hiprtc.${arch}.s ${headers_dir}/rtc_kernel.hip)
endforeach()
# All host headers in a source of HIP, beside its runtime: for the host, and as each target's pass reads them. What plays
# a GPU on the CPU is empty there, but for its inner parts.
set(hip_host_headers ${all_headers})
list(FILTER hip_host_headers EXCLUDE REGEX "^xio/host/simt/")
list(TRANSFORM hip_host_headers REPLACE "(.+)" "#include <\\1>" OUTPUT_VARIABLE includes)
list(JOIN includes "\n" includes)
file(CONFIGURE OUTPUT ${headers_binary_dir}/hip_host.hip CONTENT "#include <hip/hip_runtime.h>\n${includes}\n" @ONLY)
set(hip_host ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 -fsyntax-only --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS}
  -Wall -Wextra -Wshadow -Werror ${include})
list(GET XIO_HIP_TARGETS 0 first_target)
xio_register_tool_test("${XIO_HIP_MISSING}" NAME headers.hip_host LABELS headers nightly
  COMMAND ${hip_host} --cuda-host-only --offload-arch=${first_target} ${headers_binary_dir}/hip_host.hip)
foreach(arch IN LISTS XIO_HIP_TARGETS)
  # The host's headers do not differ by target.
  headers_labels(${arch} labels)
  if(arch STREQUAL gfx1201)
    list(APPEND labels nightly)
  endif()
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME headers.hip_host.${arch} LABELS ${labels}
    COMMAND ${hip_host} --cuda-device-only --offload-arch=${arch} ${headers_binary_dir}/hip_host.hip)
endforeach()
# The same with a newer ROCm's headers (scripts/rocm-headers).
set(missing "${XIO_HIP_MISSING}")
if(NOT XIO_ROCM_HEADERS)
  set(missing "no headers of a newer ROCm (scripts/rocm-headers)")
endif()
xio_register_tool_test("${missing}" NAME headers.hip_host.rocm LABELS headers nightly
  COMMAND ${hip_host} --cuda-host-only --offload-arch=${first_target} -isystem ${XIO_ROCM_HEADERS}
    ${headers_binary_dir}/hip_host.hip)

# NVRTC takes each header alone, and is ten times as fast as nvcc.
xio_register_tool_test("" NAME headers.nvrtc LABELS headers
  COMMAND ${headers_dir}/nvrtc_check.py --cache ${XIO_CACHE} --arch sm_90 ${include} -I${headers_binary_dir}
    --list ${headers_binary_dir}/device_sources.txt ${headers_dir}/rtc_kernel.hip)
xio_register_tool_test("${XIO_NVCC_MISSING}" NAME headers.sm_90 LABELS headers
  COMMAND ${XIO_NVCC} ${XIO_NVCC_FLAGS} -arch=sm_90 -I${headers_binary_dir} -c
    -o ${headers_binary_dir}/rtc_kernel.sm_90.o ${headers_dir}/rtc_kernel.hip)

# What including them costs a HIP source that includes the HIP runtime anyway: lines after preprocessing.
foreach(umbrella nvme:5620 xio:11080)
  string(REGEX MATCH "([a-z]+):([0-9]+)" ignored ${umbrella})
  xio_register_tool_test("${XIO_HIP_MISSING}" NAME headers.include_cost.${CMAKE_MATCH_1} LABELS headers
    COMMAND ${headers_dir}/include_cost.sh xio/${CMAKE_MATCH_1}.hpp ${CMAKE_MATCH_2}
      ${XIO_HIP_CLANG_PATH} ${XIO_HIP_FLAGS} --offload-arch=gfx942)
endforeach()

if(XIO_SANITIZE)
  return()
endif()

# Two sources with every header link together, and with one of another version of the library.
xio_add_test(headers/two_sources SOURCES two_sources_other.cpp another_version.cpp)
target_include_directories(headers-two_sources PRIVATE ${headers_binary_dir})
set_property(SOURCE ${headers_dir}/another_version.cpp APPEND PROPERTY COMPILE_DEFINITIONS XIO_ABI=v999 XIO_ABI_NUMBER=999)

# All RDMA vendors in each of two sources of one program; and no macro that selects one.
xio_add_test(headers/two_vendors SOURCES two_vendors_other.cpp)
xio_register_test(NAME headers.vendors LABELS headers once COMMAND ${PROJECT_SOURCE_DIR}/scripts/vendors --check)
xio_register_test(NAME headers.vendor_macros LABELS headers once
  COMMAND ${headers_dir}/vendor_macros.sh ${PROJECT_SOURCE_DIR}/include)

# clang-tidy over a source that has every header. It is told of what is g++'s own among the flags.
find_program(XIO_CLANG_TIDY NAMES clang-tidy-19 DOC "clang-tidy 19 (Debian: clang-tidy-19)")
set(tidy_missing "")
if(NOT XIO_CLANG_TIDY)
  set(tidy_missing "no clang-tidy-19")
endif()
xio_register_tool_test("${tidy_missing}" NAME headers.tidy LABELS headers slow nightly TIMEOUT 600
  COMMAND ${XIO_CLANG_TIDY} --quiet --extra-arg=-Wno-unused-command-line-argument -p ${PROJECT_BINARY_DIR} ${headers_dir}/two_sources_other.cpp)
