// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Which NVMe over Fabrics subsystem to connect to, and as whom.

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/files.hpp>
#include <xio/vendors/nvme/fabrics.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// A host identifier: a UUID, in the order of its text.
using HostId = std::array<uint8_t, 16>;

/// A subsystem behind RDMA, and how to connect to it. The names are those of nvme-cli and /dev/nvme-fabrics.
struct FabricOptions {
  std::string address;          ///< `traddr`: numeric IPv4 or IPv6 address of the target
  std::string service;          ///< `trsvcid`: its port; empty: 4420
  std::string subsystem;        ///< `nqn`: name of the subsystem
  std::string local_address;    ///< `host_traddr`: address of this machine to connect from; empty: as the routes say
  std::string host_name;        ///< `hostnqn`: empty: /etc/nvme/hostnqn, or one made of `host_id`
  std::string host_id;          ///< `hostid`: a UUID; empty: /etc/nvme/hostid, or a random one
  uint32_t queues = 16;         ///< `queues`: I/O queues to ask for, 1 to 65535
  uint32_t admin_entries = 32;  ///< of the admin queue, 2 to 32
  /// `keep_alive_tmo`, here in milliseconds: the target gives up this host after as long a silence; 0: never.
  std::chrono::milliseconds keep_alive{30000};
  std::chrono::milliseconds connect_limit{10000};  ///< for each connection
  std::chrono::milliseconds command_limit{10000};  ///< for each admin command
};

namespace detail {

/// Parses a UUID: 32 hexadecimal digits, with or without hyphens. Throws Error for anything else.
inline HostId parse_uuid(const std::string& text) {
  const std::string known = "0123456789abcdef0123456789ABCDEF";
  HostId id{};
  size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const size_t value = known.find(c);
    if (value == std::string::npos || digits == 2 * id.size()) {
      digits = 0;
      break;
    }
    id[digits / 2] = static_cast<uint8_t>(id[digits / 2] * 16u + value % 16);
    ++digits;
  }
  if (digits != 2 * id.size()) throw Error("fabrics: '" + text + "' is not a UUID, as a host identifier must be");
  return id;
}

inline std::string uuid_text(const HostId& id) {
  std::string text;
  for (size_t i = 0; i < id.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    for (const unsigned digit : {id[i] / 16u, id[i] % 16u}) text += "0123456789abcdef"[digit];
  }
  return text;
}

/// A random UUID (version 4).
inline HostId random_uuid() {
  HostId id{};
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) throw_system_error("getrandom", errno);
  id[6] = static_cast<uint8_t>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<uint8_t>((id[8] & 0x3f) | 0x80);
  return id;
}

/// Fills in what the options leave to the machine, and checks the rest.
/// @param folder  of the files hostnqn and hostid
inline FabricOptions complete(FabricOptions options, const std::string& folder = "/etc/nvme") {
  const auto check_name = [](const char* key, const std::string& name) {
    if (name.empty()) throw Error(std::string("fabrics: ") + key + " is missing");
    if (name.size() > nvme::fabrics::longest_nqn)
      throw Error(std::string("fabrics: ") + key + " has " + std::to_string(name.size()) +
                  " bytes; a name has at most " + std::to_string(nvme::fabrics::longest_nqn));
  };
  if (options.address.empty()) throw Error("fabrics: traddr is missing: the numeric address of the target");
  check_name("nqn", options.subsystem);
  if (options.service.empty()) options.service = std::to_string(nvme::fabrics::rdma_port);
  // A target may refuse a name that it has seen with another identifier: a pair of files, or a pair of our own.
  if (options.host_id.empty() && options.host_name.empty()) {
    options.host_id = first_word(folder + "/hostid");
    options.host_name = first_word(folder + "/hostnqn");
  }
  options.host_id = uuid_text(options.host_id.empty() ? random_uuid() : parse_uuid(options.host_id));
  if (options.host_name.empty()) options.host_name = "nqn.2014-08.org.nvmexpress:uuid:" + options.host_id;
  check_name("hostnqn", options.host_name);
  if (options.admin_entries < 2 || options.admin_entries > nvme::fabrics::most_admin_entries)
    throw Error("fabrics: admin_entries is " + std::to_string(options.admin_entries) + "; use 2 to " +
                std::to_string(nvme::fabrics::most_admin_entries));
  if (options.keep_alive.count() < 0 || options.keep_alive.count() > 0xffffffff)
    throw Error("fabrics: keep_alive is " + std::to_string(options.keep_alive.count()) + " ms; use 0 to 4294967295");
  if (options.queues < 1 || options.queues > 65535)
    throw Error("fabrics: queues is " + std::to_string(options.queues) + "; use 1 to 65535");
  return options;
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
