// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The part of the iommufd and vfio character device interface that is used here.
///
/// Declared here, since distribution headers can be older than the interface: Linux 6.6, include/uapi/linux/iommufd.h
/// and vfio.h. Integers are in the CPU's byte order; reserved members are zero.

#include <linux/ioctl.h>

#include <cstddef>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host::iommufd {

// Requests to a vfio character device.

/// Binds the device to an iommufd; required before any other request.
struct Bind {
  uint32_t argsz;
  uint32_t flags;
  int32_t iommufd;
  uint32_t out_devid;
};
constexpr unsigned long bind_request = _IO(';', 118);

/// Attaches the device to an address space.
struct Attach {
  uint32_t argsz;
  uint32_t flags;
  uint32_t pt_id;  ///< in: address space; out: page table
};
constexpr unsigned long attach_request = _IO(';', 119);

struct Detach {
  uint32_t argsz;
  uint32_t flags;
};
constexpr unsigned long detach_request = _IO(';', 120);

// Requests to /dev/iommu.

struct Destroy {
  uint32_t size;
  uint32_t id;
};
constexpr unsigned long destroy_request = _IO(';', 0x80);

/// Allocates an address space.
struct Allocate {
  uint32_t size;
  uint32_t flags;
  uint32_t out_id;
};
constexpr unsigned long allocate_request = _IO(';', 0x81);

/// A range of addresses; both ends are included.
struct Range {
  uint64_t first;
  uint64_t last;
};
/// Queries the addresses that the devices in an address space can use. EMSGSIZE: `count` is the number of ranges.
struct Ranges {
  uint32_t size;
  uint32_t id;
  uint32_t count;  ///< in: capacity; out: number of ranges
  uint32_t reserved;
  uint64_t ranges;     ///< address of an array of Range
  uint64_t alignment;  ///< out: required alignment of mappings
};
constexpr unsigned long ranges_request = _IO(';', 0x84);

struct Map {
  uint32_t size;
  uint32_t flags;
  uint32_t id;
  uint32_t reserved;
  uint64_t user_va;
  uint64_t bytes;
  uint64_t iova;
};
constexpr uint32_t map_fixed = 1;      ///< at `iova`
constexpr uint32_t map_writeable = 2;  ///< by the device
constexpr uint32_t map_readable = 4;   ///< by the device
constexpr unsigned long map_request = _IO(';', 0x85);

struct Unmap {
  uint32_t size;
  uint32_t id;
  uint64_t iova;
  uint64_t bytes;
};
constexpr unsigned long unmap_request = _IO(';', 0x86);

static_assert(sizeof(Bind) == 16 && offsetof(Bind, iommufd) == 8 && offsetof(Bind, out_devid) == 12, "kernel ABI");
static_assert(sizeof(Attach) == 12 && offsetof(Attach, pt_id) == 8 && sizeof(Detach) == 8, "kernel ABI");
static_assert(sizeof(Destroy) == 8 && offsetof(Destroy, id) == 4, "kernel ABI");
static_assert(sizeof(Allocate) == 12 && offsetof(Allocate, out_id) == 8, "kernel ABI");
static_assert(sizeof(Range) == 16 && sizeof(Ranges) == 32, "kernel ABI");
static_assert(offsetof(Ranges, count) == 8 && offsetof(Ranges, ranges) == 16 && offsetof(Ranges, alignment) == 24,
              "kernel ABI");
static_assert(sizeof(Map) == 40 && offsetof(Map, id) == 8 && offsetof(Map, user_va) == 16, "kernel ABI");
static_assert(offsetof(Map, bytes) == 24 && offsetof(Map, iova) == 32, "kernel ABI");
static_assert(sizeof(Unmap) == 24 && offsetof(Unmap, iova) == 8 && offsetof(Unmap, bytes) == 16, "kernel ABI");

}  // namespace host::iommufd

XIO_NAMESPACE_END
