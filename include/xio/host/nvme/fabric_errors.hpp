// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a target's refusals mean, and what to do about them. Needs no RDMA.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/host/nvme/fabric_options.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/nvme/status_names.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// The connection to a target was lost, or a command did not complete in time: nothing more goes through it.
/// FabricController::reconnect() makes a new one.
class FabricLost : public Error {
 public:
  using Error::Error;
};

namespace detail {

/// Text for the private data of a refused connection; empty if it is none of a target.
inline std::string rejection_text(const std::vector<uint8_t>& private_data) {
  nvme::fabrics::RdmaReject said{};
  if (private_data.size() < sizeof said) return {};
  std::memcpy(&said, private_data.data(), sizeof said);
  using nvme::fabrics::RdmaStatus;
  switch (static_cast<RdmaStatus>(said.status)) {
    case RdmaStatus::invalid_length: return "invalid length of the private data";
    case RdmaStatus::invalid_format: return "unknown format of the private data";
    case RdmaStatus::invalid_qid: return "invalid queue identifier";
    case RdmaStatus::invalid_send_entries: return "the queue has more entries than it accepts; ask for fewer";
    case RdmaStatus::invalid_receive_entries:
      return "more completions in flight than it accepts; ask for fewer entries";
    case RdmaStatus::no_resources: return "it has no resources left; end other connections, or ask for fewer entries";
    case RdmaStatus::invalid_reads_in_flight: return "invalid number of reads in flight (IRD)";
    case RdmaStatus::invalid_reads_to_peer: return "invalid number of reads to the peer (ORD)";
    case RdmaStatus::invalid_cntlid: return "it does not know the controller; connect the admin queue anew";
  }
  return "status " + to_hex(said.status, 4);
}

/// Parameter at a byte of Connect's data or capsule, with what to do about it.
inline std::string connect_parameter(nvme::fabrics::ConnectResult result, const FabricOptions& options) {
  using nvme::fabrics::ConnectData;
  if (result.in_data()) {
    switch (result.offset()) {
      case XIO_OFFSETOF(ConnectData, host_id): return "hostid; set another";
      case XIO_OFFSETOF(ConnectData, cntlid): return "the controller's identifier; connect the admin queue anew";
      case XIO_OFFSETOF(ConnectData, subsystem):
        return "nqn: it has no subsystem '" + printable(options.subsystem) + "' at this port; see its discovery log";
      case XIO_OFFSETOF(ConnectData, host): return "hostnqn '" + printable(options.host_name) + "'";
      default: break;
    }
  } else {
    if (result.offset() == 42) return "the queue's identifier; ask for fewer queues";
    if (result.offset() == 44) return "the queue's size; ask for fewer entries";
    if (result.offset() == 48) return "keep_alive_tmo; set another";
  }
  return "byte " + std::to_string(result.offset()) + " of its " + (result.in_data() ? "data" : "capsule");
}

/// Throws Error unless Connect succeeded, and the controller may be used without authentication.
inline void check_connect(const AdminResult& result, const FabricOptions& options) {
  const nvme::fabrics::ConnectResult answer{result.dw0};
  const std::string who = "fabrics: " + options.address + " port " + options.service;
  if (result.status.is_ok()) {
    if (answer.secure_channel())
      throw Error(who + " demands authentication and TLS, which xio does not have; let it accept this host without");
    if (answer.authentication())
      throw Error(who +
                  " demands authentication (DH-HMAC-CHAP), which xio does not have; let it accept this host without"
                  " (Linux: empty dhchap_key of the host)");
    return;
  }
  switch (result.status.vendor & 0x7ffu) {
    case nvme::fabrics::sc::incompatible_format: throw Error(who + " does not know this format of Connect");
    case nvme::fabrics::sc::controller_busy: throw Error(who + ": the controller is busy; connect again later");
    case nvme::fabrics::sc::invalid_parameters:
      throw Error(who + " does not accept " + connect_parameter(answer, options));
    case nvme::fabrics::sc::restart_discovery: throw Error(who + ": the subsystem has moved; read the discovery log");
    case nvme::fabrics::sc::invalid_host:
      throw Error(who + " does not accept the host '" + printable(options.host_name) +
                  "'; allow it there (Linux: allowed_hosts, or attr_allow_any_host of the subsystem), or set hostnqn");
    case nvme::sc::authentication_required:
      throw Error(who + " demands authentication (DH-HMAC-CHAP), which xio does not have");
    default: break;
  }
  throw Error(who + " refused Connect: " + nvme::status_name(result.status.vendor) + " (status " +
              to_hex(result.status.vendor & 0x7ffu, 3) + ")");
}

/// Data of Connect.
inline nvme::fabrics::ConnectData connect_data(const FabricOptions& options, uint16_t cntlid) {
  nvme::fabrics::ConnectData data{};
  const HostId id = parse_uuid(options.host_id);
  std::memcpy(data.host_id, id.data(), id.size());
  data.cntlid = cntlid;
  std::memcpy(data.subsystem, options.subsystem.data(), options.subsystem.size());
  std::memcpy(data.host, options.host_name.data(), options.host_name.size());
  return data;
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
