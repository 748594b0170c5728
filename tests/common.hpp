// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What most tests include, for the compiler to read once. Sources include what they use all the same.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/simt/simt.hpp>
#include <xio/xio.hpp>

#include "catch.hpp"
