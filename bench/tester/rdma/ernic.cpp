// SPDX-License-Identifier: MIT
#include "tester/rdma/emulated.hpp"

namespace tester {

RdmaProvider ernic_provider() { return emulated_provider<xio::emulation::ErnicKit>(); }

}  // namespace tester
