// SPDX-License-Identifier: MIT
#include "vendors/report.hpp"

#include <cstdio>
#include <functional>
#include <sstream>

#include <xio/version.hpp>

#include "vendors/peers.hpp"

namespace vendors {

namespace {

using Json = nlohmann::ordered_json;

std::string number(double value) {
  char text[32];
  if (value != 0 && value < 0.1) {
    std::snprintf(text, sizeof text, "%.1g", value);
    return text;
  }
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string result = text;
  while (result.back() == '0') result.pop_back();
  if (result.back() == '.') result.pop_back();
  return result;
}

std::string number(const std::optional<double>& value, const char* otherwise) {
  return value ? number(*value) : otherwise;
}

std::string stores(const CountedPosts& posts) {
  return number(posts.stores16) + " / " + number(posts.stores8) + " / " + number(posts.stores4);
}

std::string doorbell(const CountedPosts& posts) {
  return number(posts.doorbells) + " x " + number(posts.doorbell_bytes) + " B";
}

Json posts_json(const CountedPosts& posts) {
  return {{"operations", posts.operations},
          {"stores16", posts.stores16},
          {"stores8", posts.stores8},
          {"stores4", posts.stores4},
          {"releases", posts.releases},
          {"store_waits", posts.store_waits},
          {"atomics", posts.atomics},
          {"doorbells", posts.doorbells},
          {"doorbell_bytes", posts.doorbell_bytes},
          {"completions", posts.completions},
          {"acknowledgements", posts.acknowledgements},
          {"pcie_bytes_per_operation", posts.bytes_per_operation}};
}

Json cost_json(const CallCost& cost) {
  Json json = {{"ns", cost.nanoseconds}, {"instructions", nullptr}};
  if (cost.instructions) json["instructions"] = *cost.instructions;
  return json;
}

Json executed_json(const Executed& executed) {
  return {{"instructions", executed.instructions},
          {"loads", executed.loads},
          {"stores", executed.stores},
          {"doorbells", executed.doorbells},
          {"pcie_writes", executed.host_writes}};
}

}  // namespace

std::string heading() {
  return "Counted and timed on emulated devices in this process: models, neither NICs nor a drive. The figures say "
         "what posting and polling cost the caller; they do not measure device speed.";
}

std::string markdown(const Report& report) {
  std::ostringstream text;
  const auto row = [&](const std::string& title, const std::function<std::string(const Column&)>& cell) {
    text << "| " << title << " |";
    for (const Column& column : report.columns) text << ' ' << cell(column) << " |";
    text << '\n';
  };
  const auto on_cpu = [&](const std::string& title, CallCost Timed::* cost) {
    row("ns per " + title, [cost](const Column& c) { return number((c.timed.*cost).nanoseconds); });
  };
  const auto instructions = [&](const std::string& title, CallCost Timed::* cost) {
    row("instructions per " + title, [cost](const Column& c) { return number((c.timed.*cost).instructions, "n/a"); });
  };
  text << heading() << "\n\n";
  row("", [](const Column& c) { return c.counted.name; });
  text << "|---|";
  for (size_t i = 0; i < report.columns.size(); ++i) text << "---:|";
  text << '\n';
  row("bytes stored of an entry (slot)", [](const Column& c) {
    return std::to_string(c.counted.entry_bytes) + " (" + std::to_string(c.counted.slot_bytes) + ")";
  });
  row("post: stores of 16 / 8 / 4 bytes", [](const Column& c) { return stores(c.counted.single); });
  row("post: releases", [](const Column& c) { return number(c.counted.single.releases); });
  row("post: doorbells", [](const Column& c) { return doorbell(c.counted.single); });
  row("post: bytes over PCIe", [](const Column& c) { return number(c.counted.single.bytes_per_operation); });
  row("wave of 64: store instructions of 16 / 8 / 4 bytes", [](const Column& c) { return stores(c.counted.batch); });
  row("wave of 64: releases", [](const Column& c) { return number(c.counted.batch.releases); });
  row("wave of 64: doorbells", [](const Column& c) { return doorbell(c.counted.batch); });
  row("wave of 64: completion entries", [](const Column& c) { return number(c.counted.batch.completions); });
  row("wave of 64: stores that acknowledge them",
      [](const Column& c) { return number(c.counted.batch.acknowledgements); });
  row("wave of 64: bytes over PCIe per operation",
      [](const Column& c) { return number(c.counted.batch.bytes_per_operation); });
  on_cpu("post, unchecked", &Timed::post_unchecked);
  on_cpu("post, checked", &Timed::post_checked);
  on_cpu("poll", &Timed::poll);
  instructions("post, unchecked", &Timed::post_unchecked);
  instructions("post, checked", &Timed::post_checked);
  instructions("poll", &Timed::poll);
  for (const std::string& target : gpu_targets()) {
    row("instructions per post, unchecked, " + target,
        [&](const Column& c) { return number(c.targets.at(target).post, "not measured here"); });
  }
  const auto executed = [&](const std::string& title, const std::string& target, double Executed::* what) {
    row("executed, " + target + ": " + title, [&target, what](const Column& c) {
      const auto& one = c.targets.at(target).executed;
      return one ? number((*one).*what) : "not measured here";
    });
  };
  for (const std::string& target : gpu_targets()) executed("instructions", target, &Executed::instructions);
  executed("loads", "gfx942", &Executed::loads);
  executed("stores", "gfx942", &Executed::stores);
  executed("doorbells", "gfx942", &Executed::doorbells);
  executed("writes over PCIe", "gfx942", &Executed::host_writes);
  text
      << "\nTimes: median of " << report.repetitions << " turns of 64 calls, all columns in turns; " << report.cpu
      << ".\nInstructions on the CPU: the hardware's counter, n/a where there is none. On GPUs: what the budget tests "
         "of this build tree counted in the disassembly; executed: one operation and its wait, for each of 256 threads "
         "that share a queue, in instructions and accesses of waves on a model of the GPU.\n\n"
      << peers_markdown(report.peers);
  return text.str();
}

Json to_json(const Report& report) {
  Json json = {{"tool", "xio-vendors"},
               {"version", std::to_string(XIO_VERSION_MAJOR) + "." + std::to_string(XIO_VERSION_MINOR) + "." +
                               std::to_string(XIO_VERSION_PATCH)},
               {"schema", json_schema},
               {"heading", heading()},
               {"cpu", report.cpu},
               {"repetitions", report.repetitions}};
  json["vendors"] = Json::array();
  for (const Column& column : report.columns) {
    const Counted& counted = column.counted;
    Json one = {{"name", counted.name},
                {"kind", counted.is_rdma ? "rdma" : "nvme"},
                {"entry_bytes", counted.entry_bytes},
                {"slot_bytes", counted.slot_bytes},
                {"completion_bytes", counted.completion_bytes},
                {"post", posts_json(counted.single)},
                {"batch", posts_json(counted.batch)},
                {"cpu",
                 {{"post_unchecked", cost_json(column.timed.post_unchecked)},
                  {"post_checked", cost_json(column.timed.post_checked)},
                  {"poll", cost_json(column.timed.poll)}}}};
    for (const auto& [target, count] : column.targets) {
      one["gpu_instructions"][target] = count.post ? Json(*count.post) : Json();
      one["gpu_executed"][target] = count.executed ? executed_json(*count.executed) : Json();
    }
    json["vendors"].push_back(one);
  }
  json["peers"] = report.peers;
  return json;
}

}  // namespace vendors
