// SPDX-License-Identifier: MIT
#include "tester/rdma/emulated.hpp"

namespace tester {

RdmaProvider bnxt_provider() { return emulated_provider<xio::emulation::BnxtKit<>>(); }

}  // namespace tester
