// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Whether kernels that are linked with xio's bitcode read the handles that this program fills.

#include <algorithm>
#include <string>
#include <string_view>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Refuses kernels whose bitcode (xio/device/abi) is of another ABI of handles than this program. Their names of
/// symbols tell, in code objects, bundles, PTX and bitcode itself; compressed images tell nothing. Kernels that are
/// compiled with the headers have no such symbol. GpuModule calls it.
/// @param image anything that a GpuModule is made of, or bitcode
/// @throws Error with both numbers
inline void check_device_abi(const void* image, size_t bytes) {
  constexpr std::string_view name = "xio_device_abi_";
  const std::string_view all(static_cast<const char*>(image), bytes);
  for (size_t at = all.find(name); at != all.npos; at = all.find(name, at)) {
    at += name.size();
    const size_t end = std::min(all.find_first_not_of("0123456789", at), bytes);
    const std::string number(all.substr(at, end - at));
    if (!number.empty() && number != std::to_string(XIO_ABI_NUMBER))
      throw Error("these kernels are linked with bitcode of xio's ABI " + number + ", and this program has ABI " +
                  std::to_string(XIO_ABI_NUMBER) +
                  ": link them with libxio_device-<gpu>.bc of the version of xio that the program is compiled with");
  }
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
