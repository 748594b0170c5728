// SPDX-License-Identifier: MIT
#include "tester/nvme/info.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>
#include <xio/host/text.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/cli/table.hpp"
#include "tester/launch/gpu/images.hpp"
#include "tester/nvme/target.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

struct Feature {
  const char* name;
  bool present;
};

std::vector<Feature> features_of(const Target& target) {
  const auto data = target.info().view();
  return {{"shadow doorbells", (data.oacs() & xio::nvme::oacs::doorbell_buffer_config) != 0},
          {"compare", (data.oncs() & xio::nvme::oncs::compare) != 0},
          {"write zeroes", (data.oncs() & xio::nvme::oncs::write_zeroes) != 0},
          {"deallocate", (data.oncs() & xio::nvme::oncs::dataset_management) != 0},
          {"verify", (data.oncs() & xio::nvme::oncs::verify) != 0},
          {"copy", (data.oncs() & xio::nvme::oncs::copy) != 0},
          {"SGLs", (data.sgls() & xio::nvme::sgls::support_mask) != 0},
          {"volatile write cache", (data.vwc() & 1) != 0}};
}

Json capabilities_json(const Target& target) {
  const xio::nvme::Cap& cap = target.capabilities();
  const xio::nvme::Vs& version = target.version();
  Json json = {{"version", std::to_string(version.mjr()) + "." + std::to_string(version.mnr()) + "." +
                               std::to_string(version.ter())},
               {"cap", xio::host::to_hex(cap.raw, 16)},
               {"largest_queue", target.max_queue_entries()},
               {"queues_granted", target.queue_ids().count()},
               {"contiguous_queues_required", cap.cqr()}};
  // Over RDMA there are neither doorbell registers nor lists of pages.
  if (target.controller)
    json.update(Json{{"doorbell_stride_bytes", 4u << cap.dstrd()},
                     {"smallest_page_bytes", uint64_t{4096} << cap.mpsmin()},
                     {"largest_page_bytes", uint64_t{4096} << cap.mpsmax()},
                     {"page_bytes", target.controller->page_bytes()}});
  json["max_transfer_bytes"] = target.info().max_transfer_bytes;
  json["ready_timeout_ms"] = cap.to() * 500;
  for (const Feature& feature : features_of(target)) json["features"][feature.name] = feature.present;
  return json;
}

std::string command_set_name(xio::nvme::CommandSet one) {
  switch (one) {
    case xio::nvme::CommandSet::nvm: return "NVM";
    case xio::nvme::CommandSet::key_value: return "key value";
    case xio::nvme::CommandSet::zoned: return "zoned";
    case xio::nvme::CommandSet::every: break;  // of commands, not of namespaces
  }
  return "command set " + std::to_string(static_cast<unsigned>(one));
}

const char* metadata_place(const xio::host::NamespaceInfo& one) {
  if (one.metadata_bytes == 0) return "none";
  return one.extended_blocks ? "in the blocks" : "apart";
}

/// "67108864 bytes of values under keys, 0 in use; keys of 1 to 16 bytes, values of at most 65536"
std::string values_text(const Json& one) {
  std::string text =
      one["capacity_bytes"].dump() + " bytes of values under keys, " + one["used_bytes"].dump() + " in use";
  for (const Json& format : one["formats"]) {
    text += "; keys of 1 to " + format["longest_key"].dump() + " bytes, values of at most " +
            format["longest_value"].dump();
    if (format["most_keys"] != 0) text += ", at most " + format["most_keys"].dump() + " keys";
  }
  return text;
}

/// "131072 blocks of 512 bytes, zoned, 8 bytes of metadata apart from each, protection type 1"
std::string namespace_text(const Json& one) {
  if (one.contains("formats")) return values_text(one);
  std::string text = one["blocks"].dump() + " blocks of " + one["block_bytes"].dump() + " bytes, ";
  const std::string set = one["command_set"];
  if (set != "NVM") text += set + ", ";
  const std::string place = one["metadata_place"];
  if (place == "none") return text + "no metadata";
  text += one["metadata_bytes"].dump() + " bytes of metadata " + (place == "apart" ? "apart from each" : "in each");
  if (one["protection_type"] != 0) text += ", protection type " + one["protection_type"].dump();
  return text;
}

Json values_json(const xio::host::KeyValueInfo& one) {
  Json formats = Json::array();
  for (uint32_t i = 0; i <= one.view().nkvf(); ++i) {
    const auto format = one.view().format(i);
    formats.push_back({{"longest_key", format.longest_key()},
                       {"longest_value", format.longest_value()},
                       {"most_keys", format.most_keys()}});
  }
  return {{"nsid", one.nsid},
          {"command_set", command_set_name(xio::nvme::CommandSet::key_value)},
          {"capacity_bytes", one.capacity_bytes},
          {"used_bytes", one.used_bytes},
          {"formats", formats}};
}

