// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Options of QEMU's NVMe controller, and their command-line form.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/host/spec.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

class DmaArena;

/// Storage behind a namespace.
enum class QemuBackend {
  file,         ///< a raw image, with QEMU's default I/O engine (a thread pool)
  threads,      ///< a raw image, with the thread pool requested explicitly
  uring,        ///< a raw image through io_uring; the fastest backend that keeps data
  null,         ///< no storage: writes are discarded, reads leave the buffer unchanged
  null_zeroes,  ///< no storage: writes are discarded, reads return zeroes
};

/// How registers are accessed.
enum class QemuProtocol {
  automatic,  ///< remote if it works, else qtest
  remote,     ///< QEMU's multi-process protocol (machine x-remote): no board, no CPU
  qtest,      ///< QEMU's test protocol over a q35 board whose CPU is stopped
};

/// One namespace.
struct QemuNamespace {
  /// Raw image. Empty: anonymous memory, lost when QEMU ends. The image must exist unless `size` is given; it is
  /// created only if absent, and never resized.
  std::string image;
  uint64_t size = 0;           ///< bytes; 0: the size of the image, or 64 MiB if there is none
  uint32_t block_bytes = 512;  ///< logical block size: a power of two from 512 to 65536
  QemuBackend backend = QemuBackend::file;
  uint32_t nsid = 0;  ///< 0: the next number; used only in QemuOptions::namespaces
  /// Further options of `-device nvme-ns`, comma separated: metadata, protection information, zones.
  std::string device;
  /// Values of `-blockdev` that replace `backend`, for QEMU's filters (blkdebug, throttle). The last one must define
  /// the node `drive0` (`drive1` for the second namespace, and so on). `@image@` is replaced by the image's path.
  std::vector<std::string> blockdevs;
};

/// How to start QEMU. The members of the base class describe namespace 1, unless `namespaces` is not empty.
struct QemuOptions : QemuNamespace {
  std::vector<QemuNamespace> namespaces;  ///< replaces the single namespace
  uint32_t queues = 0;                    ///< maximum number of I/O queue pairs; 0: QEMU's default (64)
  int mdts = -1;                          ///< largest transfer: 4096 << mdts bytes; 0: no limit; -1: default (7)
  std::string serial = "xio";             ///< serial number
  std::string device_options;             ///< further options of `-device nvme`, comma separated
  std::vector<std::string> arguments;     ///< further arguments of QEMU, placed before the devices
  size_t dma_bytes = size_t{256} << 20;   ///< memory for queues and data
  /// Memory of another controller, QemuNvme::memory(), in place of `dma_bytes` of its own: then the buffers of both are
  /// accessible to both.
  std::shared_ptr<DmaArena> memory;
  std::string binary;  ///< empty: environment XIO_QEMU, else qemu-system-x86_64 in PATH
  QemuProtocol protocol = QemuProtocol::automatic;
  std::chrono::milliseconds deadline{20000};  ///< for every exchange with a running QEMU
  std::chrono::milliseconds start_deadline{
      10000};  ///< from the start to the controller's first response, over all attempts
};

namespace detail {

/// @param option  of `-device nvme-ns`
inline void add_to_namespace(QemuOptions& options, const std::string& option) {
  options.device += (options.device.empty() ? "" : ",") + option;
}

inline void set_qemu_option(QemuOptions& options, const std::string& key, const std::string& value) {
  const auto number = [&](uint64_t lowest, uint64_t highest) {
    return spec_number("qemu", key, value, lowest, highest);
  };
  if (key == "image") {
    options.image = value;
  } else if (key == "size") {
    options.size = number(512, uint64_t{1} << 50);
  } else if (key == "lba") {
    options.block_bytes = static_cast<uint32_t>(number(512, 65536));
  } else if (key == "queues") {
    options.queues = static_cast<uint32_t>(number(1, 511));
  } else if (key == "mdts") {
    options.mdts = static_cast<int>(number(0, 15));
  } else if (key == "ms") {
    add_to_namespace(options, "ms=" + std::to_string(number(1, 65535)));
  } else if (key == "mset") {
    add_to_namespace(options, "mset=" + std::to_string(number(0, 1)));
  } else if (key == "pi") {
    add_to_namespace(options, "pi=" + std::to_string(number(0, 3)));
  } else if (key == "zoned") {
    add_to_namespace(options, "zoned=on,zoned.zone_size=" + std::to_string(number(512, uint64_t{1} << 40)));
  } else if (key == "dma") {
    options.dma_bytes = number(uint64_t{2} << 20, uint64_t{1} << 40);
  } else if (key == "binary") {
    options.binary = value;
  } else if (key == "device") {
    options.device_options = value;
  } else if (key == "backend") {
    options.backend = choose<QemuBackend>("qemu", key, value,
                                          {{"file", QemuBackend::file},
                                           {"threads", QemuBackend::threads},
                                           {"uring", QemuBackend::uring},
                                           {"null", QemuBackend::null},
                                           {"null-zeroes", QemuBackend::null_zeroes}});
  } else if (key == "transport") {
    options.protocol = choose<QemuProtocol>(
        "qemu", key, value,
        {{"auto", QemuProtocol::automatic}, {"remote", QemuProtocol::remote}, {"qtest", QemuProtocol::qtest}});
  } else {
    throw Error(
        "qemu: unknown key '" + key +
        "'; known: image, size, lba, queues, mdts, ms, mset, pi, zoned, backend, dma, binary, transport, device");
  }
}

}  // namespace detail

/// Parses `qemu[:key=value,...]`; throws Error with a one-line message for invalid input.
///
/// Keys: `image` path of a raw image; `size` bytes; `lba` block size in bytes; `queues` maximum number of I/O queue
/// pairs; `mdts` exponent; `ms` bytes of metadata per block, `mset` 0: separate, 1: interleaved, `pi` type of
/// protection information; `zoned` bytes of a zone; `backend` file, threads, uring, null, null-zeroes; `dma` bytes of
/// memory for queues and data; `binary` path of QEMU; `transport` auto, remote, qtest; `device` further options of
/// QEMU's nvme device. A number may have the suffix K, M or G. Values contain no comma, except for `device`: it comes
/// last, and everything after `device=` is its value.
inline QemuOptions parse_qemu_spec(const std::string& spec) {
  QemuOptions options;
  const std::string prefix = "qemu";
  if (spec == prefix) return options;
  if (spec.compare(0, prefix.size() + 1, prefix + ":") != 0)
    throw Error("qemu: '" + spec + "' is not of the form qemu[:key=value,...]");
  detail::parse_keys(
      prefix, spec, spec.substr(prefix.size() + 1), "device",
      [&options](const std::string& key, const std::string& value) { detail::set_qemu_option(options, key, value); });
  const uint32_t lba = options.block_bytes;
  if (!is_power_of_two(lba))
    throw Error("qemu: lba=" + std::to_string(lba) + " is not accepted; expected a power of two from 512 to 65536");
  if (options.size % lba != 0)
    throw Error("qemu: size=" + std::to_string(options.size) + " is not a multiple of lba=" + std::to_string(lba));
  const bool has_storage = options.backend != QemuBackend::null && options.backend != QemuBackend::null_zeroes;
  if (!options.image.empty() && !has_storage)
    throw Error("qemu: image= has no effect with a null backend; leave it out");
  return options;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
