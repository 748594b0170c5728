// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief QEMU's multi-process protocol: another process drives a device by messages.
///
/// A message is a header (command, size) and a payload in QEMU's native layout on a 64-bit little-endian machine. The
/// protocol is private to QEMU, so the first reply must be probed before it is trusted.

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/nvme/qemu_channel.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Client of `-object x-remote-object`.
class QemuRemoteChannel final : public QemuChannel {
 public:
  QemuRemoteChannel(FileDescriptor fd, std::chrono::milliseconds limit) : QemuChannel(std::move(fd), limit) {}

  /// Shares the device's memory with QEMU: `bytes` of the file `fd`, at bus address `bus`.
  void share_memory(int fd, uint64_t bus, uint64_t bytes) {
    MemoryMessage message{};
    message.header = {share_memory_command, 0, sizeof message - sizeof(Header)};
    message.bus[0] = bus;
    message.bytes[0] = bytes;

    // The descriptor is sent with the header; QEMU reads header and payload in two calls.
    iovec part{&message, sizeof(Header)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr envelope{};
    envelope.msg_iov = &part;
    envelope.msg_iovlen = 1;
    envelope.msg_control = control;
    envelope.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(int));
    ssize_t sent;
    while ((sent = ::sendmsg(socket_.fd(), &envelope, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    if (sent != static_cast<ssize_t>(sizeof(Header))) throw_system_error("the connection to QEMU failed", errno);
    send(reinterpret_cast<const unsigned char*>(&message) + sizeof(Header), sizeof message - sizeof(Header));
  }

 private:
  enum Command : int32_t {
    share_memory_command = 0,
    reply_command = 1,
    config_write_command = 2,
    config_read_command = 3,
    memory_write_command = 4,
    memory_read_command = 5,
  };

  struct Header {
    int32_t command;
    uint32_t padding;
    uint64_t payload_bytes;
  };
  struct MemoryMessage {
    Header header;
    uint64_t bus[8];
    uint64_t bytes[8];
    uint64_t file_offset[8];
  };
  struct AccessMessage {
    Header header;
    uint64_t address;
    uint64_t value;
    uint32_t bytes;
    uint8_t in_memory_space;
    uint8_t padding[3];
  };
  struct ConfigMessage {
    Header header;
    uint32_t offset;
    uint32_t value;
    uint32_t bytes;
  };
  struct Reply {
    Header header;
    uint64_t value;
  };
  static_assert(sizeof(Header) == 16 && sizeof(AccessMessage) == 40 && sizeof(Reply) == 24, "QEMU's layout");
  static constexpr size_t config_payload_bytes = 12;
  static constexpr size_t access_payload_bytes = sizeof(AccessMessage) - sizeof(Header);

  uint32_t do_config_read32(uint32_t offset) override {
    const ConfigMessage message{{config_read_command, 0, config_payload_bytes}, offset, 0, 4};
    return static_cast<uint32_t>(call(&message, sizeof(Header) + config_payload_bytes));
  }
  void do_config_write(uint32_t offset, uint32_t value, uint32_t bytes) override {
    const ConfigMessage message{{config_write_command, 0, config_payload_bytes}, offset, value, bytes};
    call(&message, sizeof(Header) + config_payload_bytes);
  }
  uint64_t do_read(uint64_t address, uint32_t bytes) override {
    const AccessMessage message = access(memory_read_command, address, 0, bytes);
    return call(&message, sizeof message);
  }
  void do_write(uint64_t address, uint64_t value, uint32_t bytes) override {
    const AccessMessage message = access(memory_write_command, address, value, bytes);
    call(&message, sizeof message);
  }
  void do_post(const PostedWrite* writes, size_t count) override {
    AccessMessage batch[32];
    while (count > 0) {
      const size_t part = count < 32 ? count : 32;
      for (size_t i = 0; i < part; ++i) batch[i] = access(memory_write_command, writes[i].address, writes[i].value, 4);
      send_posted(batch, part * sizeof(AccessMessage), part);
      writes += part;
      count -= part;
    }
  }

  static AccessMessage access(Command command, uint64_t address, uint64_t value, uint32_t bytes) {
    return {{command, 0, access_payload_bytes}, address, value, bytes, 1, {}};
  }

  bool take_reply(uint64_t& value, bool may_wait) override {
    while (begin_ + sizeof(Reply) > end_) {
      std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
      const size_t got = socket_.receive(buffer_ + end_, sizeof buffer_ - end_, may_wait);
      if (got == 0) return false;
      end_ += got;
    }
    Reply reply;
    std::memcpy(&reply, buffer_ + begin_, sizeof reply);
    begin_ += sizeof reply;
    if (reply.header.command != reply_command || reply.header.payload_bytes != sizeof reply.value)
      throw Error("QEMU's reply has an unknown format; use transport=qtest");
    value = reply.value;
    return true;
  }

  unsigned char buffer_[sizeof(Reply) * 64];
  size_t begin_ = 0;
  size_t end_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
