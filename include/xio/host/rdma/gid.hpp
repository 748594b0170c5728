// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Addresses of an RDMA port (GIDs), and the choice among them.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Protocol of the packets sent through a GID.
enum class GidType { infiniband, roce_v1, roce_v2 };

/// Name of a type; never null.
inline const char* name(GidType type) {
  switch (type) {
    case GidType::infiniband: return "InfiniBand";
    case GidType::roce_v1: return "RoCE v1";
    default: return "RoCE v2";
  }
}

/// 128 bits in network byte order; an IPv4 address is in the last four bytes, after two bytes of 0xff.
using Gid = std::array<uint8_t, 16>;

/// Whether the GID is an IPv4 address.
inline bool is_ipv4(const Gid& gid) {
  for (size_t i = 0; i < 10; ++i)
    if (gid[i] != 0) return false;
  return gid[10] == 0xff && gid[11] == 0xff;
}

/// Whether the GID is link-local: fe80::/10.
inline bool is_link_local(const Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

/// Text form: "10.9.0.1", or eight groups of four hexadecimal digits.
inline std::string to_text(const Gid& gid) {
  std::string text;
  if (is_ipv4(gid)) {
    for (size_t i = 12; i < 16; ++i) text += (i == 12 ? "" : ".") + std::to_string(gid[i]);
    return text;
  }
  for (size_t i = 0; i < 16; ++i) {
    if (i != 0 && i % 2 == 0) text += ':';
    text += "0123456789abcdef"[gid[i] >> 4];
    text += "0123456789abcdef"[gid[i] & 15];
  }
  return text;
}

/// One entry of a port's GID table.
struct GidEntry {
  uint32_t index = 0;               ///< index in the table
  GidType type = GidType::roce_v2;  ///< protocol
  Gid gid{};                        ///< the address
};

namespace detail {

/// Preference of an entry, lower is better; this order works in most networks.
inline int gid_rank(const GidEntry& entry) {
  switch (entry.type) {
    case GidType::roce_v2: return is_ipv4(entry.gid) ? 0 : is_link_local(entry.gid) ? 3 : 1;
    case GidType::infiniband: return 2;
    default: return is_ipv4(entry.gid) ? 4 : 5;
  }
}

}  // namespace detail

/// Chooses the entry to use: RoCE v2 over IPv4 first, then over routable IPv6, InfiniBand, RoCE v2 over link-local
/// addresses, and RoCE v1 last; among equals the first. Empty if no entry holds an address.
inline std::optional<GidEntry> choose_gid(const std::vector<GidEntry>& table) {
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : table) {
    if (entry.gid == Gid{}) continue;
    if (best == nullptr || detail::gid_rank(entry) < detail::gid_rank(*best)) best = &entry;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

/// Returns the entry that the user selected; throws Error if the table has none at this index.
inline GidEntry gid_at(const std::vector<GidEntry>& table, uint32_t index) {
  std::string there;
  for (const GidEntry& entry : table) {
    if (entry.gid == Gid{}) continue;
    if (entry.index == index) return entry;
    there += (there.empty() ? "" : ", ") + std::to_string(entry.index) + " (" + name(entry.type) + " " +
             to_text(entry.gid) + ")";
  }
  throw Error("no GID at index " + std::to_string(index) + "; there are: " + (there.empty() ? "none" : there));
}

}  // namespace host

XIO_NAMESPACE_END
