// SPDX-License-Identifier: MIT
#include "tester/rdma/emulated.hpp"

namespace tester {

RdmaProvider mlx5_provider() { return emulated_provider<xio::emulation::Mlx5Kit<>>(); }

}  // namespace tester
