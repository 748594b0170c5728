// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The controller that a run works on: opened according to `--controller`.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/nvme/open.hpp>

#include "tester/nvme/remote.hpp"

namespace tester {

/// Doorbells as observed by the other side; several stores between two polls count once.
struct SeenDoorbells {
  uint64_t sq = 0;
  uint64_t cq = 0;
  bool split = false;  ///< false: `sq` counts both kinds
  std::string source;  ///< what counted; empty: nothing, as with a drive's registers
};

struct Target : xio::host::OpenedNvme {
  std::unique_ptr<RemoteController> remote = nullptr;  ///< behind RDMA; `controller` is null then

  const char* kind_name() const { return remote ? "fabrics" : OpenedNvme::kind_name(); }
  const xio::host::ControllerInfo& info() const { return remote ? remote->info() : controller->info(); }
  const xio::nvme::Cap& capabilities() const { return remote ? remote->capabilities() : controller->capabilities(); }
  const xio::nvme::Vs& version() const { return remote ? remote->version() : controller->version(); }
  std::string transport() const { return remote ? remote->transport() : controller->transport().description(); }
  uint32_t max_queue_entries() const { return remote ? remote->max_queue_entries() : controller->max_queue_entries(); }
  xio::host::QueueIds queue_ids() const { return remote ? remote->queue_ids() : controller->queue_ids(); }
  std::vector<uint32_t> active_namespaces() const {
    return remote ? remote->active_namespaces() : controller->active_namespaces();
  }
  xio::host::NamespaceInfo identify_namespace(uint32_t number) const {
    return remote ? remote->identify_namespace(number) : controller->identify_namespace(number);
  }
  bool stores_values(uint32_t wanted) const { return !remote && OpenedNvme::stores_values(wanted); }
  bool alive() const { return remote ? remote->lost().empty() : controller->alive(); }
  std::string loss() const { return remote ? remote->lost() : OpenedNvme::loss(); }
  /// What figures of this controller do and do not measure.
  std::string heading() const;
  /// Whether it needs none of this machine's processors to respond.
  bool on_its_own() const { return pci() != nullptr; }
  SeenDoorbells seen_doorbells() const;
  /// Throws BadInput if blocks of namespace `wanted` must not be written; 0: any namespace.
  void check_writable(uint32_t wanted) const;
};

/// The controllers of a run: one, or several that blocks are striped over.
using Targets = std::vector<Target>;

std::vector<const Target*> addresses_of(const Targets& targets);
/// What figures of these controllers do and do not measure.
std::string heading_of(const std::vector<const Target*>& targets);
/// Sum of what the other sides observed; no source if one of them observes nothing.
SeenDoorbells seen_doorbells(const std::vector<const Target*>& targets);

/// Opens each controller for a drive set, as open_target().
Targets open_targets(const std::vector<std::string>& specs, uint32_t answer_ms);

/// Connects to a controller behind RDMA. Throws host::Error.
/// @param spec  is_remote()
/// @param answer_ms  time limit of one admin command in milliseconds
Target open_remote(const std::string& spec, uint32_t answer_ms);

/// Opens the controller by host::open_nvme(), and throws what that throws.
/// @param answer_ms         time limit of one admin command in milliseconds
/// @param all_command_sets  also enable zoned and other command sets, if the controller supports them
Target open_target(const std::string& spec, uint32_t answer_ms, bool all_command_sets = false);

}  // namespace tester
