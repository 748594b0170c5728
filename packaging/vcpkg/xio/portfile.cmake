# SPDX-License-Identifier: MIT
# vcpkg install xio --overlay-ports=packaging/vcpkg: the sources around this file
get_filename_component(SOURCE_PATH ${CURRENT_PORT_DIR}/../../.. ABSOLUTE)

# There is nothing to compile.
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
  OPTIONS -DXIO_BUILD_TESTS=OFF -DXIO_BUILD_BENCH=OFF -DXIO_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/xio)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
