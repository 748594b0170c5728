// SPDX-License-Identifier: MIT
// Which vendors' files can be replayed: one line each.

#include "golden.hpp"
#include "nvme.hpp"
#include "rdma_vendors.hpp"

namespace golden {

namespace {

struct Entry {
  const char* vendor;
  Handler handler;
};

constexpr Entry entries[] = {
    {"nvme", nvme::replay_file},
    {"mlx5", rdma::replay_mlx5},
    {"bnxt_re", rdma::replay_bnxt},
    {"ionic", rdma::replay_ionic},
    {"ernic (PVRDMA wire ABI)", rdma::replay_ernic},
};

}  // namespace

Handler find_handler(const std::string& vendor) {
  for (const Entry& entry : entries) {
    if (vendor == entry.vendor) return entry.handler;
  }
  return nullptr;
}

std::string known_vendors() {
  std::string names;
  for (const Entry& entry : entries) names += (names.empty() ? "" : ", ") + std::string(entry.vendor);
  return names;
}

}  // namespace golden
