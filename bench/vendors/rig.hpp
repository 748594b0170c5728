// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue of each kind on its model, executed in the calling thread; the subjects of all measurements.

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <xio/device/nvme/queue.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/nvme/controller.hpp>

namespace vendors {
// Functions compiled with counters differ from those compiled without.
inline namespace XIO_ABI {

constexpr uint32_t operation_bytes = 4096;  ///< data of each operation
constexpr uint32_t ring_units = 512;  ///< a batch of 64 fits in a quarter of the ring: its last operation is signalled

/// A queue pair of the vendor of `Kit`, connected to itself.
template <class Kit>
class RdmaRig {
 public:
  using Vendor = typename Kit::Vendor;
  template <xio::Sharing S, class Policy>
  using Queue = xio::rdma::QueuePair<Vendor, S, Policy>;
  static constexpr bool is_rdma = true;
  static constexpr const char* name = Vendor::name;
  static constexpr uint32_t completion_bytes = Kit::Wire::cqe_bytes;

  RdmaRig() : bytes_(2 * size_t{operation_bytes}), pair_(fabric_, config()) {
    pair_.model().connect(pair_.config().qpn);
    key_ = fabric_.keys().add(bytes_.data(), bytes_.size());
  }

  auto handle() { return pair_.handle(); }
  uint32_t slot_bytes() const { return 1u << pair_.config().sq_unit_shift; }
  /// Bytes that a post stores in the send ring, without the side table.
  static uint32_t entry_bytes(double stores16, double stores8) {
    uint32_t table = 0;
    if constexpr (Vendor::has_side_table) table = Vendor::Table::entry_words * 8;
    return static_cast<uint32_t>(16 * stores16 + 8 * stores8) - table;
  }

  /// The data as the kernel addresses it.
  struct Data {
    xio::rdma::RemoteMemory to;
    xio::Region from;
  };
  Data data() const {
    const auto address = reinterpret_cast<uint64_t>(bytes_.data());
    return {{address + operation_bytes, operation_bytes, key_}, {address, operation_bytes, key_}};
  }
  /// Posts one RDMA write of operation_bytes.
  template <class Policy, xio::Sharing S, class Until = xio::Now>
  static xio::Token post(Queue<S, Policy>& queue, const Data& data, Until until = {}) {
    return queue.put(data.to.at(0, operation_bytes), data.from.at(0, operation_bytes), until);
  }

  /// Runs the model until it has no more work.
  void execute() {
    while (pair_.model().pass()) {
    }
  }
  uint64_t completions() { return pair_.model().statistics().completions; }

  /// Throws if the model reports a violation of its interface.
  void require_peace() {
    const auto statistics = pair_.model().statistics();
    if (!statistics.violations.empty())
      throw std::runtime_error(std::string(name) + ": the model reports: " + statistics.violations.front());
  }

 private:
  static xio::emulation::RdmaQueueConfig config() {
    xio::emulation::RdmaQueueConfig config = Kit::shortest(Kit::config());
    config.sq_units = ring_units;
    config.cq_entries = 2 * ring_units;
    if (config.side_entries != 0) config.side_entries = ring_units;
    return config;
  }

  std::vector<unsigned char> bytes_;
  xio::emulation::RdmaFabric fabric_;
  xio::emulation::RdmaQueuePair<Kit> pair_;
  uint32_t key_ = 0;
};

/// An NVMe queue pair on the in-process controller.
class NvmeRig {
 public:
  template <xio::Sharing S, class Policy>
  using Queue = xio::nvme::Queue<S, Policy>;
  static constexpr bool is_rdma = false;
  static constexpr const char* name = "nvme";
  static constexpr uint32_t completion_bytes = sizeof(xio::nvme::Cqe);

  NvmeRig() : NvmeRig(std::make_unique<xio::emulation::NvmeController>(config())) {}

  xio::nvme::QueueHandle handle() { return queue_.handle(); }
  static constexpr uint32_t slot_bytes() { return sizeof(xio::nvme::Sqe); }
  static uint32_t entry_bytes(double stores16, double stores8) {
    return static_cast<uint32_t>(16 * stores16 + 8 * stores8);
  }

  struct Data {
    uint64_t bus;
  };
  Data data() const { return {data_.bus()}; }
  /// Posts one read of operation_bytes, a page.
  template <class Policy, xio::Sharing S, class Until = xio::Now>
  static xio::Token post(Queue<S, Policy>& queue, const Data& data, Until until = {}) {
    const auto read = xio::nvme::read(0, operation_bytes / 512);
    if constexpr (Policy::argument_checks) {
      return queue.submit(read, xio::nvme::ContiguousPages{data.bus}, until);
    } else {
      return queue.submit(read, xio::nvme::DataPointer{data.bus}, until);
    }
  }

  void execute() { model_.run(); }
  uint64_t completions() { return model_.statistics().queues[queue_.qid()].completions; }
  void require_peace() {}

 private:
  explicit NvmeRig(std::unique_ptr<xio::emulation::NvmeController> transport)
      : model_(*transport),
        controller_(std::move(transport)),
        data_(controller_.allocate(operation_bytes)),
        queue_(controller_.create_queue(options())) {}
  static xio::emulation::NvmeConfig config() {
    xio::emulation::NvmeConfig config;
    config.execution = xio::emulation::NvmeExecution::stepped;
    return config;
  }
  static xio::host::QueueOptions options() {
    xio::host::QueueOptions options;
    options.depth = 2 * 64;
    return options;
  }

  xio::emulation::NvmeController& model_;
  xio::host::NvmeController controller_;
  xio::host::DmaBuffer data_;
  xio::host::NvmeQueue queue_;
};

inline void require_ok(const char* name, xio::Status status) {
  if (!status.is_ok())
    throw std::runtime_error(std::string(name) + ": an operation ended with " + xio::name(status.code));
}

/// Calls `body` with the rig type of each kind of queue, in the order of the table.
template <class Body>
void for_each_kind(Body body) {
  body.template run<NvmeRig>();
  xio::emulation::for_each_kit([&body](auto kit) { body.template run<RdmaRig<decltype(kit)>>(); });
}

}  // namespace XIO_ABI
}  // namespace vendors
