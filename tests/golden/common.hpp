// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What most sources of the golden tests include, to be compiled once.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "rdma_compare.hpp"
#include "rdma_drain.hpp"
#include "rdma_queue_poster.hpp"
