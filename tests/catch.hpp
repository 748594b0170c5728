// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Includes Catch2 of the installed major version: 2.13 is one header, 3 is a library.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

// The macros of Catch2 2.13 omit variadic arguments, which clang reports at their uses.
#if defined(__clang__)
#if __has_warning("-Wc++20-extensions")
#pragma clang diagnostic ignored "-Wc++20-extensions"
#endif
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
