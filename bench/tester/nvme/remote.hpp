// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A controller behind RDMA, and its queues for kernels on the CPU, by soft-RoCE.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <xio/device/nvme/handle.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/queue_setup.hpp>
#include <xio/vendors/nvme/registers.hpp>

namespace tester {

/// Form of such a description, for help and messages.
inline const char* const remote_spec_form = "over RDMA fabrics:traddr=ADDRESS,nqn=NAME[,key=value,...]";

/// Whether `spec` describes a controller behind RDMA, well or not.
bool is_remote(const std::string& spec);

/// Throws host::Error unless the description is accepted.
void check_remote(const std::string& spec);

class RemoteController {
 public:
  /// Connects. Throws host::Error, and host::Unavailable if this program was built without RDMA.
  /// @param answer_ms  time limit of one admin command in milliseconds
  RemoteController(const std::string& spec, uint32_t answer_ms);
  RemoteController(const RemoteController&) = delete;
  RemoteController& operator=(const RemoteController&) = delete;
  ~RemoteController();

  const xio::host::ControllerInfo& info() const;
  const xio::nvme::Cap& capabilities() const;
  const xio::nvme::Vs& version() const;
  std::string transport() const;  ///< the device, and the address of the target
  uint32_t max_queue_entries() const;
  xio::host::QueueIds queue_ids() const;
  std::vector<uint32_t> active_namespaces() const;
  xio::host::NamespaceInfo identify_namespace(uint32_t nsid) const;

  /// Creates queues for `length` commands in flight, or one fewer than the largest holds. The target may access the
  /// memory of data of all of them. Throws host::Error.
  void make_queues(uint32_t count, uint32_t length, uint32_t nsid, uint64_t data_bytes);
  const std::vector<xio::nvme::QueueHandle>& handles() const;
  const xio::host::QueuePlan& rings() const;  ///< of the first queue
  unsigned char* data() const;                ///< memory for data

  /// Why the connection of the controller or of a queue is no longer there, which ends the waits of kernels; empty
  /// while all are. From any thread.
  std::string lost();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tester
