// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVMe over Fabrics: its commands, their data, and what an RDMA connection carries (NVM Express Base
/// Specification 2.0, sections 3.3, 5.16.1.21 and 6; RDMA Transport Specification 1.0, section 3).
///
/// A command travels as a capsule of the 64 bytes of its entry, a completion as one of 16 bytes. Everything is
/// little-endian.

#include <xio/config.hpp>
#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/sgl.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme::fabrics {
/// @addtogroup vendors_nvme
/// @{

/// Command type (FCTYPE): byte 4 of a command of opcode 7Fh.
enum class CommandType : uint8_t {
  property_set = 0x00,
  connect = 0x01,
  property_get = 0x04,
  authentication_send = 0x05,
  authentication_receive = 0x06,
  disconnect = 0x08,
};

constexpr uint32_t nqn_field_bytes = 256;     ///< bytes of a field with a name (NQN)
constexpr uint32_t longest_nqn = 223;         ///< bytes of a name, without the zero at its end
constexpr uint32_t most_admin_entries = 32;   ///< entries of an admin queue that every controller accepts
constexpr uint16_t rdma_port = 4420;          ///< port of RDMA targets, unless they say otherwise
constexpr uint16_t any_controller = 0xffff;   ///< ConnectData::cntlid: the subsystem chooses (dynamic controllers)
constexpr uint32_t largest_keyed = 0xffffff;  ///< bytes of one keyed data block
/// Name of every discovery subsystem.
constexpr const char* discovery_nqn = "nqn.2014-08.org.nvmexpress.discovery";

/// Data pointer of a command without data: fabrics have no PRPs, so that this is an SGL, too.
XIO_DEVICE constexpr DataPointer no_data() { return sgl_keyed_data_block(0, 0, 0); }

/// Parameters of connect().
struct ConnectRequest {
  uint32_t qid = 0;            ///< 0: the admin queue
  uint32_t entries = 32;       ///< of the submission queue, 2 to 65536
  uint32_t keep_alive_ms = 0;  ///< admin queue: the controller gives up a host that is silent for longer; 0: never
  /// CATTR: priority 1:0; bit 2: completions do not carry the head of the submission queue.
  uint32_t attributes = 0;
};

/// The first command of a queue. Its data is a ConnectData.
XIO_DEVICE constexpr Command connect(const ConnectRequest& request) {
  return command(AdminOpcode::fabrics)
      .nsid(static_cast<uint32_t>(CommandType::connect))
      .dword(10, request.qid << 16)
      .dword(11, (request.attributes & 0xff) << 16 | ((request.entries - 1) & 0xffff))
      .dword(12, request.keep_alive_ms)
      .moves(1024)
      .of_set(CommandSet::every);
}

/// Reads a property: 4 bytes, or 8 of properties that have as many. `offset` is that of the register of its name
/// (namespace reg). The value is in dw0 and dw1 of the completion.
XIO_DEVICE constexpr Command property_get(uint64_t offset, bool eight_bytes) {
  return command(AdminOpcode::fabrics)
      .nsid(static_cast<uint32_t>(CommandType::property_get))
      .dword(10, eight_bytes ? 1 : 0)
      .dword(11, static_cast<uint32_t>(offset))
      .moves(0);
}
/// Writes a property: CC, or NSSR.
XIO_DEVICE constexpr Command property_set(uint64_t offset, uint64_t value, bool eight_bytes) {
  return command(AdminOpcode::fabrics)
      .nsid(static_cast<uint32_t>(CommandType::property_set))
      .dword(10, eight_bytes ? 1 : 0)
      .dword(11, static_cast<uint32_t>(offset))
      .dword(12, static_cast<uint32_t>(value))
      .dword(13, static_cast<uint32_t>(value >> 32))
      .moves(0);
}
/// The last command of an I/O queue; for controllers that support it (IdentifyFabrics::ofcs).
XIO_DEVICE constexpr Command disconnect() {
  return command(AdminOpcode::fabrics)
      .nsid(static_cast<uint32_t>(CommandType::disconnect))
      .dword(10, 0)
      .moves(0)
      .of_set(CommandSet::every);
}

