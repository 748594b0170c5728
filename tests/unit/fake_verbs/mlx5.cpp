// SPDX-License-Identifier: MIT

/// @file
/// @brief A libmlx5.so.1 that does what a test says.

#include "tables.hpp"

extern "C" {

fake_verbs::Mlx5 xio_fake_mlx5;

int mlx5dv_init_obj(mlx5dv_obj* object, uint64_t types) { return xio_fake_mlx5.init_obj(object, types); }
bool mlx5dv_is_supported(ibv_device* device) { return xio_fake_mlx5.is_supported(device); }
ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* wanted, mlx5dv_qp_init_attr* direct) {
  return xio_fake_mlx5.create_qp(context, wanted, direct);
}

}  // extern "C"
