# SPDX-License-Identifier: MIT
# The reference of the headers, where Doxygen is installed.

configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/docs/Doxyfile @ONLY)

if(XIO_BUILD_DOCS AND NOT XIO_DOXYGEN_MISSING)
  add_custom_target(docs COMMAND ${DOXYGEN_EXECUTABLE} ${PROJECT_BINARY_DIR}/docs/Doxyfile VERBATIM
    COMMENT "Reference in ${PROJECT_BINARY_DIR}/docs/html")
endif()
if(XIO_BUILD_TESTS)
  xio_register_tool_test("${XIO_DOXYGEN_MISSING}" NAME docs.doxygen LABELS docs
    COMMAND ${DOXYGEN_EXECUTABLE} ${PROJECT_BINARY_DIR}/docs/Doxyfile)
endif()
