// SPDX-License-Identifier: MIT
#include "tester/rdma/verbs.hpp"

#include <algorithm>

#include <xio/host/error.hpp>
#include <xio/host/rdma/driver.hpp>

#include "tester/cli/errors.hpp"
#include "tester/launch/spin.hpp"
#include "tester/rdma/options.hpp"

#if __has_include(<infiniband/verbs.h>)
#include <xio/host/rdma/rxe_endpoint.hpp>

#include "tester/rdma/launch.hpp"
#endif

namespace tester {

std::string refusal_of_driver(const std::string& device, const std::string& driver) {
  // Vendors whose formats the library supports, and the names of their kernel drivers.
  constexpr struct {
    const char* driver;
    const char* provider;
  } known[] = {{"mlx5_core", "mlx5"}, {"bnxt_en", "bnxt"}, {"ionic", "ionic"}, {"vmw_pvrdma", "ernic"}};
  std::string instead =
      "soft-RoCE's are (rdma link add rxe0 type rxe netdev eth0), and --device " + std::string(rdma_emulated);
  for (const auto& one : known)
    if (driver == one.driver) instead += std::string(" with --provider ") + one.provider;
  return "--device " + device + ": devices of " + (driver.empty() ? "an unknown driver" : "the driver " + driver) +
         " are not supported by this version; " + instead;
}

#if __has_include(<infiniband/verbs.h>)

namespace {

using xio::host::RxeEndpoint;

/// Largest inline data of an rxe entry.
constexpr uint32_t rxe_most_inline = 512;
constexpr uint8_t reads_in_flight = 16;
/// 537 ms: on a busy machine the other side's driver can be late, and retransmissions delay it further.
constexpr uint8_t answer_timeout = 17;

class VerbsRdmaLink final : public RdmaLink {
 public:
  VerbsRdmaLink(const std::string& name, const RdmaLinkShape& shape)
      : shape_(shape), device_({name, 1, {}}), domain_(device_) {
    const uint32_t sides = shape.loopback || shape.remote ? 1 : 2;
    for (uint32_t i = 0; i < shape.queues * sides; ++i)
      endpoints_.push_back(std::make_unique<RxeEndpoint>(device_, domain_, options_of(shape), entries_of(shape)));
    if (shape.remote) return;
    for (uint32_t i = 0; i < shape.queues; ++i) {
      endpoint(i).queue().verbs_queue().connect(peer(i).queue().verbs_queue().address());
      if (&peer(i) != &endpoint(i)) peer(i).queue().verbs_queue().connect(address(i));
    }
  }

  xio::rdma::QueuePairHandle queue(uint32_t number) override {
    xio::rdma::QueuePairHandle handle = endpoint(number).handle();
    handle.signal_every = 0;  // only the last operation of each batch
    handle.depth = std::min(handle.depth, shape_.units_in_flight);
    return handle;
  }
  xio::rdma::ReceiveQueueHandle receives(uint32_t number) override { return peer(number).receive_handle(); }
  xio::host::QueuePairAddress address(uint32_t number) const override {
    return endpoint(number).queue().verbs_queue().address();
  }
  void connect(uint32_t number, const xio::host::QueuePairAddress& to) override {
    endpoint(number).queue().verbs_queue().connect(to);
  }
  RdmaKeys add_memory(void* memory, uint64_t bytes) override {
    regions_.emplace_back(domain_, memory, bytes);
    return keys();
  }
  RdmaKeys add_gpu_memory(const xio::host::MemoryBuffer& memory) override {
    regions_.emplace_back(domain_, memory.export_dma_buf(), memory.gpu(), false);
    return keys();
  }
  void start() override {}

  /// The driver works in the calls that ring, and in interrupts.
  void run(const RdmaPhase& phase) override {
    const bool twice = phase.ping_pong && !shape_.remote;  // the peers' kernels, too
    uint32_t spin = spin_of(uint64_t{shape_.queues} * shape_.waves * (twice ? 2 : 1));
    // Who yields while a message is on its way can get the processor back a tick later.
    if (phase.ping_pong) spin *= 256;
    launch_rdma_workload<RxeEndpoint::Vendor, true>(shape_, phase, spin);
  }

