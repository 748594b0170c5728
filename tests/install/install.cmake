# SPDX-License-Identifier: MIT

set(hip_command "")
if(NOT XIO_HIP_MISSING)
  set(hip_command ${XIO_HIP_CLANG_PATH} -x hip -std=c++17 -O2 --cuda-device-only --offload-arch=gfx942
    --hip-path=/usr --rocm-device-lib-path=${XIO_DEVLIBS})
endif()
xio_register_tool_test("" NAME install.consumer LABELS install TIMEOUT 300
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
    ${XIO_TESTS_BINARY_DIR}/install ${CMAKE_CXX_COMPILER} ${PROJECT_VERSION} ${hip_command})
xio_register_tool_test("" NAME install.components LABELS install TIMEOUT 300
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/components.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
    ${XIO_TESTS_BINARY_DIR}/install-components ${CMAKE_CXX_COMPILER})
# The reference is installed where it was built: all of it, or nothing.
set_tests_properties(install.consumer install.components PROPERTIES DEPENDS docs.doxygen)
xio_register_test(NAME install.left_out LABELS install once TIMEOUT 600
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/left_out.sh ${PROJECT_SOURCE_DIR} ${XIO_TESTS_BINARY_DIR}/install-left-out ${CMAKE_CXX_COMPILER})
