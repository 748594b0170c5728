// SPDX-License-Identifier: MIT
// Posts, receives and sequences: what a poster stored is compared with the recording.

#include "rdma_compare.hpp"
#include "rdma_queue.hpp"

namespace golden::rdma {

namespace {

struct Setting {
  std::unique_ptr<Poster> poster;
  bool signal_all;
  bool in_general;  ///< see Request
};

/// One call of a case, or one step of a sequence.
Posted replay_call(const Json& call, const Setting& setting, const Vendor& vendor,
                   std::map<std::string, ByteMap>& memory, const Json& recorded) {
  const Json& wrs = member(call, "wrs");
  std::vector<Request> requests = requests_of(wrs, setting.signal_all);
  vendor.screen(call, requests);
  for (Request& request : requests) request.in_general = setting.in_general;
  Poster& poster = *setting.poster;
  Posted posted = is_receive(wrs) ? poster.receive(requests) : poster.post(requests);
  collect(posted.stores, memory);
  expect_outcome(call, posted, requests.size());
  expect_registers(member(call, "events"), posted.stores, recorded);
  expect_records(call["events"], memory);
  expect_state(member(call, "after"), poster.state());
  if (call.contains("db_record")) expect_state(Json{{"db_record", call["db_record"]}}, poster.state());
  return posted;
}

Setting set_up(const Json& file, const Json& recorded, const Vendor& vendor, bool in_general) {
  const auto config = member(recorded, "config").get<std::string>();
  const Json& made = member(member(file, "configs"), config.c_str());
  return {vendor.poster(file, config, member(recorded, "before")), number_or(made, "sqsig", 0) != 0, in_general};
}

void replay_post(const Json& file, const Json& recorded, const Vendor& vendor, bool in_general) {
  const Setting setting = set_up(file, recorded, vendor, in_general);
  std::map<std::string, ByteMap> memory;
  const Posted posted = replay_call(recorded, setting, vendor, memory, recorded);
  std::set<uint64_t> entries;
  add_entries(posted, entries);
  expect_regions(recorded, memory, entries, posted.status.is_ok() ? nullptr : &posted);
}

void replay_sequence(const Json& file, const Json& recorded, const Vendor& vendor, bool in_general) {
  const Setting setting = set_up(file, recorded, vendor, in_general);
  std::map<std::string, ByteMap> memory;
  std::set<uint64_t> entries;
  for (const Json& step : member(recorded, "steps")) {
    add_entries(replay_call(step, setting, vendor, memory, recorded), entries);
  }
  expect_regions(recorded, memory, entries, nullptr);
}

}  // namespace

void replay_file(const Json& file, Report& report, const Vendor& vendor) {
  // First with the encoders and decoders alone, whatever type the data have, then with the library's own queues.
  const auto post = [&](const Json& recorded) {
    const auto replay = recorded.contains("steps") ? replay_sequence : replay_post;
    for (const bool in_general : {false, true}) replay(file, recorded, vendor, in_general);
    report.run_queues([&] { replay_with_queues(file, recorded, vendor); });
  };
  const auto complete = [&](const Json& recorded) {
    vendor.completion(file, recorded);
    report.run_queues([&] { vendor.drain(file, recorded); });
  };
  const std::map<std::string, std::function<void(const Json&)>> sections = {
      {"post_send", post},
      {"post_send_sequences", post},
      {"post_recv", post},
      {"poll_cq", complete},
      {"cq_arm", [&](const Json& recorded) { vendor.arm(file, recorded); }},
  };
  for (const auto& [key, value] : file.items()) {
    // What is not a list explains the file; a list holds cases, and none is to be dropped silently.
    if (!value.is_array()) continue;
    const auto section = sections.find(key);
    if (section == sections.end()) throw UnknownForm("it has a part \"" + key + "\" that cannot be replayed");
    for (const Json& recorded : value) report.run(key, recorded, section->second);
  }
  if (report.passed() + report.failed() + report.skipped() == 0) throw UnknownForm("it holds no cases");
}

}  // namespace golden::rdma