  /// The driver provides no counters; completions are those that the kernel consumed.
  RdmaSeen seen() const override {
    RdmaSeen all;
    for (const auto& one : endpoints_) {
      all.doorbells += one->doorbell().kicks();
      all.completions += one->handle().send->cq_head;
      all.receive_completions += one->receive_handle().state->queue.retired;
      if (one->doorbell().refused() != 0)
        all.violations.push_back("the driver refused " + std::to_string(one->doorbell().refused()) + " calls");
    }
    all.signaled = all.completions;
    // Discards pending events: changes of a port or its addresses are no error.
    for (std::string event; !(event = device_.next_event()).empty();)
      if (event.find("error") != std::string::npos) all.violations.push_back(event);
    return all;
  }

 private:
  static xio::host::QueuePairOptions options_of(const RdmaLinkShape& shape) {
    // One entry of a ring always stays empty.
    xio::host::QueuePairOptions options;
    options.send_entries = shape.sq_units - 1;
    options.receive_entries = shape.rq_entries - 1;
    options.inline_bytes = shape.inline_bytes;
    options.reads_in_flight = reads_in_flight;
    options.timeout = answer_timeout;
    return options;
  }
  static xio::host::RxeCompletionEntries entries_of(const RdmaLinkShape& shape) {
    return {shape.cq_entries - 1, 2 * shape.rq_entries - 1};
  }

  /// Keys of the memory registered last.
  RdmaKeys keys() const {
    const xio::host::MemoryRegion& region = regions_.back();
    return {region.lkey(), region.rkey(), xio::host::in_kernels(region.remote()).atomics};
  }
  RxeEndpoint& endpoint(uint32_t number) const { return *endpoints_[number]; }
  RxeEndpoint& peer(uint32_t number) const {
    return *endpoints_[shape_.loopback || shape_.remote ? number : shape_.queues + number];
  }

  RdmaLinkShape shape_;
  xio::host::RdmaDevice device_;
  xio::host::ProtectionDomain domain_;
  std::vector<xio::host::MemoryRegion> regions_;
  std::vector<std::unique_ptr<RxeEndpoint>> endpoints_;
};

/// Each operation occupies one entry.
uint32_t one_unit(RdmaVerb, bool, uint32_t, bool) { return 1; }

/// Converts the library's errors to CannotRun.
template <class Body>
auto or_cannot_run(const std::string& device, Body&& body) {
  try {
    return body();
  } catch (const xio::host::Error& reason) {
    throw CannotRun("--device " + device + ": " + reason.what());
  }
}

}  // namespace

RdmaProvider verbs_provider(const std::string& device) {
  const std::vector<std::string> devices = or_cannot_run(device, [] { return xio::host::rdma_device_names(); });
  if (devices.empty())
    throw CannotRun("--device " + device +
                    ": this machine has no RDMA device; soft-RoCE is one (rdma link add rxe0 type rxe netdev eth0), "
                    "and emulated is accepted");
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
    std::string there;
    for (const std::string& name : devices) there += name + ", ";
    throw BadInput("--device " + device + " does not exist; " + there + "and emulated are accepted");
  }
  const std::string driver = xio::host::rdma_driver(device);
  if (driver != "rdma_rxe") throw CannotRun(refusal_of_driver(device, driver));
  const xio::host::RdmaDevice opened = or_cannot_run(device, [&] { return xio::host::RdmaDevice({device, 1, {}}); });
  RdmaProvider provider;
  provider.name = RxeEndpoint::Vendor::name;
  provider.where = device;
  const xio::host::GidEntry& gid = opened.gid();
  if (gid.type != xio::host::GidType::infiniband && !xio::host::is_link_local(gid.gid))
    provider.address = xio::host::to_text(gid.gid);
  provider.heading = "soft-RoCE: the kernel's rxe driver";
  provider.described = provider.name + ", device " + device + " at " + xio::host::to_text(opened.gid().gid) + " (" +
                       xio::host::name(opened.gid().type) + "): the kernel's driver, which is software";
  provider.seen_by = "calls of driver";
  provider.max_inline = rxe_most_inline;
  provider.spare_units = 1;
  provider.units = one_unit;
  provider.open = [device](const RdmaLinkShape& shape, const ExecutorMemory&) -> std::unique_ptr<RdmaLink> {
    return std::make_unique<VerbsRdmaLink>(device, shape);
  };
  return provider;
}

#else

RdmaProvider verbs_provider(const std::string& device) {
  throw CannotRun("--device " + device +
                  ": this build has no libibverbs (Debian: libibverbs-dev); emulated is accepted");
}

#endif

}  // namespace tester
