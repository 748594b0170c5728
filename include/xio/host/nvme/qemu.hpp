// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief QEMU's NVMe controller as a transport: a real implementation of the specification, without a guest.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/child_process.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/memory/dma_arena.hpp>
#include <xio/host/memory/doorbell_proxy.hpp>
#include <xio/host/nvme/qemu_command.hpp>
#include <xio/host/nvme/qemu_monitor.hpp>
#include <xio/host/nvme/qemu_options.hpp>
#include <xio/host/nvme/qemu_qtest.hpp>
#include <xio/host/nvme/qemu_remote.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/text.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// Throws Unavailable for a QEMU that does not start, and Error if the caller chose it, or wrote words of its command
/// line.
[[noreturn]] inline void fail_to_start(const QemuOptions& options, const std::string& why) {
  const auto worded = [](const QemuNamespace& one) { return !one.device.empty() || !one.blockdevs.empty(); };
  const bool own_words = !options.device_options.empty() || !options.arguments.empty() || worded(options) ||
                         std::any_of(options.namespaces.begin(), options.namespaces.end(), worded);
  if (own_words || !options.binary.empty()) throw Error(why);
  throw Unavailable(why);
}

[[noreturn]] inline void fail_without_qemu(const QemuOptions& options) {
  fail_to_start(options,
                qemu_binary(options) + " not found: install qemu-system-x86, or give binary= (QemuOptions::binary)");
}

/// One running QEMU with its memory and connections. Members are destroyed in reverse order: the process before the
/// memory.
struct QemuMachine {
  /// BAR0 holds the registers, BAR2 a controller memory buffer; both addresses are free on either machine type.
  static constexpr uint64_t bar0 = 0xe0000000;
  static constexpr uint64_t bar2 = 0xd0000000;

  DmaArena arena;
  std::vector<FileDescriptor> images;
  std::unique_ptr<ChildProcess> process;
  std::unique_ptr<QemuMonitor> monitor;
  std::unique_ptr<QemuChannel> channel;
  bool remote;

  /// @param until  deadline for the controller's first response
  QemuMachine(const QemuOptions& options, bool use_remote, const Timeout& until)
      : arena(options.memory ? *options.memory : DmaArena(arena_options(options, use_remote))), remote(use_remote) {
    if (!remote && arena.reserved() < mib)
      throw Error(
          "qemu: transport=qtest cannot use memory that begins at its first byte: let the controller that the "
          "memory is of use qtest, too");
    try {
      start(options, until);
    } catch (const Error& failure) {
      if (!process) throw;
      // A QEMU that rejects its options is about to exit; wait for its error message.
      process->wait_end(until.passed() ? std::chrono::milliseconds(0) : std::chrono::milliseconds(500));
      fail_to_start(options, std::string(failure.what()) + "; QEMU: " + process->summary());
    }
  }

 private:
  static constexpr uint64_t mib = uint64_t{1} << 20;
  static constexpr uint32_t pci_slot = 4;

  static DmaArena::Options arena_options(const QemuOptions& options, bool remote) {
    DmaArena::Options wanted;
    wanted.bytes = (options.dma_bytes + mib - 1) / mib * mib;
    // A PC has holes below 1 MiB, and its memory is in one piece only below 2 GiB.
    wanted.reserved = remote ? 0 : mib;
    wanted.advice = "raise dma= (QemuOptions::dma_bytes)";
    if (wanted.bytes <= mib) throw Error("qemu: dma= (QemuOptions::dma_bytes) must be more than 1 MiB");
    if (!remote && wanted.bytes > 2048 * mib)
      throw Error("qemu: transport=qtest takes at most dma=2G (QemuOptions::dma_bytes)");
    return wanted;
  }

