# SPDX-License-Identifier: MIT
# Debian packages of the install components, by cpack: libxio-dev, xio-tools and xio-doc.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME xio)
set(CPACK_PACKAGE_VENDOR "The xio authors")
# Whoever makes packages maintains them: named as for Debian's own tools, or as the author of commits.
set(packager "$ENV{DEBFULLNAME}" "$ENV{DEBEMAIL}")
if("$ENV{DEBFULLNAME}" STREQUAL "" OR "$ENV{DEBEMAIL}" STREQUAL "")
  foreach(key name email)
    execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} config user.${key} OUTPUT_VARIABLE packager_${key} OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_QUIET)
  endforeach()
  if(NOT packager_name OR NOT packager_email)
    cmake_host_system_information(RESULT host QUERY HOSTNAME)
    set(packager_name "Packager of xio")
    set(packager_email "root@${host}")
  endif()
  set(packager "${packager_name}" "${packager_email}")
endif()
list(JOIN packager " <" packager)
set(CPACK_PACKAGE_CONTACT "${packager}>" CACHE STRING "Maintainer of the packages: name <address>")
if(XIO_HOMEPAGE)
  set(CPACK_DEBIAN_PACKAGE_HOMEPAGE ${XIO_HOMEPAGE})
endif()
# Each package has its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_COMPONENTS_ALL dev doc)
if(TARGET xio-tester)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/files.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libxio-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "cmake, pkg-config, xio-doc, xio-tools")
set(CPACK_DEBIAN_DEV_DESCRIPTION "I/O queues driven from GPU kernels, headers
A header-only C++17 library by which kernels for GPUs, and for the CPU,
do their own I/O: they build NVMe commands or RDMA work requests, ring
the doorbells and see the completions. Nothing is linked into a kernel.

This package has the headers, the files for CMake and pkg-config, and
examples.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME xio-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "python3, python3-matplotlib")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "fio, qemu-system-x86")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "I/O queues driven from GPU kernels, tools
Programs that measure and verify NVMe controllers and RDMA devices by the
xio library, that tell what a machine lacks for it, and that give NVMe
controllers to vfio-pci and back: xio-tester, xio-vendors and xio-bind.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME xio-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_DESCRIPTION "I/O queues driven from GPU kernels, documentation
The pages about the xio library and its tools, and the reference of the
headers.")

include(CPack)
