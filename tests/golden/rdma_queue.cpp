// SPDX-License-Identifier: MIT

#include "rdma_queue.hpp"

#include "rdma_compare.hpp"
#include "rdma_order.hpp"

namespace golden::rdma {

namespace {

/// One case in progress.
struct Replay {
  std::unique_ptr<QueuePoster> poster;
  bool signal_all;
  std::map<std::string, ByteMap> memory;
  std::set<uint64_t> entries;
};

void expect_doorbell(const std::optional<Store>& expected, const Posted& posted) {
  const Store* actual = nullptr;
  for (const Store& store : posted.stores) {
    if (store.is_register) actual = &store;  // there is one: expect_order()
  }
  if (!expected) {
    if (actual) throw Mismatch("a doorbell, where the driver stores a record alone");
    return;
  }
  if (!actual) throw Mismatch("no doorbell");
  const auto place = [](const Store& store) { return store.region + " + " + hex_number(store.offset); };
  if (place(*expected) != place(*actual)) {
    throw Mismatch("doorbell\n      expected " + place(*expected) + "\n      actual   " + place(*actual));
  }
  expect_bytes("doorbell", expected->bytes, actual->bytes);
}

/// Those counters that the library has too.
void expect_known_state(const Json& call, const Json& state) {
  Json after = member(call, "after");
  if (call.contains("db_record")) after["db_record"] = call["db_record"];
  Json known = Json::object();
  for (const auto& [key, value] : after.items()) {
    if (state.contains(key)) known[key] = value;
  }
  expect_state(known, state);
}

Posted replay_call(const Json& call, Replay& replay) {
  const Json& wrs = member(call, "wrs");
  const std::vector<Request> requests = requests_of(wrs, replay.signal_all);
  const bool receive = is_receive(wrs);
  const Posted posted = receive ? replay.poster->receive(requests) : replay.poster->post(requests);
  expect_outcome(call, posted, requests.size());
  if (posted.accepted == 0) {
    if (!posted.stores.empty()) throw Mismatch("a refused request left a trace in " + posted.stores[0].region);
  } else {
    collect(posted.stores, replay.memory);
    expect_order(posted);
    expect_recorded_order(member(call, "events"), posted);
    expect_doorbell(replay.poster->doorbell(call, receive), posted);
    expect_records(call["events"], replay.memory);
  }
  expect_known_state(call, replay.poster->state());
  add_entries(posted, replay.entries);
  return posted;
}

/// The calls of a case: one, or a sequence.
std::vector<const Json*> calls_of(const Json& recorded) {
  if (!recorded.contains("steps")) return {&recorded};
  std::vector<const Json*> calls;
  for (const Json& step : recorded["steps"]) calls.push_back(&step);
  return calls;
}

void replay_as(const Json& file, const Json& recorded, const Vendor& vendor, Use use) {
  const auto config = member(recorded, "config").get<std::string>();
  const Json& made = member(member(file, "configs"), config.c_str());
  Replay replay{vendor.queue(file, config, member(recorded, "before"), use), number_or(made, "sqsig", 0) != 0, {}, {}};
  const std::vector<const Json*> calls = calls_of(recorded);
  for (const Json* call : calls) {
    if (!replay.poster->takes(requests_of(member(*call, "wrs"), replay.signal_all))) return;
  }
  Posted posted;
  for (const Json* call : calls) posted = replay_call(*call, replay);
  expect_regions(recorded, replay.memory, replay.entries, posted.status.is_ok() ? nullptr : &posted,
                 replay.poster->own_fields());
}

}  // namespace

void replay_with_queues(const Json& file, const Json& recorded, const Vendor& vendor) {
  replay_as(file, recorded, vendor, Use::alone);
  replay_as(file, recorded, vendor, Use::shared);
}

}  // namespace golden::rdma
