// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a queue relies on of its namespace, and whether it is still so.

#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>
#include <xio/vendors/nvme/status.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// What a queue relies on of its namespace.
struct NamespaceShape {
  /// NGUID and EUI64 of Identify Namespace (Base Specification 2.0, figure 280); zeros if there are none.
  struct Id {
    uint8_t bytes[24] = {};
    static constexpr size_t offset = 104;
  };

  uint32_t nsid = 0;  ///< 0: the queue has none
  uint64_t blocks = 0;
  uint32_t block_shift = 0;
  uint32_t metadata_bytes = 0;
  bool extended_blocks = false;
  uint32_t protection_type = 0;
  Id id{};

  NamespaceShape() = default;
  explicit NamespaceShape(const NamespaceInfo& from)
      : nsid(from.nsid),
        blocks(from.blocks),
        block_shift(from.block_shift),
        metadata_bytes(from.metadata_bytes),
        extended_blocks(from.extended_blocks),
        protection_type(from.protection_type) {
    std::memcpy(id.bytes, from.page.data() + Id::offset, sizeof id.bytes);
  }

  /// What is different now, as the end of a sentence; empty if nothing is.
  std::string change(const NamespaceShape& now) const {
    const auto numbers = [](const std::string& what, uint64_t is, uint64_t was, const std::string& unit) {
      return what + std::to_string(is) + unit + ", not " + std::to_string(was);
    };
    if (now.blocks == 0) return "is detached or deleted";
    if (now.block_shift != block_shift)
      return numbers("was formatted: its blocks have ", uint64_t{1} << (now.block_shift & 63),
                     uint64_t{1} << (block_shift & 63), " bytes");
    if (now.metadata_bytes != metadata_bytes || now.extended_blocks != extended_blocks)
      return numbers("was formatted: its blocks have ", now.metadata_bytes, metadata_bytes, " bytes of metadata");
    if (now.protection_type != protection_type)
      return numbers("was formatted: its protection type is ", now.protection_type, protection_type, "");
    if (now.blocks != blocks) return numbers("was resized: it has ", now.blocks, blocks, " blocks");
    if (std::memcmp(now.id.bytes, id.bytes, sizeof id.bytes) != 0) return "was replaced by another";
    return {};
  }
};

/// Looks at the namespaces of queues: at what the driver that keeps the controller reports, else by Identify Namespace.
/// Needs a lock.
class NamespaceWatch {
 public:
  /// One look at all queues, in which each namespace is looked at once.
  class Look {
   public:
    /// @param asks  Identify Namespace is sent; else only what costs no command is looked at
    Look(NamespaceWatch& watch, NvmeTransport& transport, ControllerAccess& access, bool asks)
        : watch_(watch), transport_(transport), access_(access), asks_(asks) {}

    /// What has changed since a queue was created; empty if nothing has, or it cannot be told.
    /// @param stamp  ControllerAccess::namespace_stamp() at that time
    std::string change(const NamespaceShape& was, const std::string& stamp) {
      const std::string& now = stamp_of(was.nsid);
      if (now.empty() ? !asks_ : now == stamp) return {};
      const std::optional<NamespaceShape>& shape = shape_of(was.nsid);
      if (!shape) return {};
      const std::string found = was.change(*shape);
      return found.empty() && now != stamp ? "was detached meanwhile" : found;
    }

   private:
    const std::string& stamp_of(uint32_t nsid) {
      const auto [place, is_new] = stamps_.try_emplace(nsid);
      if (is_new) place->second = access_.namespace_stamp(nsid);
      return place->second;
    }
    const std::optional<NamespaceShape>& shape_of(uint32_t nsid) {
      const auto [place, is_new] = shapes_.try_emplace(nsid);
      if (is_new) place->second = watch_.ask(transport_, access_, nsid, stamp_of(nsid).empty());
      return place->second;
    }

    NamespaceWatch& watch_;
    NvmeTransport& transport_;
    ControllerAccess& access_;
    bool asks_;
    std::map<uint32_t, std::string> stamps_{};
    std::map<uint32_t, std::optional<NamespaceShape>> shapes_{};
  };

  /// Whether it is time to ask the controller again, which then counts as done.
  bool due() {
    if (!due_ && !next_.passed()) return false;
    due_ = false;
    next_ = Timeout(interval);
    return true;
  }
  /// Makes the next look ask the controller.
  void hurry() { due_ = true; }
  /// After the controller was stopped: it is asked again, even if it did not answer before.
  void restart() { silent_ = false; }

  /// Whether a command may change namespaces that queues use.
  static bool is_changed_by(uint8_t opcode) {
    switch (static_cast<nvme::AdminOpcode>(opcode)) {
      case nvme::AdminOpcode::format_nvm:
      case nvme::AdminOpcode::namespace_management:
      case nvme::AdminOpcode::namespace_attachment: return true;
      default: return false;
    }
  }

 private:
  static constexpr std::chrono::milliseconds interval{1000};  ///< between questions to the controller
  static constexpr std::chrono::milliseconds patience{1000};  ///< for an answer

  /// The namespace now; nothing if the controller does not say.
  /// @param once  a controller that does not answer is not asked again
  std::optional<NamespaceShape> ask(NvmeTransport& transport, ControllerAccess& access, uint32_t nsid, bool once) {
    if (silent_) return std::nullopt;
    try {
      // Kept: a controller that does not answer in time may still write to it.
      if (!page_) page_ = transport.allocate(size_t{1} << access.page_shift(), size_t{1} << access.page_shift());
      std::memset(page_.data(), 0, page_.size());
      const AdminResult result = access.run(nvme::identify_namespace(nsid), {page_.bus(), 0}, patience);
      if (result.status.is_ok()) return NamespaceShape(NamespaceInfo(IdentifyPage(page_), nsid));
      if ((result.status.vendor & 0x7ff) == nvme::sc::invalid_namespace_or_format) return NamespaceShape();
    } catch (const Error&) {
      silent_ = once;
    }
    return std::nullopt;
  }

  bool due_ = false;
  bool silent_ = false;
  Timeout next_{interval};
  DmaBuffer page_;
};

/// The namespace of one queue. Needs a lock.
class WatchedNamespace {
 public:
  /// @param stamp  ControllerAccess::namespace_stamp() before the namespace was identified
  WatchedNamespace(const NamespaceInfo& now, std::string stamp) : shape_(now), stamp_(std::move(stamp)) {}

  /// Whether the namespace has changed since then; a change is remembered.
  bool has_changed(NamespaceWatch::Look& look) {
    if (!change_.empty()) return true;
    const std::string found = shape_.nsid == 0 ? std::string() : look.change(shape_, stamp_);
    if (!found.empty()) change_ = "namespace " + std::to_string(shape_.nsid) + " " + found;
    return !change_.empty();
  }
  /// "namespace 1 was resized: it has 500 blocks, not 1000"; empty: no change was found.
  const std::string& change() const { return change_; }
  void forget_change() { change_.clear(); }

 private:
  NamespaceShape shape_;
  std::string stamp_;
  std::string change_{};
};

}  // namespace host::detail

XIO_NAMESPACE_END
