// SPDX-License-Identifier: MIT
#include "tester/rdma/emulated.hpp"

namespace tester {

RdmaProvider ionic_provider() { return emulated_provider<xio::emulation::IonicKit<>>(); }

}  // namespace tester
