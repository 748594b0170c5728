// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief librdmacm, loaded when it is first needed. Empty if the compiler does not find its header (Debian:
/// librdmacm-dev).

#include <xio/config.hpp>

#if __has_include(<rdma/rdma_cma.h>)

#include <rdma/rdma_cma.h>

#include <string>

#include <xio/host/linux/shared_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// The functions of librdmacm that connections use, named without `rdma_`.
///
/// A program that includes this header links without the library, and also starts without it.
class RdmaCmLibrary {
  // First: the functions are found in it.
  const SharedLibrary library_;

 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit RdmaCmLibrary(const std::string& file = "librdmacm.so.1")
      : library_({file}, "install librdmacm of rdma-core 32 or later (Debian: librdmacm1)") {}
  RdmaCmLibrary(const RdmaCmLibrary&) = delete;
  RdmaCmLibrary& operator=(const RdmaCmLibrary&) = delete;

  decltype(&::rdma_create_event_channel) create_event_channel = library_.find("rdma_create_event_channel");
  decltype(&::rdma_destroy_event_channel) destroy_event_channel = library_.find("rdma_destroy_event_channel");
  decltype(&::rdma_create_id) create_id = library_.find("rdma_create_id");
  decltype(&::rdma_destroy_id) destroy_id = library_.find("rdma_destroy_id");
  decltype(&::rdma_resolve_addr) resolve_addr = library_.find("rdma_resolve_addr");
  decltype(&::rdma_resolve_route) resolve_route = library_.find("rdma_resolve_route");
  decltype(&::rdma_init_qp_attr) init_qp_attr = library_.find("rdma_init_qp_attr");
  decltype(&::rdma_connect) connect = library_.find("rdma_connect");
  decltype(&::rdma_establish) establish = library_.find("rdma_establish");
  decltype(&::rdma_disconnect) disconnect = library_.find("rdma_disconnect");
  decltype(&::rdma_get_cm_event) get_cm_event = library_.find("rdma_get_cm_event");
  decltype(&::rdma_ack_cm_event) ack_cm_event = library_.find("rdma_ack_cm_event");
  decltype(&::rdma_event_str) event_str = library_.find("rdma_event_str");
};

/// Returns the library, loaded by the first call; throws Error if it cannot be loaded.
inline const RdmaCmLibrary& rdma_cm() {
  static const RdmaCmLibrary library;
  return library;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
