// SPDX-License-Identifier: MIT
// Which vendors' files can be replayed: each vendor's source registers itself.

#include <map>

#include "golden.hpp"
#include "nvme.hpp"

namespace golden {

namespace {

std::map<std::string, Handler>& handlers() {
  static std::map<std::string, Handler> all{{"nvme", nvme::replay_file}};
  return all;
}

}  // namespace

Registered::Registered(const char* vendor, Handler handler) { handlers()[vendor] = handler; }

Handler find_handler(const std::string& vendor) {
  const auto found = handlers().find(vendor);
  return found != handlers().end() ? found->second : nullptr;
}

std::string known_vendors() {
  std::string names;
  for (const auto& [vendor, handler] : handlers()) names += (names.empty() ? "" : ", ") + vendor;
  return names;
}

}  // namespace golden
