// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Catch2, whichever major version is installed: 2.13 is one header, 3 is a library.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
