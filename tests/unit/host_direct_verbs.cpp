// SPDX-License-Identifier: MIT

/// @file
/// @brief The libraries of direct verbs that this machine has, as far as they can be asked without a NIC.

#include <xio/host/rdma/bnxt.hpp>
#include <xio/host/rdma/ionic.hpp>
#include <xio/host/rdma/mlx5.hpp>

#include <dlfcn.h>

#include <cerrno>
#include <vector>

#include "catch.hpp"
#include "skip.hpp"
#include "unit/host_support.hpp"

using host_tests::contains;
using host_tests::error_of;

namespace {

bool is_installed(const char* library) { return ::dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr; }

}  // namespace

TEST_CASE("the installed libmlx5 has the calls, and knows its devices from others", "[host][rdma]") {
  if (!is_installed("libmlx5.so.1")) return xio_tests::skip("libmlx5 is not installed (Debian: ibverbs-providers)");
  const xio::host::Mlx5Library& library = xio::host::mlx5_library();
  // A device begins what its provider keeps behind it: nothing that libmlx5 has made.
  std::vector<unsigned char> nobodys(4096);
  ibv_context context{};
  context.device = reinterpret_cast<ibv_device*>(nobodys.data());
  CHECK_FALSE(library.is_supported(context.device));
  ibv_qp qp{};
  qp.context = &context;
  mlx5dv_qp found{};
  mlx5dv_obj object{};
  object.qp.in = &qp;
  object.qp.out = &found;
  CHECK(library.init_obj(&object, MLX5DV_OBJ_QP) == EOPNOTSUPP);
}

TEST_CASE("libionic and libbnxt_re are usable, or what is missing is said", "[host][rdma]") {
  const std::string ionic = error_of([] { xio::host::IonicLibrary library; });
  if (!ionic.empty())
    CHECK(contains(ionic, "a libionic with ionic_dv_get_qp() is needed (AMD's; rdma-core 65 has none)"));
  const std::string bnxt = error_of([] { xio::host::BnxtLibrary library; });
  if (!bnxt.empty()) CHECK(contains(bnxt, "a libbnxt_re with direct verbs is needed (Debian's provider has none)"));
}

TEST_CASE("where there are no verbs, the message says what to install", "[host][rdma]") {
  const std::string why = error_of([] { xio::host::VerbsLibrary("libibverbs-that-is-not-here.so.1"); });
  CHECK(contains(why, "cannot load a library: libibverbs-that-is-not-here.so.1"));
  CHECK(contains(why, "install libibverbs of rdma-core 32 or later (Debian: libibverbs1 and ibverbs-providers)"));
}
