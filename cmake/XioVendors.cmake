# SPDX-License-Identifier: MIT
# The RDMA vendors, as include/xio/vendors/list.hpp lists them: XIO_RDMA_VENDORS has their names, XIO_RDMA_VENDOR_TYPE_<name>
# the traits. Kernels have to be named by macros: the header each_vendor.hpp, in XIO_VENDORS_DIR, has one that expands
# another for each vendor.

set(xio_vendor_list ${PROJECT_SOURCE_DIR}/include/xio/vendors/list.hpp)
set(XIO_VENDORS_DIR ${PROJECT_BINARY_DIR}/vendors)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${xio_vendor_list})
file(STRINGS ${xio_vendor_list} xio_vendor_lines REGEX "[a-z0-9_]+::Vendor[<>,; ]")
set(XIO_RDMA_VENDORS "")
set(xio_each_vendor "")
foreach(line IN LISTS xio_vendor_lines)
  string(REGEX MATCH "([a-z0-9_]+)::Vendor(<>)?" type ${line})
  list(APPEND XIO_RDMA_VENDORS ${CMAKE_MATCH_1})
  set(XIO_RDMA_VENDOR_TYPE_${CMAKE_MATCH_1} xio::${type})
  string(APPEND xio_each_vendor " X(${CMAKE_MATCH_1}, xio::${type})")
endforeach()
file(CONFIGURE OUTPUT ${XIO_VENDORS_DIR}/each_vendor.hpp CONTENT
  "// Made by cmake/XioVendors.cmake.\n#pragma once\n#include <xio/vendors/list.hpp>\n#define XIO_EACH_VENDOR(X)${xio_each_vendor}\n")
target_include_directories(xio_build_options INTERFACE ${XIO_VENDORS_DIR})
