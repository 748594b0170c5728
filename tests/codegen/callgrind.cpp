// SPDX-License-Identifier: MIT
// Posts and polls on plain memory, for callgrind_budget.sh to count: each call in a function that knows nothing of its
// callers. The controller's part is played between the calls.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <xio/device/nvme/queue.hpp>

using namespace xio;

namespace {

constexpr uint32_t ring_size = 64;
constexpr uint32_t slots = 128;

struct QueueMemory {
  alignas(64) QueueState state{};
  uint64_t links[ring_size]{};
  alignas(64) nvme::Sqe sq[ring_size]{};
  alignas(64) nvme::Cqe cq[slots]{};
  nvme::CompletionSlot completions[slots]{};
  uint32_t sq_doorbell = 0;
  uint32_t cq_doorbell = 0;

  nvme::QueueHandle handle() {
    nvme::QueueHandle handle{};
    handle.state = &state;
    handle.depth = ring_size - 1;
    handle.sq = sq;
    handle.cq = cq;
    handle.slots = completions;
    handle.sq_doorbell = &sq_doorbell;
    handle.cq_doorbell = &cq_doorbell;
    handle.sq_mask = ring_size - 1;
    handle.cq_mask = slots - 1;
    handle.slot_mask = slots - 1;
    handle.nsid = 1;
    handle.page_shift = 12;
    handle.block_shift = 9;
    handle.max_blocks = 256;
    handle.namespace_blocks = 1 << 20;
    return handle;
  }

  /// What the controller does with operation `index`.
  void complete(uint64_t index) {
    nvme::Cqe& entry = cq[index % slots];
    entry.cid = static_cast<uint16_t>(index % slots);
    entry.status = ring::phase(index, slots - 1) ? 1 : 0;
  }
};

QueueMemory memory;

// A caller keeps its queue object.
template <Sharing S, class Policy>
using Queue = nvme::Queue<S, Policy>;

[[gnu::noipa]] Token post_unchecked(Queue<Sharing::thread, Unchecked>& queue, uint64_t lba, uint64_t bus) {
  return queue.try_submit(nvme::read(lba, 8), nvme::DataPointer{bus});
}
[[gnu::noipa]] Token post_trusting(Queue<Sharing::thread, Trusting>& queue, uint64_t lba, uint64_t bus) {
  return queue.try_submit(nvme::read(lba, 8), nvme::ContiguousPages{bus});
}
[[gnu::noipa]] Token post_checked(Queue<Sharing::thread, xio::Policy<>>& queue, uint64_t lba, uint64_t bus) {
  return queue.try_submit(nvme::read(lba, 8), nvme::ContiguousPages{bus});
}
[[gnu::noipa]] Token post_grid(Queue<Sharing::grid, Trusting>& queue, uint64_t lba, uint64_t bus) {
  return queue.try_submit(nvme::read(lba, 8), nvme::ContiguousPages{bus});
}
[[gnu::noipa]] uint32_t poll_one(Queue<Sharing::thread, Unchecked>& queue) { return queue.drain(); }
[[gnu::noipa]] uint32_t process_one(Queue<Sharing::thread, Unchecked>& queue, uint32_t* ended) {
  return queue.process_completions([&](const nvme::Completion& completion) { *ended = completion.slot; }, 1);
}
[[gnu::noipa]] uint32_t poll_grid(Queue<Sharing::grid, Trusting>& queue) { return queue.drain(); }
[[gnu::noipa]] Status wait_one(Queue<Sharing::thread, Unchecked>& queue, const Token& token) {
  return queue.wait(token, Deadline{~uint64_t{0}});
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FUNCTION CALLS\n", argv[0]);
    return 2;
  }
  const char* const function = argv[1];
  const auto calls = std::strtoull(argv[2], nullptr, 10);
  const nvme::QueueHandle handle = memory.handle();
  Queue<Sharing::thread, Unchecked> unchecked(handle);
  Queue<Sharing::thread, Trusting> trusting(handle);
  Queue<Sharing::thread, xio::Policy<>> checked(handle);
  Queue<Sharing::grid, Trusting> grid(handle);
  for (uint64_t i = 0; i < calls; ++i) {
    Token token;
    if (std::strcmp(function, "post_trusting") == 0) {
      token = post_trusting(trusting, i * 8, (i + 1) << 16 | 512);
    } else if (std::strcmp(function, "post_checked") == 0) {
      token = post_checked(checked, i * 8, (i + 1) << 16 | 512);
    } else if (std::strcmp(function, "post_grid") == 0 || std::strcmp(function, "poll_grid") == 0) {
      token = post_grid(grid, i * 8, (i + 1) << 16 | 512);
    } else {
      token = post_unchecked(unchecked, i * 8, (i + 1) << 16);
    }
    require(token.count == 1 && token.last == i, "token");
    require(memory.sq_doorbell == (i + 1) % ring_size, "doorbell");
    memory.complete(i);
    if (std::strcmp(function, "wait_one") == 0) {
      require(wait_one(unchecked, token).is_ok(), "wait");
    } else if (std::strcmp(function, "process_one") == 0) {
      uint32_t slot = ~0u;
      require(process_one(unchecked, &slot) == 1 && slot == i % slots, "process");
    } else if (std::strcmp(function, "poll_grid") == 0 || std::strcmp(function, "post_grid") == 0) {
      require(poll_grid(grid) == 1, "poll");
    } else {
      require(poll_one(unchecked) == 1, "poll");
    }
  }
  return 0;
}
