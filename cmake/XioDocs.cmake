# SPDX-License-Identifier: MIT
# The reference of the headers, where Doxygen is installed.

# scripts/doxygen-theme puts it into the cache folder; the distribution's package is taken too.
find_path(XIO_DOXYGEN_THEME doxygen-awesome.css PATHS ${XIO_CACHE}/doxygen-awesome /usr/share/doxygen-awesome-css NO_DEFAULT_PATH
  DOC "folder of the reference's theme (scripts/doxygen-theme)")
set(XIO_DOXYGEN_STYLESHEETS "")
if(XIO_DOXYGEN_THEME)
  set(XIO_DOXYGEN_STYLESHEETS
    "\"${XIO_DOXYGEN_THEME}/doxygen-awesome.css\" \"${XIO_DOXYGEN_THEME}/doxygen-awesome-sidebar-only.css\"")
  # Newer versions of Doxygen choose dark colours otherwise, which the theme does by itself.
  if(DOXYGEN_VERSION VERSION_GREATER_EQUAL 1.9.5)
    string(APPEND XIO_DOXYGEN_STYLESHEETS "\nHTML_COLORSTYLE = LIGHT")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/docs/Doxyfile @ONLY)

if(XIO_BUILD_DOCS AND NOT XIO_DOXYGEN_MISSING)
  add_custom_target(docs COMMAND ${DOXYGEN_EXECUTABLE} ${PROJECT_BINARY_DIR}/docs/Doxyfile VERBATIM
    COMMENT "Reference in ${PROJECT_BINARY_DIR}/docs/html")
endif()
if(XIO_BUILD_TESTS)
  # Pages of headers that no longer exist would stay.
  xio_register_tool_test("${XIO_DOXYGEN_MISSING}" NAME docs.doxygen LABELS docs
    COMMAND sh -c "rm -rf html xml && exec \"$0\" Doxyfile" ${DOXYGEN_EXECUTABLE})
  if(NOT XIO_DOXYGEN_MISSING)
    set_tests_properties(docs.doxygen PROPERTIES WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
  endif()
  # Tests of tests/docs look at what it writes.
  if(NOT XIO_DOXYGEN_MISSING)
    set_tests_properties(docs.doxygen PROPERTIES FIXTURES_SETUP reference)
  endif()
endif()
