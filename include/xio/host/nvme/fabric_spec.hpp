// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The command-line form of FabricOptions.

#include <chrono>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/nvme/fabric_options.hpp>
#include <xio/host/spec.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Parses `fabrics:traddr=ADDRESS,nqn=NAME[,key=value,...]`. Keys: trsvcid, host_traddr, hostnqn, hostid, queues,
/// keep_alive_tmo (seconds). Throws Error for anything else.
inline FabricOptions parse_fabric_spec(const std::string& spec) {
  const std::string kind = "fabrics:";
  if (spec.compare(0, kind.size(), kind) != 0)
    throw Error("fabrics: '" + spec + "' is not of the form fabrics:traddr=ADDRESS,nqn=NAME[,key=value,...]");
  FabricOptions options;
  detail::parse_keys(
      "fabrics", spec, spec.substr(kind.size()), "", [&](const std::string& key, const std::string& value) {
        if (key == "traddr") {
          options.address = value;
        } else if (key == "trsvcid") {
          options.service = value;
        } else if (key == "nqn") {
          options.subsystem = value;
        } else if (key == "host_traddr") {
          options.local_address = value;
        } else if (key == "hostnqn") {
          options.host_name = value;
        } else if (key == "hostid") {
          options.host_id = value;
        } else if (key == "queues") {
          options.queues = static_cast<uint32_t>(detail::spec_number("fabrics", key, value, 1, 65535));
        } else if (key == "keep_alive_tmo") {
          options.keep_alive = std::chrono::seconds(detail::spec_number("fabrics", key, value, 0, 86400));
        } else {
          for (const char* const unsupported : {"dhchap_secret", "dhchap_ctrl_secret", "tls"})
            if (key == unsupported)
              throw Error(
                  "fabrics: " + key +
                  " is not supported: xio has neither DH-HMAC-CHAP nor TLS; let the target accept this host without");
          throw Error("fabrics: unknown key '" + key +
                      "'; known: traddr, trsvcid, nqn, host_traddr, hostnqn, hostid, queues, keep_alive_tmo");
        }
      });
  return detail::complete(options);
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
