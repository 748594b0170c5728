// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An RDMA device and one port of it. Empty without the header of libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/rdma/gid.hpp>
#include <xio/host/rdma/verbs_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Selects a device, a port and the local address.
struct RdmaDeviceOptions {
  std::string name;                   ///< as listed by `rdma link` and ibv_devices; empty: the first whose port is up
  uint8_t port = 1;                   ///< port number
  std::optional<uint32_t> gid_index;  ///< index in the port's GID table; empty: see choose_gid()
};

namespace detail {

/// List of devices, freed on destruction.
class VerbsDeviceList {
 public:
  VerbsDeviceList() : list_(verbs().get_device_list(&count_)) {
    if (list_ == nullptr && errno == ENOSYS)
      throw Error(
          "rdma: this kernel offers no verbs; load its modules: modprobe ib_uverbs, and rdma_rxe for soft-RoCE");
    if (list_ == nullptr) throw_system_error("rdma: cannot list the devices", errno);
  }
  VerbsDeviceList(const VerbsDeviceList&) = delete;
  VerbsDeviceList& operator=(const VerbsDeviceList&) = delete;
  ~VerbsDeviceList() { verbs().free_device_list(list_); }

  int size() const { return count_; }
  ibv_device* operator[](int index) const { return list_[index]; }
  std::string name(int index) const { return verbs().get_device_name(list_[index]); }

 private:
  int count_ = 0;
  ibv_device** list_;
};

}  // namespace detail

/// Names of the devices of this machine; throws Error if libibverbs is missing.
inline std::vector<std::string> rdma_device_names() {
  const detail::VerbsDeviceList list;
  std::vector<std::string> names;
  for (int i = 0; i < list.size(); ++i) names.push_back(list.name(i));
  return names;
}

/// An open device. Objects created from it keep it open. Movable.
class RdmaDevice {
 public:
  /// Throws Error if there is no such device, or its port is down or has no address.
  explicit RdmaDevice(const RdmaDeviceOptions& options = {}) : port_(options.port) {
    const detail::VerbsDeviceList list;
    std::string seen;
    for (int i = 0; i < list.size() && !context_; ++i) {
      const std::string found = list.name(i);
      seen += (seen.empty() ? "" : ", ") + found;
      if (!options.name.empty() && options.name != found) continue;
      name_ = found;
      open(list[i]);
      // Without a name, skip devices whose port is down.
      if (options.name.empty() && !port_is_up()) context_.reset();
    }
    if (!context_) throw Error(message_for_none(options.name, seen));
    if (!port_is_up())
      throw Error("rdma: port " + std::to_string(port_) + " of " + name_ + " is down; bring its network device up");
    choose_address(options.gid_index);
  }

  const std::string& name() const { return name_; }
  ibv_context* context() const { return context_.get(); }
  /// Shared ownership that keeps the device open.
  std::shared_ptr<ibv_context> shared() const { return context_; }
  uint8_t port() const { return port_; }
  /// Local identifier on InfiniBand; 0 on Ethernet.
  uint16_t lid() const { return attributes_.lid; }
  bool is_ethernet() const { return attributes_.link_layer == IBV_LINK_LAYER_ETHERNET; }
  /// Maximum packet payload of this port in bytes.
  uint32_t mtu() const { return 128u << attributes_.active_mtu; }
  /// GID that connections use.
  const GidEntry& gid() const { return gid_; }
  /// All GIDs of the port.
  const std::vector<GidEntry>& gids() const { return gids_; }

  /// Returns the next asynchronous event of the device or its queues, as text for messages; empty if there is none.
  std::string next_event() const {
    pollfd entry{context_->async_fd, POLLIN, 0};
    if (::poll(&entry, 1, 0) <= 0) return {};
    ibv_async_event event{};
    if (verbs().get_async_event(context_.get(), &event) != 0) return {};
    std::string text = verbs().event_type_str(event.event_type);
    verbs().ack_async_event(&event);
    return text;
  }

 private:
  void open(ibv_device* device) {
    ibv_context* context = verbs().open_device(device);
    if (context == nullptr)
      throw_system_error("rdma: cannot open " + name_ + " (is /dev/infiniband/uverbs* readable and writable?)", errno);
    context_ = std::shared_ptr<ibv_context>(context, [](ibv_context* owned) { verbs().close_device(owned); });
    std::memset(static_cast<void*>(&attributes_), 0, sizeof attributes_);
    const int error = verbs().query_port(context, port_, &attributes_);
    if (error != 0) throw_system_error("rdma: " + name_ + " has no port " + std::to_string(port_), error);
  }

  bool port_is_up() const { return attributes_.state == IBV_PORT_ACTIVE; }

  static std::string message_for_none(const std::string& wanted, const std::string& seen) {
    if (seen.empty())
      return "rdma: this machine has no RDMA device; soft-RoCE is one: rdma link add rxe0 type rxe netdev eth0";
    if (wanted.empty()) return "rdma: no device has a port that is up; there are: " + seen;
    return "rdma: there is no device '" + wanted + "'; there are: " + seen;
  }

  void choose_address(const std::optional<uint32_t>& index) {
    // The table may have an entry for each address, type and network of the machine.
    std::vector<ibv_gid_entry> table(1024);
    const ssize_t count = verbs().query_gid_table(context_.get(), table.data(), table.size(), 0, sizeof table[0]);
    if (count < 0) throw_system_error("rdma: cannot read the addresses of " + name_, static_cast<int>(-count));
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      if (table[i].port_num != port_) continue;
      GidEntry entry;
      entry.index = table[i].gid_index;
      entry.type = table[i].gid_type == IBV_GID_TYPE_IB        ? GidType::infiniband
                   : table[i].gid_type == IBV_GID_TYPE_ROCE_V1 ? GidType::roce_v1
                                                               : GidType::roce_v2;
      std::memcpy(entry.gid.data(), table[i].gid.raw, entry.gid.size());
      gids_.push_back(entry);
    }
    const std::optional<GidEntry> chosen = index ? std::optional<GidEntry>(gid_at(gids_, *index)) : choose_gid(gids_);
    if (!chosen) throw Error("rdma: " + name_ + " has no address; give its network device one (ip addr add ...)");
    gid_ = *chosen;
  }

  std::string name_;
  uint8_t port_;
  std::shared_ptr<ibv_context> context_;
  ibv_port_attr attributes_;
  std::vector<GidEntry> gids_;
  GidEntry gid_;
};

}  // namespace host

XIO_NAMESPACE_END

#endif
