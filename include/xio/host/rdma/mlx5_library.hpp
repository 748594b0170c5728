// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief libmlx5, loaded when it is first needed. Empty if the compiler does not find its header (Debian:
/// libibverbs-dev).

#include <xio/config.hpp>

#if __has_include(<infiniband/mlx5dv.h>)

#include <infiniband/mlx5dv.h>

#include <string>

#include <xio/host/linux/shared_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// The functions of libmlx5 that set-up uses, named without `mlx5dv_`.
class Mlx5Library {
 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit Mlx5Library(const std::string& file = "libmlx5.so.1") {
    const SharedLibrary library({file}, "install libmlx5 of rdma-core 32 or later (Debian: ibverbs-providers)");
    library.find(init_obj, "mlx5dv_init_obj");
    library.find(is_supported, "mlx5dv_is_supported");
    library.find(create_qp, "mlx5dv_create_qp");
  }
  Mlx5Library(const Mlx5Library&) = delete;
  Mlx5Library& operator=(const Mlx5Library&) = delete;

  decltype(&::mlx5dv_init_obj) init_obj = nullptr;
  decltype(&::mlx5dv_is_supported) is_supported = nullptr;
  decltype(&::mlx5dv_create_qp) create_qp = nullptr;
};

/// Returns the library, loaded by the first call that finds it; throws Error if it cannot be loaded.
inline const Mlx5Library& mlx5_library() {
  static const Mlx5Library library;
  return library;
}

}  // namespace host

XIO_NAMESPACE_END

#endif
