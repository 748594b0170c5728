// SPDX-License-Identifier: MIT
#include "tester/tool.hpp"

int main(int argc, char** argv) { return tester::run_tool(argc, argv); }
