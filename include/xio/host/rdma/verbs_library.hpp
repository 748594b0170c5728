// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief libibverbs, loaded when it is first needed. Empty if the compiler does not find its header (Debian:
/// libibverbs-dev).

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <infiniband/verbs.h>

#include <string>

#include <xio/host/linux/shared_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// The functions of libibverbs that set-up uses, named without `ibv_`.
///
/// A program that includes this header links without the library, and also starts without it.
class VerbsLibrary {
 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit VerbsLibrary(const std::string& file = "libibverbs.so.1") {
    const SharedLibrary library(
        {file}, "install libibverbs of rdma-core 32 or later (Debian: libibverbs1 and ibverbs-providers)");
    library.find(get_device_list, "ibv_get_device_list");
    library.find(free_device_list, "ibv_free_device_list");
    library.find(get_device_name, "ibv_get_device_name");
    library.find(open_device, "ibv_open_device");
    library.find(close_device, "ibv_close_device");
    library.find(query_port, "ibv_query_port");
    library.find(query_gid_table, "_ibv_query_gid_table");
    library.find(alloc_pd, "ibv_alloc_pd");
    library.find(dealloc_pd, "ibv_dealloc_pd");
    library.find(reg_mr, "ibv_reg_mr");
    library.find_optional(reg_dmabuf_mr, "ibv_reg_dmabuf_mr");
    library.find(dereg_mr, "ibv_dereg_mr");
    library.find(create_cq, "ibv_create_cq");
    library.find(destroy_cq, "ibv_destroy_cq");
    library.find(create_qp, "ibv_create_qp");
    library.find(modify_qp, "ibv_modify_qp");
    library.find(query_qp, "ibv_query_qp");
    library.find(destroy_qp, "ibv_destroy_qp");
    library.find(get_async_event, "ibv_get_async_event");
    library.find(ack_async_event, "ibv_ack_async_event");
    library.find(event_type_str, "ibv_event_type_str");
  }
  VerbsLibrary(const VerbsLibrary&) = delete;
  VerbsLibrary& operator=(const VerbsLibrary&) = delete;

  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  /// Does not write the fields that newer versions appended to the struct: zero it before.
  int (*query_port)(ibv_context*, uint8_t port, ibv_port_attr*) = nullptr;
  /// Returns the number of entries filled in, or a negative errno.
  ssize_t (*query_gid_table)(ibv_context*, ibv_gid_entry*, size_t room, uint32_t flags, size_t entry_bytes) = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void* data, size_t bytes, int access) = nullptr;
  /// Null in versions before 34.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access) = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_query_qp) query_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_get_async_event) get_async_event = nullptr;
  decltype(&::ibv_ack_async_event) ack_async_event = nullptr;
  decltype(&::ibv_event_type_str) event_type_str = nullptr;
};

/// Returns the library, loaded by the first call; throws Error if it cannot be loaded.
inline const VerbsLibrary& verbs() {
  static const VerbsLibrary library;
  return library;
}

}  // namespace host

XIO_NAMESPACE_END

#endif