/// Data of Connect.
struct alignas(8) ConnectData {
  uint8_t host_id[16];              ///< equal for all queues of a host
  uint16_t cntlid;                  ///< admin queue: any_controller; I/O queue: that of its admin queue
  uint8_t reserved0[238];           ///< zero
  char subsystem[nqn_field_bytes];  ///< name of the subsystem, filled with zeros
  char host[nqn_field_bytes];       ///< name of the host, filled with zeros
  uint8_t reserved1[256];           ///< zero
};
static_assert(sizeof(ConnectData) == 1024, "the data of Connect has 1024 bytes");
static_assert(XIO_OFFSETOF(ConnectData, cntlid) == 16 && XIO_OFFSETOF(ConnectData, subsystem) == 256 &&
                  XIO_OFFSETOF(ConnectData, host) == 512,
              "offsets as in the specification");

/// Dword 0 of Connect's completion.
struct ConnectResult {
  uint32_t raw;

  /// Of a success: the controller's identifier.
  XIO_HOST_DEVICE constexpr uint16_t cntlid() const { return static_cast<uint16_t>(raw); }
  /// Of a success: the controller wants authentication in band (DH-HMAC-CHAP) before any other command.
  XIO_HOST_DEVICE constexpr bool authentication() const { return (raw >> 17 & 1) != 0; }
  /// Of a success: and a secure channel (TLS) made of it.
  XIO_HOST_DEVICE constexpr bool secure_channel() const { return (raw >> 18 & 1) != 0; }
  /// Of "invalid parameters": byte of the parameter, in the data if in_data(), else in the capsule.
  XIO_HOST_DEVICE constexpr uint32_t offset() const { return raw & 0xffff; }
  XIO_HOST_DEVICE constexpr bool in_data() const { return (raw >> 16 & 1) != 0; }
};

/// Status codes of Connect, as those of namespace nvme::sc: for other commands their values mean something else.
namespace sc {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t incompatible_format = 0x180;
constexpr uint32_t controller_busy = 0x181;
constexpr uint32_t invalid_parameters = 0x182;
constexpr uint32_t restart_discovery = 0x183;
constexpr uint32_t invalid_host = 0x184;
/// @}
}  // namespace sc

/// Identify Controller: fields of controllers on fabrics.
struct IdentifyFabrics {
  const uint8_t* page;

  XIO_HOST_DEVICE constexpr uint16_t kas() const { return get16(320); }  ///< step of the keep alive time, 100 ms
  /// Largest command capsule, units of 16 bytes: 4 of them are the entry, the others data.
  XIO_HOST_DEVICE constexpr uint32_t ioccsz() const { return static_cast<uint32_t>(load_le(page + 1792, 4)); }
  XIO_HOST_DEVICE constexpr uint32_t iorcsz() const { return static_cast<uint32_t>(load_le(page + 1796, 4)); }
  /// Start of data in a capsule after its entry, units of 16 bytes.
  XIO_HOST_DEVICE constexpr uint16_t icdoff() const { return get16(1800); }
  XIO_HOST_DEVICE constexpr uint8_t fcatt() const { return page[1802]; }   ///< bit 0: a static controller
  XIO_HOST_DEVICE constexpr uint8_t msdbd() const { return page[1803]; }   ///< most descriptors of one SGL; 0: any
  XIO_HOST_DEVICE constexpr uint16_t ofcs() const { return get16(1804); }  ///< bit 0: Disconnect
  XIO_HOST_DEVICE constexpr uint8_t dctype() const { return page[1806]; }  ///< discovery: 1 direct, 2 central

 private:
  XIO_HOST_DEVICE constexpr uint16_t get16(uint32_t offset) const {
    return static_cast<uint16_t>(load_le(page + offset, 2));
  }
};

