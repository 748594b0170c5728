# SPDX-License-Identifier: MIT
# What is installed, in three components, and the package files that work from the install tree and from the build tree.
#   dev    headers, CMake package, xio.pc, examples
#   tools  programs with what they need at run time, as far as they were built
#   doc    pages, and the reference where it was built

include(CMakePackageConfigHelpers)

# No word size and no processor: everything of `dev` and `doc` is found in share.
set(xio_data_dir ${CMAKE_INSTALL_DATADIR}/xio)
set(xio_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/xio)
set(xio_pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h"
  PATTERN "*.cpp" PATTERN "*.inc")
install(TARGETS xio xio_host xio_emulation EXPORT xioTargets)
install(EXPORT xioTargets NAMESPACE xio:: DESTINATION ${xio_package_dir} COMPONENT dev)
export(EXPORT xioTargets NAMESPACE xio:: FILE ${PROJECT_BINARY_DIR}/xioTargets.cmake)
configure_package_config_file(cmake/xioConfig.cmake.in ${PROJECT_BINARY_DIR}/xioConfig.cmake
  INSTALL_DESTINATION ${xio_package_dir} NO_SET_AND_CHECK_MACRO)
configure_file(cmake/xioConfigVersion.cmake.in ${PROJECT_BINARY_DIR}/xioConfigVersion.cmake @ONLY)
configure_file(cmake/XioBitcode.cmake ${PROJECT_BINARY_DIR}/XioBitcode.cmake COPYONLY)
install(FILES ${PROJECT_BINARY_DIR}/xioConfig.cmake ${PROJECT_BINARY_DIR}/xioConfigVersion.cmake cmake/XioBitcode.cmake
  DESTINATION ${xio_package_dir} COMPONENT dev)

# The folder of the headers seen from that of xio.pc: the installation may be moved.
file(RELATIVE_PATH xio_pc_includes ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(RELATIVE_PATH xio_pc_prefix ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(xio_pc_url "")
if(XIO_HOMEPAGE)
  set(xio_pc_url "URL: ${XIO_HOMEPAGE}\n")
endif()
configure_file(cmake/xio.pc.in ${PROJECT_BINARY_DIR}/xio.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/xio.pc DESTINATION ${xio_pkgconfig_dir} COMPONENT dev)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp" PATTERN "*.hip")

if(XIO_BUILD_BENCH)
  foreach(program IN ITEMS xio-tester xio-vendors)
    if(TARGET ${program})
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools OPTIONAL)
    endif()
  endforeach()
  if(TARGET xio_fio)
    install(TARGETS xio_fio LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/xio COMPONENT tools OPTIONAL)
  endif()
  install(PROGRAMS scripts/xio-bind DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  file(GLOB scripts CONFIGURE_DEPENDS bench/plot_*.py)
  install(PROGRAMS ${scripts} DESTINATION ${xio_data_dir} COMPONENT tools)
  if(TARGET xio-tester)
    include(XioManual)
  endif()
  # What the budget tests have counted, for xio-vendors.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/tests/codegen/counts DESTINATION ${xio_data_dir} COMPONENT tools OPTIONAL)
endif()

if(TARGET xio-host-library)
  install(TARGETS xio-host-library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tools OPTIONAL)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/bitcode DESTINATION ${xio_data_dir} COMPONENT tools OPTIONAL
  FILES_MATCHING PATTERN "*.bc" PATTERN "*.ltoir")

install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY ${PROJECT_BINARY_DIR}/docs/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc OPTIONAL)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMENT "Removing what was installed last" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DXIO_BUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
endif()
