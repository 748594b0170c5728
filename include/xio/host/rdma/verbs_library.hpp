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
/// @addtogroup host_rdma
/// @{

/// The functions of libibverbs that set-up uses, named without `ibv_`.
///
/// A program that includes this header links without the library, and also starts without it.
class VerbsLibrary {
  // First: the functions are found in it.
  const SharedLibrary library_;

 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit VerbsLibrary(const std::string& file = "libibverbs.so.1")
      : library_({file}, "install libibverbs of rdma-core 32 or later (Debian: libibverbs1 and ibverbs-providers)") {}
  VerbsLibrary(const VerbsLibrary&) = delete;
  VerbsLibrary& operator=(const VerbsLibrary&) = delete;

  decltype(&::ibv_get_device_list) get_device_list = library_.find("ibv_get_device_list");
  decltype(&::ibv_free_device_list) free_device_list = library_.find("ibv_free_device_list");
  decltype(&::ibv_get_device_name) get_device_name = library_.find("ibv_get_device_name");
  decltype(&::ibv_open_device) open_device = library_.find("ibv_open_device");
  decltype(&::ibv_close_device) close_device = library_.find("ibv_close_device");
  /// Does not write the fields that newer versions appended to the struct: zero it before.
  int (*query_port)(ibv_context*, uint8_t port, ibv_port_attr*) = library_.find("ibv_query_port");
  /// Returns the number of entries filled in, or a negative errno.
  ssize_t (*query_gid_table)(ibv_context*, ibv_gid_entry*, size_t room, uint32_t flags,
                             size_t entry_bytes) = library_.find("_ibv_query_gid_table");
  decltype(&::ibv_alloc_pd) alloc_pd = library_.find("ibv_alloc_pd");
  decltype(&::ibv_dealloc_pd) dealloc_pd = library_.find("ibv_dealloc_pd");
  ibv_mr* (*reg_mr)(ibv_pd*, void* data, size_t bytes, int access) = library_.find("ibv_reg_mr");
  /// Null in versions before 34.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t offset, size_t bytes, uint64_t iova, int fd,
                           int access) = library_.find_optional("ibv_reg_dmabuf_mr");
  decltype(&::ibv_dereg_mr) dereg_mr = library_.find("ibv_dereg_mr");
  decltype(&::ibv_create_cq) create_cq = library_.find("ibv_create_cq");
  decltype(&::ibv_destroy_cq) destroy_cq = library_.find("ibv_destroy_cq");
  decltype(&::ibv_create_qp) create_qp = library_.find("ibv_create_qp");
  decltype(&::ibv_modify_qp) modify_qp = library_.find("ibv_modify_qp");
  decltype(&::ibv_query_qp) query_qp = library_.find("ibv_query_qp");
  decltype(&::ibv_destroy_qp) destroy_qp = library_.find("ibv_destroy_qp");
  decltype(&::ibv_get_async_event) get_async_event = library_.find("ibv_get_async_event");
  decltype(&::ibv_ack_async_event) ack_async_event = library_.find("ibv_ack_async_event");
  decltype(&::ibv_event_type_str) event_type_str = library_.find("ibv_event_type_str");
};

/// Returns the library, loaded by the first call; throws Error if it cannot be loaded.
inline const VerbsLibrary& verbs() {
  static const VerbsLibrary library;
  return library;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
