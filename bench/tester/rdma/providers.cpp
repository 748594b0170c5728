// SPDX-License-Identifier: MIT
#include "each_vendor.hpp"

#include "tester/cli/errors.hpp"
#include "tester/rdma/emulated.hpp"

namespace tester {

namespace {

#define NAME(name, Vendor) #name,
#define PROVIDER(name, Vendor) emulated_provider<xio::emulation::KitOf<Vendor>::type>,
const std::vector<std::string> names{XIO_EACH_VENDOR(NAME)};
RdmaProvider (*const providers[])() = {XIO_EACH_VENDOR(PROVIDER)};

}  // namespace

std::vector<std::string> rdma_provider_names() { return names; }

RdmaProvider find_rdma_provider(const std::string& name) {
  std::string known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return providers[i]();
    known += (known.empty() ? "" : "|") + names[i];
  }
  throw BadInput("--provider: " + name + " is not accepted; " + known + " is");
}

}  // namespace tester
