// SPDX-License-Identifier: MIT
#include "tester/rdma/emulated.hpp"

namespace tester {

RdmaProvider rxe_provider() { return emulated_provider<xio::emulation::RxeKit<>>(); }

}  // namespace tester
