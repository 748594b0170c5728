# SPDX-License-Identifier: MIT
# The reference of the headers. XIO_DOXYGEN_MISSING says why it cannot be made here; empty where it can.

find_program(XIO_DOXYGEN doxygen DOC "doxygen, for the reference")
set(XIO_DOXYGEN_MISSING "")
if(NOT XIO_DOXYGEN)
  set(XIO_DOXYGEN_MISSING "doxygen is not installed (Debian: doxygen)")
endif()
configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/docs/Doxyfile @ONLY)

if(XIO_BUILD_DOCS)
  if(XIO_DOXYGEN_MISSING)
    message(FATAL_ERROR "XIO_BUILD_DOCS: ${XIO_DOXYGEN_MISSING}")
  endif()
  add_custom_target(docs COMMAND ${XIO_DOXYGEN} ${PROJECT_BINARY_DIR}/docs/Doxyfile VERBATIM
    COMMENT "Reference in ${PROJECT_BINARY_DIR}/docs/html")
endif()
if(XIO_BUILD_TESTS)
  xio_register_tool_test("${XIO_DOXYGEN_MISSING}" NAME docs.doxygen LABELS docs
    COMMAND ${XIO_DOXYGEN} ${PROJECT_BINARY_DIR}/docs/Doxyfile)
endif()
