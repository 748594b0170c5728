# SPDX-License-Identifier: MIT
# Pages of the manual, in <build>/man, from what the programs say to --help; and completion, which asks them.

install(FILES packaging/completion/xio DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools RENAME xio-tester)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions)
foreach(program IN ITEMS xio-vendors xio-bind)
  # It is looked for by the name of the program.
  file(CREATE_LINK xio-tester ${PROJECT_BINARY_DIR}/completions/${program} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/completions/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    COMPONENT tools)
endforeach()

if(NOT XIO_HELP2MAN)
  return()
endif()
set(pages ${PROJECT_BINARY_DIR}/man)
add_custom_command(OUTPUT ${pages}.stamp
  COMMAND ${PROJECT_SOURCE_DIR}/packaging/manual/make-pages ${pages} ${PROJECT_VERSION}
    $<TARGET_FILE:xio-tester> $<TARGET_FILE:xio-vendors> ${PROJECT_SOURCE_DIR}/scripts/xio-bind
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}.stamp
  DEPENDS xio-tester xio-vendors ${PROJECT_SOURCE_DIR}/scripts/xio-bind ${PROJECT_SOURCE_DIR}/packaging/manual/make-pages
    ${PROJECT_SOURCE_DIR}/docs/xio-tester.md ${PROJECT_SOURCE_DIR}/docs/xio-vendors.md
  COMMENT "Pages of the manual" VERBATIM)
add_custom_target(manual ALL DEPENDS ${pages}.stamp)
get_target_property(later xio-vendors EXCLUDE_FROM_ALL)
if(later)
  xio_build_later(manual)
endif()
install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools OPTIONAL FILES_MATCHING PATTERN "*.1")