Json namespaces_json(const Target& target) {
  Json all = Json::array();
  for (const uint32_t nsid : target.active_namespaces()) {
    const auto set = target.remote ? xio::nvme::CommandSet::nvm : target.controller->command_set(nsid);
    if (set == xio::nvme::CommandSet::key_value) {
      all.push_back(values_json(target.controller->identify_key_values(nsid)));
      continue;
    }
    const xio::host::NamespaceInfo one = target.identify_namespace(nsid);
    all.push_back({{"nsid", nsid},
                   {"blocks", one.blocks},
                   {"block_bytes", one.block_bytes},
                   {"command_set", command_set_name(set)},
                   {"metadata_bytes", one.metadata_bytes},
                   {"metadata_place", metadata_place(one)},
                   {"protection_type", one.protection_type}});
  }
  return all;
}

Json offers_json() {
  const std::string targets = image_targets();
  Json executors = {"host"};
  if (!targets.empty()) executors.push_back("gpu");
  return {{"executors", executors},
          {"gpu_targets", targets},
          {"controllers",
           {"qemu[:key=value,...]", "emulated[:key=value,...]", "vfio:BDF[,key=value,...]",
            "/dev/nvmeN[,key=value,...]", "fabrics:traddr=ADDRESS,nqn=NAME[,key=value,...]"}}};
}

void print_controller(const Json& json) {
  std::printf("%s (%s)\n", json["model"].get<std::string>().c_str(), json["heading"].get<std::string>().c_str());
  const Json& limits = json["capabilities"];
  const uint64_t transfer = limits["max_transfer_bytes"];
  Table table;
  const auto line = [&](const char* title, const std::string& value) { table.add({std::string(title) + value}); };
  line("firmware      ", json["firmware"]);
  line("serial        ", json["serial"]);
  line("transport     ", json["transport"]);
  line("NVMe version  ", limits["version"]);
  line("queues        ", limits["queues_granted"].dump() + " pairs granted, at most " + limits["largest_queue"].dump() +
                             " entries each (CAP.MQES + 1), contiguous: " +
                             (limits["contiguous_queues_required"].get<bool>() ? "required" : "not required"));
  if (limits.contains("page_bytes")) {
    line("doorbells     ", "every " + limits["doorbell_stride_bytes"].dump() + " bytes");
    line("memory pages  ", limits["page_bytes"].dump() + " bytes in use, " + limits["smallest_page_bytes"].dump() +
                               " to " + limits["largest_page_bytes"].dump() + " possible");
  }
  line("transfer      ", transfer == 0 ? "no limit" : "at most " + std::to_string(transfer) + " bytes (MDTS)");
  std::string present;
  for (const auto& [name, there] : limits["features"].items())
    if (there.get<bool>()) present += (present.empty() ? "" : ", ") + name;
  line("features      ", present);
  for (const Json& one : json["namespaces"]) line("namespace     ", one["nsid"].dump() + ": " + namespace_text(one));
  table.print();
}

}  // namespace

CLI::App* add_info_command(CLI::App& app, InfoOptions& options) {
  CLI::App* const command = app.add_subcommand("info", "describes a controller, and what this build offers");
  add_examples(command, {{"what this build offers", "xio-tester info"},
                         {"a controller's identity, limits, features and namespaces",
                          "xio-tester info --controller emulated:lba=4096,queues=8"}});
  command
      ->add_option("--controller", options.controller,
                   std::string(xio::host::nvme_spec_forms) + "; " + remote_spec_form)
      ->type_name("SPEC");
  add_json(*command, options.json);
  return command;
}

int run_info(const InfoOptions& options) {
  check_json_file(options.json);
  Json json = json_header("info");
  if (!options.controller.empty()) {
    const Target target = is_remote(options.controller) ? open_remote(options.controller, 30000)
                                                        : open_target(options.controller, 30000, true);
    json["controller"] = {{"spec", target.spec},
                          {"kind", target.kind_name()},
                          {"heading", target.heading()},
                          {"transport", target.transport()},
                          {"model", target.info().model},
                          {"firmware", target.info().firmware},
                          {"serial", target.info().serial},
                          {"capabilities", capabilities_json(target)},
                          {"namespaces", namespaces_json(target)}};
  }
  json["offers"] = offers_json();
  if (options.json != "-") {
    if (json.contains("controller")) print_controller(json["controller"]);
    std::printf("xio-tester %s offers\n", json["version"].get<std::string>().c_str());
    const auto targets = json["offers"]["gpu_targets"].get<std::string>();
    std::printf("  GPU targets  %s\n", targets.empty() ? "none in this build" : targets.c_str());
    for (const auto& [title, words] :
         {std::pair<const char*, const char*>{"executors", "executors    "}, {"controllers", "controllers  "}}) {
      std::string all;
      for (const Json& word : json["offers"][title]) all += (all.empty() ? "" : ", ") + word.get<std::string>();
      std::printf("  %s%s\n", words, all.c_str());
    }
  }
  write_json_file(options.json, json);
  return exit_ok;
}

}  // namespace tester