/// Private data of an RDMA connection's request.
struct RdmaRequest {
  uint16_t format;           ///< 0
  uint16_t qid;              ///< 0: the admin queue
  uint16_t receive_entries;  ///< HRQSIZE: completions that the host can receive
  uint16_t last_entry;       ///< HSQSIZE: entries of the submission queue - 1
  uint16_t cntlid;           ///< of an I/O queue: that of its admin queue; else 0
  uint8_t reserved[22];      ///< zero
};
static_assert(sizeof(RdmaRequest) == 32 && XIO_OFFSETOF(RdmaRequest, last_entry) == 6 &&
                  XIO_OFFSETOF(RdmaRequest, cntlid) == 8,
              "size and offsets as in the specification");

/// Private data of an accepted connection.
struct RdmaAccept {
  uint16_t format;           ///< 0
  uint16_t receive_entries;  ///< CRQSIZE: capsules that the controller can receive
  uint8_t reserved[28];
};
static_assert(sizeof(RdmaAccept) == 32, "size as in the specification");

/// Private data of a refused connection.
struct RdmaReject {
  uint16_t format;  ///< 0
  uint16_t status;  ///< RdmaStatus
};
static_assert(sizeof(RdmaReject) == 4, "size as in the specification");

/// Why a connection was refused.
enum class RdmaStatus : uint16_t {
  invalid_length = 0x01,
  invalid_format = 0x02,
  invalid_qid = 0x03,
  invalid_send_entries = 0x04,
  invalid_receive_entries = 0x05,
  no_resources = 0x06,
  invalid_reads_in_flight = 0x07,
  invalid_reads_to_peer = 0x08,
  invalid_cntlid = 0x09,
};

/// Transport type (TRTYPE) of a subsystem's port.
enum class TransportType : uint8_t { rdma = 1, fibre_channel = 2, tcp = 3, loop = 254 };

/// Address family (ADRFAM).
enum class AddressFamily : uint8_t { pci = 0, ipv4 = 1, ipv6 = 2, infiniband = 3, fibre_channel = 4, loop = 254 };

/// What an entry of the discovery log page names.
enum class SubsystemType : uint8_t { discovery = 1, nvm = 2, this_discovery = 3 };

/// Start of the discovery log page (log page 70h); entries follow.
struct alignas(8) DiscoveryHeader {
  uint64_t generation;     ///< changes with the entries
  uint64_t entries;        ///< as many DiscoveryEntry follow
  uint16_t format;         ///< 0
  uint8_t reserved[1006];  ///< zero
};
static_assert(sizeof(DiscoveryHeader) == 1024 && XIO_OFFSETOF(DiscoveryHeader, format) == 16,
              "size and offsets as in the specification");

/// Entry of the discovery log page: one port of one subsystem. Texts are filled with zeros or blanks.
struct alignas(8) DiscoveryEntry {
  uint8_t transport;                ///< TransportType
  uint8_t family;                   ///< AddressFamily
  uint8_t subsystem_type;           ///< SubsystemType
  uint8_t requirements;             ///< TREQ: secure channel in 1:0 (1: required, 2: not required)
  uint16_t port;                    ///< number of the port within its subsystem
  uint16_t cntlid;                  ///< any_controller: a dynamic one
  uint16_t admin_entries;           ///< most entries of an admin queue
  uint16_t flags;                   ///< EFLAGS
  uint8_t reserved0[20];            ///< zero
  char service[32];                 ///< TRSVCID: the port's number
  uint8_t reserved1[192];           ///< zero
  char subsystem[nqn_field_bytes];  ///< name of the subsystem
  char address[256];                ///< TRADDR
  uint8_t specific[256];            ///< TSAS
};
static_assert(sizeof(DiscoveryEntry) == 1024, "an entry has 1024 bytes");
static_assert(XIO_OFFSETOF(DiscoveryEntry, service) == 32 && XIO_OFFSETOF(DiscoveryEntry, subsystem) == 256 &&
                  XIO_OFFSETOF(DiscoveryEntry, address) == 512 && XIO_OFFSETOF(DiscoveryEntry, specific) == 768,
              "offsets as in the specification");

/// @}
}  // namespace nvme::fabrics

XIO_NAMESPACE_END
