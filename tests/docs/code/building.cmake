# SPDX-License-Identifier: MIT
# docs/building.md
cmake_minimum_required(VERSION 3.25)
project(shown LANGUAGES CXX)
foreach(name my_kernels my_program my_tests)
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp "int main() {}\n")
  add_executable(${name} ${PROJECT_BINARY_DIR}/${name}.cpp)
endforeach()
# block 1
