// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Configuration of the in-process NVMe controller: capacity, limits, features and execution mode.

#include <cstddef>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/memory_source.hpp>
#include <xio/host/emulation/nvme/quirks.hpp>
#include <xio/host/error.hpp>
#include <xio/host/power_of_two.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Configuration of one namespace. All blocks are initially zero; there are no keys.
struct NvmeNamespaceConfig {
  uint32_t nsid = 1;             ///< 1 to NvmeConfig::max_nsid
  uint64_t blocks = 131072;      ///< capacity in logical blocks, at least 1
  uint32_t block_bytes = 512;    ///< logical block: a power of two, 512 to 65536 bytes
  bool write_protected = false;  ///< commands that change blocks fail with 020h, Namespace is Write Protected

  /// The Key Value Command Set: values under keys, of `blocks` * `block_bytes` bytes in all. The controller then
  /// reports further command sets (CAP.CSS bit 6), and Identify of them succeeds if they are enabled (CC.CSS = 6).
  bool key_values = false;
  uint32_t longest_key = 16;       ///< bytes, 1 to 16
  uint32_t longest_value = 65536;  ///< bytes
  uint32_t most_keys = 0;          ///< 0: no limit
};

/// How the controller runs.
enum class NvmeExecution {
  thread,  ///< a dedicated thread polls the doorbells
  /// The controller runs only in NvmeController::step(). Exceptions: a register write takes effect immediately, and the
  /// admin queue is served when its doorbell is written through write32 or ring.
  stepped,
};

/// Limits and features of the controller. Validated by NvmeController's constructor.
struct NvmeConfig {
  std::vector<NvmeNamespaceConfig> namespaces{NvmeNamespaceConfig{}};
  uint32_t max_nsid =
      256;  ///< Identify Controller NN: a higher nsid is invalid; a lower one without a namespace is inactive

  uint32_t queues = 64;                    ///< I/O queue pairs, 1 to 1024
  uint16_t mqes = 2047;                    ///< CAP.MQES: entries of the largest queue minus 1, 1 to 65535
  uint8_t mdts = 7;                        ///< largest transfer: 2^mdts pages of the smallest size; 0: no limit
  uint8_t dstrd = 0;                       ///< CAP.DSTRD, 0 to 8: doorbell stride is 4 << dstrd bytes
  uint8_t mpsmin = 0;                      ///< CAP.MPSMIN: smallest memory page is 4096 << mpsmin bytes; 0 to 4
  uint8_t mpsmax = 4;                      ///< CAP.MPSMAX, mpsmin to 8
  bool contiguous_queues_required = true;  ///< CAP.CQR; false: queues may be described by a page list (PC = 0)
  uint8_t ready_timeout = 15;              ///< CAP.TO, units of 500 ms

  // I/O Command Set specific Identify Controller (CNS 06h): size limits of one command. 0: no limit.
  uint8_t vsl = 0;     ///< Verify: 2^vsl pages of the smallest size
  uint8_t wzsl = 0;    ///< Write Zeroes, as vsl
  uint8_t wusl = 0;    ///< Write Uncorrectable, as vsl
  uint8_t dmrl = 0;    ///< Dataset Management: number of ranges
  uint32_t dmrsl = 0;  ///< Dataset Management: logical blocks per range
  uint64_t dmsl = 0;   ///< Dataset Management: logical blocks in total

  bool sgl = true;                   ///< SGLs of any alignment in I/O commands
  bool sgl_dword_aligned = false;    ///< SGLs only with dword alignment and granularity
  bool shadow_doorbells = true;      ///< Doorbell Buffer Config, OACS bit 8
  bool volatile_write_cache = true;  ///< Identify Controller VWC bit 0
  bool aborts = false;               ///< Abort ends a held or delayed command; false: returns "not aborted"
  uint8_t async_event_limit = 3;     ///< AERL: outstanding Asynchronous Event Requests minus 1

