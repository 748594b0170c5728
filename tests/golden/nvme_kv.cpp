// SPDX-License-Identifier: MIT
// Files of the vendor "nvme-kv": commands of the Key Value Command Set, posted through a queue of such a namespace and
// compared as they lie in its ring.

#include <xio/device/nvme/kv_queue.hpp>

#include "nvme.hpp"
#include "nvme_bench.hpp"

namespace golden::nvme {

namespace {

using lib::KvOpcode;

lib::kv::Key key_of(const Json& params) {
  const Bytes bytes = params.contains("key") ? from_hex(params["key"].get<std::string>()) : Bytes{};
  expect_number("bytes of the key", number_or(params, "key_bytes", 0), bytes.size());
  return lib::kv::Key::copy(reinterpret_cast<const char*>(bytes.data()), static_cast<uint32_t>(bytes.size()));
}

lib::Command build_kv(const std::string& command, const Json& params) {
  const lib::kv::Key key = key_of(params);
  const auto bytes = number_in<uint32_t>(number_or(params, "bytes", 0));
  const auto options = number_in<uint32_t>(number_or(params, "options", 0));
  if (command == "store") return lib::kv::store(key, bytes, options);
  if (command == "retrieve") return lib::kv::retrieve(key, bytes, options);
  if (command == "list") return lib::kv::list(key, bytes);
  if (command == "delete") return lib::kv::remove(key);
  if (command == "exist") return lib::kv::exist(key);
  throw Skipped{"operation_not_offered"};
}

/// The data pointer and the command identifier are every driver's own choice.
constexpr size_t cid_at = 2, cid_end = 4;

void replay_kv(const Json& recorded) {
  const Json params = recorded.contains("params") ? recorded["params"] : Json::object();
  Bytes expected = from_hex(member(recorded, "hex").get<std::string>());
  if (expected.size() != sizeof(lib::Sqe)) throw Mismatch("an entry of " + std::to_string(expected.size()) + " bytes");
  const lib::Command command = build_kv(member(recorded, "command").get<std::string>(), params);

  Bench bench{BenchOptions{}};
  lib::QueueHandle handle = bench.handle();
  handle.command_set = static_cast<uint32_t>(lib::CommandSet::key_value);
  handle.nsid = number_in<uint32_t>(number_at(params, "nsid"));
  handle.max_bytes = 0;
  using Ring = xio::RingBy<Bench::Watched<xio::MmioDoorbell>>;
  lib::kv::Queue<xio::Sharing::thread, xio::Policy<Ring>> queue(handle);
  const xio::Token token = queue.try_submit(command, lib::DataPointer{});
  if (!token.submitted()) throw Mismatch(std::string("the queue refused it: ") + xio::name(token.status.code));
  const std::vector<Fetched> fetched = bench.take_fetched();
  expect_number("number of entries", 1, fetched.size());
  for (size_t i = cid_at; i < cid_end; ++i) expected[i] = fetched[0].entry[i];
  expect_bytes("entry", expected, fetched[0].entry);
}

void replay_kv_file(const Json& file, Report& report) {
  for (const auto& [key, value] : file.items()) {
    if (value.is_array() && key != "sqe") throw UnknownForm("it has a part \"" + key + "\" that cannot be replayed");
  }
  for (const Json& recorded : list_or_empty(file, "sqe")) report.run("sqe", recorded, replay_kv);
  if (report.passed() + report.failed() + report.skipped() == 0) throw UnknownForm("it holds no cases");
}

const Registered registered("nvme-kv", replay_kv_file);

}  // namespace

}  // namespace golden::nvme
