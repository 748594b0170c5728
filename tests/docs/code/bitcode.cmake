# SPDX-License-Identifier: MIT
# docs/bitcode.md
cmake_minimum_required(VERSION 3.25)
project(shown LANGUAGES CXX)
# block 1
