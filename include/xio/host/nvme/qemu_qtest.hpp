// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief QEMU's test protocol: text commands that access the memory and ports of a board whose CPU is stopped.

#include <chrono>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/nvme/qemu_channel.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Client of `-object qtest`, for a device in one slot of PCI bus 0.
class QemuQtestChannel final : public QemuChannel {
 public:
  /// @param slot  device number on bus 0; function 0 is used
  QemuQtestChannel(FileDescriptor fd, std::chrono::milliseconds limit, uint32_t slot)
      : QemuChannel(std::move(fd), limit), slot_(slot) {}

 private:
  // PCI configuration mechanism 1.
  static constexpr uint32_t config_address_port = 0xcf8;
  static constexpr uint32_t config_data_port = 0xcfc;

  uint32_t do_config_read32(uint32_t offset) override {
    select(offset);
    return static_cast<uint32_t>(call("inl " + to_hex(config_data_port)));
  }
  void do_config_write(uint32_t offset, uint32_t value, uint32_t bytes) override {
    select(offset);
    const char* command = bytes == 4 ? "outl " : bytes == 2 ? "outw " : "outb ";
    call(command + to_hex(config_data_port + (offset & 3)) + " " + to_hex(value));
  }
  uint64_t do_read(uint64_t address, uint32_t bytes) override {
    return call((bytes == 8 ? "readq " : "readl ") + to_hex(address));
  }
  void do_write(uint64_t address, uint64_t value, uint32_t bytes) override {
    call((bytes == 8 ? "writeq " : "writel ") + to_hex(address) + " " + to_hex(value));
  }
  void do_post(const PostedWrite* writes, size_t count) override {
    std::string lines;
    for (size_t i = 0; i < count; ++i)
      lines += "writel " + to_hex(writes[i].address) + " " + to_hex(writes[i].value) + "\n";
    send_posted(lines.data(), lines.size(), count);
  }

  void select(uint32_t offset) {
    call("outl " + to_hex(config_address_port) + " " + to_hex(0x80000000u | slot_ << 11 | (offset & 0xfc)));
  }

  uint64_t call(const std::string& command) {
    const std::string line = command + "\n";
    return QemuChannel::call(line.data(), line.size());
  }

  /// A reply is "OK", or "OK 0x<value>".
  bool take_reply(uint64_t& value, bool may_wait) override {
    size_t end;
    while ((end = received_.find('\n', begin_)) == std::string::npos) {
      received_.erase(0, begin_);
      begin_ = 0;
      char buffer[2048];
      const size_t got = socket_.receive(buffer, sizeof buffer, may_wait);
      if (got == 0) return false;
      received_.append(buffer, got);
    }
    const std::string line = received_.substr(begin_, end - begin_);
    begin_ = end + 1;
    const auto number = line.size() > 3 ? parse_number(line.substr(3)) : 0;
    if (line.compare(0, 2, "OK") != 0 || !number) throw Error("QEMU's test protocol answers '" + line + "'");
    value = *number;
    return true;
  }

  uint32_t slot_;
  std::string received_;
  size_t begin_ = 0;  // of the first reply in received_ that was not consumed
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
