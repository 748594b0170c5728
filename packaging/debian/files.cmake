# SPDX-License-Identifier: MIT
# Run by cpack before it writes the packages: what Debian asks for besides what is installed. Changelog and copyright of each
# package, and pages of the manual compressed. SOURCE_DATE_EPOCH, where it is set, is the date of the changelog.

find_program(gzip gzip REQUIRED)
get_filename_component(project_dir ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  set(folder ${root}/doc/${package})
  file(MAKE_DIRECTORY ${folder})
  configure_file(${project_dir}/LICENSE ${folder}/copyright COPYONLY)
  file(WRITE ${folder}/changelog
    "xio (${CPACK_PACKAGE_VERSION}) unstable; urgency=low\n\n"
    "  * Version ${CPACK_PACKAGE_VERSION}; CHANGELOG.md says what is new.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  file(GLOB compressed ${root}/man/man1/*)
  execute_process(COMMAND ${gzip} -9nf ${folder}/changelog ${compressed} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
