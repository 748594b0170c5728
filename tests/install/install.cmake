# SPDX-License-Identifier: MIT

set(hip_command "")
if(NOT XIO_HIP_MISSING)
  set(hip_command ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 -O2 --cuda-device-only --offload-arch=gfx942
    --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS})
endif()
xio_register_tool_test("" NAME install.consumer LABELS install TIMEOUT 300
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
    ${XIO_TESTS_BINARY_DIR}/install ${XIO_TESTS_CXX} ${PROJECT_VERSION} ${hip_command})
xio_register_tool_test("" NAME install.components LABELS install TIMEOUT 600
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/components.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
    ${XIO_TESTS_BINARY_DIR}/install-components ${XIO_TESTS_CXX} NEEDS xio-vendors)
set(missing "")
if(NOT XIO_HIP_CLANG_PATH)
  set(missing "${XIO_HIP_CLANG} is not installed (Debian: clang-19)")
endif()
xio_register_tool_test("${missing}" NAME install.bitcode LABELS install nightly
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/bitcode.sh ${PROJECT_BINARY_DIR} ${XIO_TESTS_BINARY_DIR}/install-bitcode ${XIO_TESTS_CXX}
    ${XIO_HIP_CLANG_PATH})
# The reference is installed where it was built: all of it, or nothing.
set_tests_properties(install.consumer install.components PROPERTIES DEPENDS docs.doxygen)
xio_register_test(NAME install.left_out LABELS install once nightly TIMEOUT 600
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/left_out.sh ${PROJECT_SOURCE_DIR} ${XIO_TESTS_BINARY_DIR}/install-left-out ${XIO_TESTS_CXX})
xio_register_test(NAME install.embedding LABELS install once
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/embedding.sh ${PROJECT_SOURCE_DIR} ${XIO_TESTS_BINARY_DIR}/install-embedding ${XIO_TESTS_CXX})
xio_register_test(NAME install.recipes LABELS install once
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/recipes.py ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION})
xio_register_test(NAME install.conan LABELS install once nightly TIMEOUT 600
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/conan.sh ${PROJECT_SOURCE_DIR} ${XIO_TESTS_BINARY_DIR}/install-conan)

xio_register_test(NAME install.prepared LABELS install once nightly TIMEOUT 3600
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/prepared.sh ${PROJECT_SOURCE_DIR} ${XIO_TESTS_BINARY_DIR}/install-prepared)

# The packages hold the programs, which come without sanitizers.
if(TARGET xio-tester AND NOT XIO_SANITIZE)
  xio_register_test(NAME install.debs LABELS install once nightly TIMEOUT 600
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/debs.sh ${PROJECT_BINARY_DIR} ${XIO_TESTS_BINARY_DIR}/install-debs ${XIO_TESTS_CXX})
  xio_register_test(NAME install.chroot LABELS install once nightly TIMEOUT 1800
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/chroot.sh ${PROJECT_BINARY_DIR} ${XIO_TESTS_BINARY_DIR}/install-chroot)
  if(NOT XIO_HIP_MISSING)
    set(nvcc "")
    if(NOT XIO_NVCC_MISSING)
      get_filename_component(nvcc ${XIO_NVCC} DIRECTORY)
      get_filename_component(nvcc ${nvcc} DIRECTORY)
    endif()
    xio_register_test(NAME install.stranger LABELS install once nightly TIMEOUT 1800
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/stranger.sh ${PROJECT_SOURCE_DIR} ${XIO_TESTS_BINARY_DIR}/install-stranger
        ${XIO_TESTS_BINARY_DIR}/played-gpu "${nvcc}")
  endif()
  xio_register_test(NAME install.completion LABELS install once
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/completion.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE:xio-tester> $<TARGET_FILE:xio-vendors>)
  set(missing "")
  if(NOT XIO_HELP2MAN)
    set(missing "no help2man (Debian: help2man)")
  endif()
  xio_register_tool_test("${missing}" NAME install.manual LABELS install
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/manual.sh ${PROJECT_BINARY_DIR}/man ${PROJECT_VERSION}
      $<TARGET_FILE:xio-tester> $<TARGET_FILE:xio-vendors> ${PROJECT_SOURCE_DIR}/scripts/xio-bind)
  set_tests_properties(install.manual PROPERTIES FIXTURES_REQUIRED build.manual)
  set_tests_properties(install.debs install.chroot PROPERTIES DEPENDS docs.doxygen)
endif()
