#pragma once
#include <string>
namespace machine_tests {
inline std::string unneeded(const std::string&, const std::string&, const std::string&, const std::string&) { return ""; }
}
