# SPDX-License-Identifier: MIT
# Install rules, and a package file that works from the install tree and from the build tree.

include(CMakePackageConfigHelpers)

set(xio_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/xio)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS xio xio_host xio_emulation EXPORT xioTargets)
install(EXPORT xioTargets NAMESPACE xio:: DESTINATION ${xio_package_dir})

configure_package_config_file(cmake/xioConfig.cmake.in ${PROJECT_BINARY_DIR}/xioConfig.cmake
  INSTALL_DESTINATION ${xio_package_dir} NO_SET_AND_CHECK_MACRO)
# Until 1.0 every minor version may change the interface. The library has no code of its own, hence no word size.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/xioConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/xioConfig.cmake ${PROJECT_BINARY_DIR}/xioConfigVersion.cmake
  DESTINATION ${xio_package_dir})

export(EXPORT xioTargets NAMESPACE xio:: FILE ${PROJECT_BINARY_DIR}/xioTargets.cmake)
