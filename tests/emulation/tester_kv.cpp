// SPDX-License-Identifier: MIT

/// @file
/// @brief kv-ep finds values that are not those of its seed: other contents, other sizes, in a value's last bytes.

#include "tester/kv/runner.hpp"

#include "../catch.hpp"

namespace {

using namespace tester;

/// A controller whose values several runs see.
struct Shared {
  KvResult run(KvOperation operation, uint64_t seed, uint32_t bytes, uint64_t keys = 40) {
    KvOptions options;
    options.seed = seed;
    options.least_bytes = options.most_bytes = bytes;
    options.keys = keys;
    options.waves = 2;
    options.wave_size = 8;
    options.verify = true;
    options.key_bytes = 8;  // the same keys with all seeds
    const KvPlan plan = make_kv_plan(options, target, 0);
    const ExecutorMemory memory;
    xio::host::DmaBuffer data = target.controller->allocate(plan.buffer_bytes * plan.lanes_per_queue());
    const auto queues = create_kv_queues(options, plan, target, memory);
    return KvRunner(options, plan, target, memory, nullptr, queues, std::move(data)).run(operation);
  }

  Target target = open_target("emulated:keys=16", 30000, true);
};

}  // namespace

TEST_CASE("kv-ep: values of another seed and of another size are wrong, those of the same are not") {
  Shared shared;
  CHECK(shared.run(KvOperation::store, 1, 101).completed == 40);
  const KvResult same = shared.run(KvOperation::retrieve, 1, 101);
  CHECK(same.checked == 40);
  CHECK(same.wrong_count == 0);
  CHECK_FALSE(same.failed_any());

  const KvResult seed = shared.run(KvOperation::retrieve, 2, 101);
  REQUIRE(seed.wrong_count == 40);
  CHECK(seed.failed_any());
  REQUIRE(seed.wrong.size() == 16);  // the first one of each lane
  CHECK(seed.wrong[0].offset == 0);
  CHECK(seed.wrong[0].bytes == 101);

  // The buffer takes the first 96 bytes, which are right: only the size tells.
  const KvResult size = shared.run(KvOperation::retrieve, 1, 96);
  REQUIRE(size.wrong_count == 40);
  CHECK(size.wrong[0].bytes == 101);
  CHECK(size.wrong[0].offset == ~0u);
}

TEST_CASE("kv-ep: a difference in the last bytes, which are no whole word") {
  KvContent content;
  content.least_bytes = content.most_bytes = 101;
  uint64_t words[13] = {};
  content.fill(words, 7);
  CHECK(content.first_difference(words, 7) == ~0u);
  auto* const bytes = reinterpret_cast<unsigned char*>(words);
  ++bytes[101];  // beyond the value
  CHECK(content.first_difference(words, 7) == ~0u);
  ++bytes[100];
  CHECK(content.first_difference(words, 7) == 96);
  ++bytes[8];
  CHECK(content.first_difference(words, 7) == 8);
}

TEST_CASE("kv-ep: keys of every size differ") {
  for (uint32_t size = 1; size <= 16; ++size) {
    KvContent content;
    content.key_bytes = size;
    for (uint32_t i = 0; i < 255; ++i) {
      const auto key = content.key(i);
      CHECK(key.bytes == size);
      CHECK(key != content.key(i + 1));
      for (uint32_t byte = size; byte < 16; ++byte) CHECK(key.byte(byte) == 0);
    }
  }
}
