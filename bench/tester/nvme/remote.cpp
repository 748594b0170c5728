// SPDX-License-Identifier: MIT
#include "tester/nvme/remote.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include <xio/host/nvme/fabric_device_queue.hpp>
#include <xio/host/nvme/fabric_spec.hpp>

namespace tester {

bool is_remote(const std::string& spec) { return spec == "fabrics" || spec.compare(0, 8, "fabrics:") == 0; }
void check_remote(const std::string& spec) { static_cast<void>(xio::host::parse_fabric_spec(spec)); }

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

struct RemoteController::Parts {
  /// The target's network card reads and writes whole pages.
  struct alignas(4096) Page {
    unsigned char bytes[4096];
  };

  explicit Parts(const xio::host::FabricOptions& options) : controller(options) {}

  xio::host::FabricController controller;
  std::vector<Page> data;
  std::vector<std::unique_ptr<xio::host::FabricDeviceQueue>> queues;  // end before the controller
  std::vector<xio::nvme::QueueHandle> handles;
  std::mutex mutex;  // of lost()
};

RemoteController::RemoteController(const std::string& spec, uint32_t answer_ms) {
  xio::host::FabricOptions options = xio::host::parse_fabric_spec(spec);
  options.command_limit = std::chrono::milliseconds(std::clamp(answer_ms, 100u, 30000u));
  parts_ = std::make_unique<Parts>(options);
}

const xio::host::ControllerInfo& RemoteController::info() const { return parts_->controller.info(); }
const xio::nvme::Cap& RemoteController::capabilities() const { return parts_->controller.capabilities(); }
const xio::nvme::Vs& RemoteController::version() const { return parts_->controller.version(); }
uint32_t RemoteController::max_queue_entries() const { return parts_->controller.max_queue_entries(); }
xio::host::QueueIds RemoteController::queue_ids() const { return {1, parts_->controller.granted_queues()}; }
std::vector<uint32_t> RemoteController::active_namespaces() const { return parts_->controller.active_namespaces(); }
xio::host::NamespaceInfo RemoteController::identify_namespace(uint32_t nsid) const {
  return parts_->controller.identify_namespace(nsid);
}

std::string RemoteController::transport() const {
  const xio::host::FabricOptions& options = parts_->controller.options();
  return "RDMA by " + parts_->controller.device() + " to " + options.address + " port " + options.service +
         ", subsystem " + xio::host::printable(options.subsystem) + ", controller " +
         std::to_string(parts_->controller.cntlid());
}

void RemoteController::make_queues(uint32_t count, uint32_t length, uint32_t nsid, uint64_t data_bytes) {
  parts_->data.resize(data_bytes / sizeof(Parts::Page) + 1);
  xio::host::FabricQueueOptions wanted;
  wanted.entries = std::min(length + 1, max_queue_entries());
  wanted.nsid = nsid;
  wanted.data_bytes = parts_->data.size() * sizeof(Parts::Page);
  wanted.data = parts_->data.data();
  for (uint32_t i = 0; i < count; ++i) {
    parts_->queues.push_back(std::make_unique<xio::host::FabricDeviceQueue>(parts_->controller, wanted));
    parts_->handles.push_back(parts_->queues.back()->handle());
  }
}

const std::vector<xio::nvme::QueueHandle>& RemoteController::handles() const { return parts_->handles; }
const xio::host::QueuePlan& RemoteController::rings() const { return parts_->queues.front()->plan(); }
unsigned char* RemoteController::data() const { return parts_->data.front().bytes; }

std::string RemoteController::lost() {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  std::string why = parts_->controller.lost();
  for (const auto& queue : parts_->queues)
    if (const std::string of_queue = queue->lost(); why.empty()) why = of_queue;
  return why;
}

#else

struct RemoteController::Parts {
  xio::host::ControllerInfo info;
  xio::nvme::Cap cap;
  xio::nvme::Vs version;
  xio::host::QueuePlan rings;
  std::vector<xio::nvme::QueueHandle> handles;
};

RemoteController::RemoteController(const std::string&, uint32_t) {
  throw xio::host::Unavailable(
      "fabrics: this program was built without RDMA; install libibverbs-dev and librdmacm-dev, and build it again");
}
const xio::host::ControllerInfo& RemoteController::info() const { return parts_->info; }
const xio::nvme::Cap& RemoteController::capabilities() const { return parts_->cap; }
const xio::nvme::Vs& RemoteController::version() const { return parts_->version; }
uint32_t RemoteController::max_queue_entries() const { return 0; }
xio::host::QueueIds RemoteController::queue_ids() const { return {}; }
std::vector<uint32_t> RemoteController::active_namespaces() const { return {}; }
xio::host::NamespaceInfo RemoteController::identify_namespace(uint32_t) const { return {}; }
std::string RemoteController::transport() const { return {}; }
void RemoteController::make_queues(uint32_t, uint32_t, uint32_t, uint64_t) {}
const std::vector<xio::nvme::QueueHandle>& RemoteController::handles() const { return parts_->handles; }
const xio::host::QueuePlan& RemoteController::rings() const { return parts_->rings; }
unsigned char* RemoteController::data() const { return nullptr; }
std::string RemoteController::lost() { return {}; }

#endif

RemoteController::~RemoteController() = default;

}  // namespace tester
