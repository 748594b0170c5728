// SPDX-License-Identifier: MIT
// Which vendors' files can be replayed: one line each.

#include "golden.hpp"
#include "nvme.hpp"

namespace golden {

namespace {

struct Entry {
  const char* vendor;
  Handler handler;
};

constexpr Entry entries[] = {
    {"nvme", nvme::replay_file},
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
