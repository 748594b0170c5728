// SPDX-License-Identifier: MIT
#include "tester/cli/errors.hpp"
#include "tester/rdma/link.hpp"

namespace tester {

RdmaProvider find_rdma_provider(const std::string& name) {
  std::string known;
  for (const auto& make : {mlx5_provider, bnxt_provider, ionic_provider, ernic_provider, rxe_provider}) {
    RdmaProvider provider = make();
    if (provider.name == name) return provider;
    known += (known.empty() ? "" : "|") + provider.name;
  }
  throw BadInput("--provider: " + name + " is not accepted; " + known + " is");
}

}  // namespace tester
