// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Precompiled header of most tests. Sources nevertheless include what they use.

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