  void start(const QemuOptions& options, const Timeout& until) {
    auto [device_socket, device_end] = make_socket_pair();
    auto [monitor_socket, monitor_end] = make_socket_pair();
    QemuDevices devices(options, remote ? "" : "addr=" + std::to_string(pci_slot));
    images = std::move(devices.images);

    ChildCommand command;
    command.program = qemu_binary(options);
    command.inherited = {device_end.get(), monitor_end.get(), arena.fd()};
    for (const FileDescriptor& image : images) command.inherited.push_back(image.get());
    std::vector<std::string>& words = command.arguments;
    words = {"-display", "none", "-nodefaults", "-no-user-config", "-accel", "tcg"};
    const auto append = [&words](const std::vector<std::string>& more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    append({"-chardev", "socket,id=monitor,fd=" + std::to_string(monitor_end.get())});
    append({"-mon", "chardev=monitor,mode=control"});
    const std::string device_fd = std::to_string(device_end.get());
    if (remote) {
      append({"-machine", "x-remote"});
    } else {
      const std::string bytes = std::to_string(arena.size());
      append({"-machine", "q35,memory-backend=ram,i8042=off,usb=off,sata=off,smbus=off", "-S"});
      append({"-m", std::to_string(arena.size() / mib)});
      append(
          {"-object", "memory-backend-file,id=ram,share=on,size=" + bytes + ",mem-path=" + inherited_path(arena.fd())});
      append({"-chardev", "socket,id=test,fd=" + device_fd});
      append({"-object", "qtest,id=qtest0,chardev=test,log=/dev/null"});
    }
    append(options.arguments);
    append(devices.arguments);
    if (remote) append({"-object", "x-remote-object,id=remote0,devid=nvme0,fd=" + device_fd});

    if (find_program(command.program).empty()) fail_without_qemu(options);
    process = std::make_unique<ChildProcess>(command);
    device_end.reset();
    monitor_end.reset();
    connect(std::move(device_socket), std::move(monitor_socket), until,
            options.protocol == QemuProtocol::automatic && remote);
    monitor->set_limit(options.deadline);
    channel->set_limit(options.deadline);
    channel->set_stopped([this] { return process->stopped(); });
  }

  /// @param another  whether another protocol remains to be tried, which needs time too
  void connect(FileDescriptor device_socket, FileDescriptor monitor_socket, const Timeout& until, bool another) {
    monitor = std::make_unique<QemuMonitor>(std::move(monitor_socket), until.left());
    const std::chrono::milliseconds deadline = another ? until.left() / 2 : until.left();
    monitor->set_limit(deadline);
    // QEMU serves the device's socket before the machine's initial reset, which undoes configuration writes. A reply to
    // this query proves that the reset is complete.
    monitor->execute("query-status");
    if (remote) {
      // Any bus address works, so process addresses are used unless they may collide with the BARs.
      const auto address = reinterpret_cast<uintptr_t>(arena.data());
      arena.set_bus_base(address >> 32 != 0 ? address : uint64_t{1} << 32);
      auto connection = std::make_unique<QemuRemoteChannel>(std::move(device_socket), deadline);
      connection->share_memory(arena.fd(), arena.bus_base(), arena.size());
      channel = std::move(connection);
    } else {
      arena.set_bus_base(0);
      channel = std::make_unique<QemuQtestChannel>(std::move(device_socket), deadline, pci_slot);
    }
    // Identifiers of QEMU's controller: Red Hat's, or Intel's with use-intel-id=on.
    const uint32_t identifier = channel->config_read32(0);
    if (identifier != 0x00101b36 && identifier != 0x58458086)
      throw Error("no NVMe controller found: PCI identifier " + to_hex(identifier, 8));
    channel->config_write(0x10, static_cast<uint32_t>(bar0), 4);
    channel->config_write(0x14, static_cast<uint32_t>(bar0 >> 32), 4);
    channel->config_write(0x18, static_cast<uint32_t>(bar2), 4);
    channel->config_write(0x1c, static_cast<uint32_t>(bar2 >> 32), 4);
    channel->config_write(0x04, 0x6, 2);  // memory space and bus master
  }
};

inline std::unique_ptr<QemuMachine> start_qemu(const QemuOptions& options) {
  if (find_program(qemu_binary(options)).empty()) fail_without_qemu(options);
  const Timeout until(options.start_deadline);
  if (options.protocol != QemuProtocol::automatic)
    return std::make_unique<QemuMachine>(options, options.protocol == QemuProtocol::remote, until);
  std::string remote_failure;
  try {
    return std::make_unique<QemuMachine>(options, true, until);
  } catch (const Error& failure) {
    // A QEMU that does not respond at all does not support the other protocol either.
    if (until.passed()) throw;
    remote_failure = failure.what();
  }
  try {
    return std::make_unique<QemuMachine>(options, false, until);
  } catch (const Error& failure) {
    // An option that QEMU rejects fails twice for the same reason; report it once.
    const std::string qtest_failure = failure.what();
    const auto reason = [](const std::string& text) { return text.substr(text.rfind(": ") + 1); };
    if (reason(remote_failure) == reason(qtest_failure)) throw;
    fail_to_start(options, "neither protocol of QEMU works. x-remote: " + remote_failure + ". qtest: " + qtest_failure);
  }
}

}  // namespace detail