  /// Fails a command whose identifier is in use on its queue with 003h, Command ID Conflict.
  bool check_command_ids = true;
  /// Overwrites each SQE with FFh bytes after the fetch, which no real controller does. An entry that a doorbell covers
  /// a second time, or before it was stored, then fails and counts as a stale fetch.
  bool poison_fetched_entries = false;
  /// Largest plausible advance of an SQ tail in entries; a larger one counts as suspicious. 0: bounded only by the
  /// entries that the host can know to be free.
  uint32_t plausible_advance = 0;
  /// Accepts Copy, reservation, I/O management and zone commands and only moves their data (AAh bytes towards the
  /// host). False: these opcodes are invalid.
  bool transfer_only_commands = false;
  /// Null medium: data pointers are walked and checked, but no Read or Write data is copied.
  bool discard_data = false;

  NvmeExecution execution = NvmeExecution::thread;
  uint32_t burst = 64;  ///< commands that one pass fetches from a queue before it polls the next; at least 1

  uint64_t bus_offset = uint64_t{1} << 48;  ///< bus address = CPU address + bus_offset; a multiple of 2 MiB
  MemorySource memory;                      ///< empty: the process heap

  std::string serial = "XIO-MODEL-0001";            ///< at most 20 characters
  std::string model = "xio in-process NVMe model";  ///< at most 40 characters
  std::string firmware = "1.0";                     ///< at most 8 characters

  NvmeQuirks quirks;  ///< deviations of real controllers; add_quirk() adds one by name
};

/// Whether a namespace has another command set than NVM.
inline bool has_key_values(const NvmeConfig& config) {
  for (const NvmeNamespaceConfig& one : config.namespaces)
    if (one.key_values) return true;
  return false;
}

/// Validates a configuration. Throws host::Error if it is invalid.
inline void check(const NvmeConfig& config) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw host::Error(std::string("emulated NVMe controller: ") + what);
  };
  require(!config.namespaces.empty(), "at least one namespace is needed");
  for (size_t i = 0; i < config.namespaces.size(); ++i) {
    const NvmeNamespaceConfig& one = config.namespaces[i];
    require(one.nsid >= 1 && one.nsid <= config.max_nsid, "a namespace identifier must be 1 to max_nsid");
    require(one.blocks >= 1 && one.blocks <= uint64_t{1} << 46, "a namespace must have 1 to 2^46 blocks");
    require(one.block_bytes >= 512 && one.block_bytes <= 65536 && host::is_power_of_two(one.block_bytes),
            "the block size must be a power of two from 512 to 65536");
    require(one.longest_key >= 1 && one.longest_key <= 16, "the longest key must have 1 to 16 bytes");
    for (size_t j = 0; j < i; ++j)
      require(config.namespaces[j].nsid != one.nsid, "two namespaces have the same identifier");
  }
  require(config.queues >= 1 && config.queues <= 1024, "the number of queues must be 1 to 1024");
  require(config.mqes >= 1, "mqes must be 1 to 65535");
  require(config.mpsmin <= 4 && config.mpsmax >= config.mpsmin && config.mpsmax <= 8,
          "mpsmin must be 0 to 4, mpsmax mpsmin to 8");
  require(config.mdts <= 16, "mdts must be 0 to 16");
  require(config.vsl <= 32 && config.wzsl <= 32 && config.wusl <= 32, "vsl, wzsl and wusl must be 0 to 32");
  require(config.dstrd <= 8, "dstrd must be 0 to 8");
  require(config.burst >= 1, "burst must be at least 1");
  require(config.bus_offset % (uint64_t{1} << 21) == 0, "bus_offset must be a multiple of 2 MiB");
  require(!config.memory.allocate == !config.memory.release, "a memory source needs allocate and release");
  require(config.serial.size() <= 20 && config.model.size() <= 40 && config.firmware.size() <= 8,
          "serial, model and firmware have at most 20, 40 and 8 characters");
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
