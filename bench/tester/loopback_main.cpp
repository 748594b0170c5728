// SPDX-License-Identifier: MIT
/// @file
/// @brief test-rdma-loopback: another name of `xio-tester rdma-ep --loopback`.

#include <vector>

#include "tester/tool.hpp"

int main(int argc, char** argv) {
  std::vector<const char*> all{"xio-tester", "rdma-ep", "--loopback"};
  all.insert(all.end(), argv + (argc > 0 ? 1 : 0), argv + argc);
  return tester::run_tool(static_cast<int>(all.size()), all.data());
}