/// Starts a QEMU that emulates nothing but an NVMe controller, and drives the controller from this process.
///
/// Queues and data lie in memory that is shared with QEMU. Doorbell words are memory too: a DoorbellProxy forwards the
/// values that kernels store there. QEMU ends with this object, or with this process, however the process ends. Once
/// QEMU has ended, or does not respond within the deadline (2 s while a signal has stopped it), every access throws
/// Error, and alive() is false. Kernels do not observe such failures: the host thread that waits for them should check
/// alive() periodically.
///
/// QEMU itself (7.2 and 10.0) occasionally crashes with a segmentation fault when a controller backed by image= or by
/// memory is reset or recovered over x-remote while reads are in flight. The crash was not seen with qtest, nor with
/// backend=null: use one of them for such programs, or wait for the reads in flight.
class QemuNvme final : public NvmeTransport {
 public:
  /// Throws Error with QEMU's own message if it cannot be started.
  explicit QemuNvme(const QemuOptions& options = {})
      : begin_(std::chrono::steady_clock::now()),
        machine_(detail::start_qemu(options)),
        doorbells_(machine_->arena.allocate(doorbell_bytes, doorbell_bytes)),
        proxy_(doorbells_.as<uint32_t>(), doorbell_bytes / sizeof(uint32_t),
               [this](const DoorbellChange* changes, size_t count) { forward(changes, count); }),
        start_time_(std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin_)) {}

  uint32_t read32(uint64_t offset) override {
    return told([&] { return static_cast<uint32_t>(machine_->channel->read(bar0 + offset, 4)); });
  }
  uint64_t read64(uint64_t offset) override {
    return told([&] { return machine_->channel->read(bar0 + offset, 8); });
  }
  void write32(uint64_t offset, uint32_t value) override {
    told([&] { machine_->channel->write(bar0 + offset, value, 4); });
  }
  void write64(uint64_t offset, uint64_t value) override {
    told([&] { machine_->channel->write(bar0 + offset, value, 8); });
  }
  void ring(uint64_t offset, uint32_t value) override {
    const PostedWrite write{bar0 + offset, value};
    told([&] { machine_->channel->post(&write, 1); });
  }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return machine_->arena.allocate(bytes, alignment); }
  /// Of the memory that this controller shares with others (QemuOptions::memory), and no other.
  DmaBuffer map_memory(void* data, size_t bytes, const std::shared_ptr<void>& owner) override {
    const DmaArena& arena = machine_->arena;
    if (!arena.contains(data, bytes))
      throw Error(description() +
                  " can access only its own memory; GPU memory is not supported, and controllers that share buffers "
                  "are opened together (open_nvme_drives()), or with QemuOptions::memory");
    const auto offset = static_cast<uint64_t>(static_cast<unsigned char*>(data) - arena.data());
    return {data, arena.bus_base() + offset, bytes, owner};
  }
  uint32_t* doorbell_words() override { return doorbells_.as<uint32_t>(); }
  bool doorbells_are_registers() const override { return false; }
  void open_doorbell(uint32_t index) override { proxy_.watch(index); }
  void close_doorbell(uint32_t index) override { proxy_.unwatch(index); }
  std::string description() const override {
    return "QEMU " + machine_->monitor->version() + " NVMe controller by " + (uses_remote() ? "x-remote" : "qtest");
  }
  bool alive() const override { return machine_->process->running() && !machine_->channel->broken(); }
  Span<unsigned char> dma_window() const override { return {machine_->arena.data(), machine_->arena.size()}; }

  /// All of its memory, for other controllers (QemuOptions::memory). Lives as long as any of them, and any buffer.
  std::shared_ptr<DmaArena> memory() const { return std::make_shared<DmaArena>(machine_->arena); }
  /// QEMU's monitor, for fault injection.
  QemuMonitor& monitor() { return *machine_->monitor; }
  /// The QEMU process, for fault injection.
  ChildProcess& process() { return *machine_->process; }
  /// Statistics of doorbell forwarding.
  DoorbellProxy::Statistics doorbell_statistics() const { return proxy_.statistics(); }
  /// Why QEMU no longer responds, and its own last words; for a controller that is not alive().
  std::string failure() const {
    const std::string why = machine_->channel->failure();
    return (why.empty() ? "" : why + "; QEMU: ") + machine_->process->summary();
  }
  /// Why doorbells are no longer forwarded; empty while they are.
  std::string doorbell_error() const { return proxy_.error(); }
  /// True for x-remote, false for qtest.
  bool uses_remote() const { return machine_->remote; }
  /// Time from the start of the constructor to the controller's first response.
  std::chrono::microseconds start_time() const { return start_time_; }

  /// Bus address of BAR2, which holds a controller memory buffer if `cmb_size_mb` is set.
  static constexpr uint64_t bar2_bus = detail::QemuMachine::bar2;
  /// Reads 64 bits at any bus address in one access, for controller memory.
  uint64_t read_bus64(uint64_t address) {
    return told([&] { return machine_->channel->read(address, 8); });
  }
  void write_bus64(uint64_t address, uint64_t value) {
    told([&] { machine_->channel->write(address, value, 8); });
  }

 private:
  static constexpr uint64_t bar0 = detail::QemuMachine::bar0;
  static constexpr uint64_t doorbell_base = 0x1000;
  static constexpr size_t doorbell_bytes = 4096;  // 511 queue pairs; QEMU's stride is 4 bytes

  /// Runs an access; an error is reported together with QEMU's message.
  template <class Access>
  std::invoke_result_t<Access> told(Access&& access) {
    try {
      return access();
    } catch (const Error& failure) {
      machine_->process->wait_end(std::chrono::milliseconds(200));
      throw Error(description() + ": " + failure.what() + "; QEMU: " + machine_->process->summary());
    }
  }

  void forward(const DoorbellChange* changes, size_t count) {
    posted_.clear();
    for (size_t i = 0; i < count; ++i)
      posted_.push_back({bar0 + doorbell_base + uint64_t{changes[i].index} * sizeof(uint32_t), changes[i].value});
    told([&] { machine_->channel->post(posted_.data(), posted_.size()); });
  }

  std::chrono::steady_clock::time_point begin_;
  std::unique_ptr<detail::QemuMachine> machine_;
  DmaBuffer doorbells_;
  std::vector<PostedWrite> posted_;  // accessed by the proxy's thread only
  DoorbellProxy proxy_;
  std::chrono::microseconds start_time_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
