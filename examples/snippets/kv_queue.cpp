// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: values under keys.

#include <memory>

#include <xio/kv.hpp>

#include "drive.hpp"

using namespace xio;

namespace snippets::kv_queue_calls {

constexpr uint32_t value_bytes = 512;
using ThreadQueue = nvme::kv::Queue<Sharing::thread, Policy<Notify>>;

XIO_KERNEL void key(bool* good) {
  const char* const name = "block 7";
  const uint64_t hash_low = 1, hash_high = 2;
  //! [key]
  const nvme::kv::Key by_number = nvme::kv::Key::of(7);
  const nvme::kv::Key by_hash = nvme::kv::Key::of(hash_low, hash_high);
  const nvme::kv::Key by_name = nvme::kv::Key::copy(name, 7);
  //! [key]
  *good = by_number.bytes == 8 && by_hash.bytes == 16 && by_name.byte(6) == '7' && by_number != by_hash;
}

XIO_KERNEL void commands(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const nvme::kv::Key key = nvme::kv::Key::of(1);
  //! [commands]
  // Only under a new key:
  const nvme::Command command = nvme::kv::store(key, value_bytes, nvme::kv::option::must_not_exist);
  Token token = queue.submit(command, data.at(0, value_bytes), until);
  Status how = queue.wait(token, until);
  if (how == Status::conflict) {
    token = queue.submit(nvme::kv::remove(key), nvme::NoData{}, until);
    how = queue.wait(token, until);
  }
  //! [commands]
  *status = how;
}

XIO_KERNEL void queue(nvme::QueueHandle handle, Region data, Status* status, uint32_t* size) {
  const nvme::kv::Key key = nvme::kv::Key::of(2);
  //! [queue]
  nvme::kv::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(5_s);
  Status how = queue.wait(queue.store(key, data.at(0, value_bytes), until), until);
  uint32_t whole = 0;  // the size of the value, whatever the buffer's
  if (how.is_ok()) how = queue.wait(queue.retrieve(key, data.at(4096, 64), until), until, whole);
  //! [queue]
  *status = how;
  *size = whole;
}

XIO_KERNEL void list(nvme::QueueHandle handle, Region data, Status* status, const void* memory, uint32_t* found) {
  nvme::kv::Queue<Sharing::thread> queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [list]
  Status how = queue.wait(queue.list({}, data.at(8192, 4096), until), until);
  nvme::kv::KeyList keys(memory, 4096);  // the same memory
  for (nvme::kv::Key key; how.is_ok() && keys.next(key);) {
    how = queue.wait(queue.exist(key, until), until);
    if (how.is_ok()) how = queue.wait(queue.remove(key, until), until);
    ++*found;
  }
  //! [list]
  *status = how;
}

XIO_KERNEL void batch(nvme::QueueHandle handle, uint64_t bus, Status* status, nvme::kv::Piece* pieces,
                      Notification* progress) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [batch]
  for (uint32_t i = 0; i < 4; ++i) pieces[i] = {nvme::kv::Key::of(i), bus + i * value_bytes, value_bytes};
  const Token token = queue.submit_batch(nvme::KvOpcode::store, pieces, 4, until);
  Status how = queue.wait_batch(token, until);
  // Any number:
  for (uint32_t i = 0; i < 4; ++i) pieces[i].bus += 4096;
  if (how.is_ok()) how = queue.transfer(nvme::KvOpcode::retrieve, pieces, 4, until, *progress);
  //! [batch]
  *status = how;
}

void all() {
  emulation::NvmeConfig config;
  config.namespaces[0].key_values = true;
  host::ControllerOptions options;
  options.all_command_sets = true;
  host::NvmeController controller(std::make_unique<emulation::NvmeController>(config), options);
  const uint32_t nsid = 1;
  //! [namespace]
  uint32_t longest = 0;  // bytes of a value
  if (controller.command_set(nsid) == nvme::CommandSet::key_value)
    longest = controller.identify_key_values(nsid).longest_value;
  //! [namespace]
  check("namespace", longest == config.namespaces[0].longest_value);

  const host::Executor executor = host::default_executor();
  const host::NvmeQueue pair = controller.create_queue(on(executor));
  const host::DmaBuffer data = executor.share(controller.allocate(16384));
  const host::DmaBuffer more = executor.share(controller.allocate(4096));
  struct Results {
    Status status;
    bool good;
    uint32_t number;
    alignas(16) Notification progress;
    nvme::kv::Piece pieces[4];
  };
  auto* const results = more.as<Results>();
  Results* const there = executor.address(results);
  fill(data.as<uint64_t>(), 2048 / 8, 0);
  const auto run = [&](auto kernel, const auto&... arguments) {
    results->status = Status::not_ready;
    host::launch(executor, {1, 1}, kernel, arguments...);
    return results->status.is_ok();
  };
  run(key, &there->good);
  check("key", results->good);
  check("commands", run(commands, pair.handle(), data.region(), &there->status));
  check("queue", run(queue, pair.handle(), data.region(), &there->status, &there->number) &&
                     results->number == value_bytes && holds(data.as<uint64_t>() + 512, 8, 0));
  results->number = 0;
  check("list", run(list, pair.handle(), data.region(), &there->status,
                    static_cast<const void*>(executor.address(data.as<char>() + 8192)), &there->number) &&
                    results->number == 2);
  check("batch", run(batch, pair.handle(), data.bus(), &there->status, &there->pieces[0], &there->progress) &&
                     holds(data.as<uint64_t>() + 512, 4 * value_bytes / 8, 0));
}

const Program program("kv_queue", all);

}  // namespace snippets::kv_queue_calls
