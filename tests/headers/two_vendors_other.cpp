// SPDX-License-Identifier: MIT

/// @file
/// @brief The second source of the program.

#include "headers/two_vendors.hpp"

std::vector<std::string> exchange_all_elsewhere() { return two_vendors::exchange_all(); }

std::string (*mlx5_exchange_elsewhere())() { return &two_vendors::exchange<xio::emulation::Mlx5Kit<>>; }
