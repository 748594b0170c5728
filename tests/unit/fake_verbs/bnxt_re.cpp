// SPDX-License-Identifier: MIT

/// @file
/// @brief A libbnxt_re.so.1 that does what a test says.

#include "tables.hpp"

extern "C" {

fake_verbs::BnxtRe xio_fake_bnxt_re;

int bnxt_re_dv_get_default_db_region(ibv_context* context, void* out) {
  return xio_fake_bnxt_re.get_default_db_region(context, out);
}

}  // extern "C"
