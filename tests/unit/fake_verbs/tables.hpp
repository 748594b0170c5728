// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Libraries of verbs that do what a test says: each forwards its functions to the pointers of a table, which
/// the test finds under the table's name and fills in. Functions that a test leaves null are not to be called.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct ibv_ah;
struct ibv_async_event;
struct ibv_context;
struct ibv_cq;
struct ibv_device;
struct ibv_mr;
struct ibv_pd;
struct ibv_port_attr;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_qp_init_attr;
struct ibv_qp_init_attr_ex;
struct mlx5dv_obj;
struct mlx5dv_qp_init_attr;

namespace fake_verbs {

/// libibverbs.so.1: `xio_fake_ibverbs`.
struct Ibverbs {
  ibv_device** (*get_device_list)(int* count);
  const char* (*get_device_name)(ibv_device*);
  ibv_context* (*open_device)(ibv_device*);
  int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*);
  ssize_t (*query_gid_table)(ibv_context*, void* entries, size_t room);
  ibv_pd* (*alloc_pd)(ibv_context*);
  ibv_mr* (*reg_mr)(ibv_pd*, void* data, size_t bytes);
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access);
  ibv_cq* (*create_cq)(ibv_context*, int entries);
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*);
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int mask);
  int (*query_qp)(ibv_qp*, ibv_qp_attr*, int mask, ibv_qp_init_attr*);
  int (*destroyed)(const char* what);  ///< told of each object that goes
};

/// libmlx5.so.1: `xio_fake_mlx5`.
struct Mlx5 {
  int (*init_obj)(mlx5dv_obj*, uint64_t types);
  bool (*is_supported)(ibv_device*);
  ibv_qp* (*create_qp)(ibv_context*, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*);
};

/// librdmacm.so.1: `xio_fake_rdmacm`.
struct Rdmacm {
  ibv_context* device;  ///< reaches every address
  const void* answer;   ///< private data with which every peer accepts
  uint8_t answer_bytes;
  uint32_t disconnected;
};

/// libionic.so.1: `xio_fake_ionic`.
struct Ionic {
  bool (*is_qp)(ibv_qp*);
  int (*get_ctx)(void* out, ibv_context*);
  int (*get_qp)(void* out, ibv_qp*);
  int (*get_cq)(void* out, ibv_cq*, uint8_t pipeline);
  uint8_t (*get_udma_idx)(ibv_qp*);
  int (*send_doorbell)(ibv_qp*, uint64_t*);
  int (*receive_doorbell)(ibv_qp*, uint64_t*);
};

/// libbnxt_re.so.1: `xio_fake_bnxt_re`.
struct BnxtRe {
  int (*get_default_db_region)(ibv_context*, void* out);
};

}  // namespace fake_verbs
