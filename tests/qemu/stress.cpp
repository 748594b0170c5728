// SPDX-License-Identifier: MIT

/// @file
/// @brief stress [SECONDS]: eight threads as waves share one queue of QEMU's controller, at a depth of 64, with reads
/// and writes of mixed sizes; every block is stamped and checked. XIO_STRESS_SECONDS sets the time, too.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <xio/host/nvme/qemu.hpp>

#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

/// Findings of all lanes.
struct Findings {
  std::atomic<uint64_t> operations{0};
  std::atomic<uint64_t> blocks{0};
  std::atomic<uint64_t> wrong{0};   ///< blocks with wrong content
  std::atomic<uint64_t> lost{0};    ///< operations that did not complete
  std::atomic<uint64_t> failed{0};  ///< operations that failed or were rejected

  bool clean() const { return wrong + lost + failed == 0; }
  void print(const char* what, double seconds) const {
    std::printf(
        "%s: %llu operations in %.1f s (%.0f a second, %.0f MB/s), %llu blocks checked or written, %llu wrong, %llu "
        "lost, %llu failed\n",
        what, static_cast<unsigned long long>(operations), seconds, static_cast<double>(operations) / seconds,
        static_cast<double>(blocks) * 512 / seconds / 1e6, static_cast<unsigned long long>(blocks),
        static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(lost),
        static_cast<unsigned long long>(failed));
  }
};

constexpr uint32_t window = 8;        // operations in flight per lane
constexpr uint32_t slot_blocks = 64;  // each operation has its own blocks
constexpr uint32_t most_blocks = 24;  // more than two pages, so lists are used
constexpr size_t lane_bytes = size_t{window} * most_blocks * 512;

struct Job {
  QueueHandle queue;
  unsigned char* data;
  uint64_t bus;
  uint64_t seed;
  Deadline until;
  Findings* findings;
};

/// One operation of a lane, and the versions of its blocks.
struct Slot {
  Token token;
  uint32_t block = 0;
  uint32_t blocks = 0;  // 0: nothing in flight
  bool write = false;
  uint64_t version[slot_blocks] = {};  // 0: never written
};

void fill_block(void* memory, uint64_t lba, uint64_t version) {
  auto* const words = static_cast<uint64_t*>(memory);
  const uint64_t base = mix(lba, version);
  for (uint64_t i = 0; i < 64; ++i) words[i] = base + i * 0x9e3779b97f4a7c15;
}
bool block_holds(const void* memory, uint64_t lba, uint64_t version) {
  const auto* const words = static_cast<const uint64_t*>(memory);
  const uint64_t base = mix(lba, version);
  for (uint64_t i = 0; i < 64; ++i) {
    if (words[i] != base + i * 0x9e3779b97f4a7c15) return false;
  }
  return true;
}

template <Sharing S, class Policy>
class Lane {
 public:
  Lane(const Job& job, uint32_t lane)
      : job_(job),
        queue_(job.queue),
        data_(job.data + lane * lane_bytes),
        bus_(job.bus + lane * lane_bytes),
        lane_(lane),
        random_(mix(job.seed, lane)) {}

  void run() {
    uint64_t done = 0;
    for (uint32_t at = 0;; at = (at + 1) % window) {
      if (job_.until.passed()) break;
      finish(at);
      submit(at, ++done);
    }
    for (uint32_t at = 0; at < window; ++at) finish(at);
    job_.findings->operations += done;
    job_.findings->blocks += blocks_;
  }

 private:
  uint64_t below(uint64_t n) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return (random_ >> 33) % n;
  }
  uint64_t lba(uint32_t at, uint32_t block) const { return (uint64_t{lane_} * window + at) * slot_blocks + block; }

  void submit(uint32_t at, uint64_t version) {
    Slot& slot = slots_[at];
    const auto blocks = static_cast<uint32_t>(below(4) == 0 ? 1 + below(most_blocks) : 1 + below(4));
    slot.block = static_cast<uint32_t>(below(slot_blocks - blocks + 1));
    slot.write = below(2) == 0;
    unsigned char* const data = data_ + at * most_blocks * size_t{512};
    for (uint32_t i = 0; i < blocks; ++i) {
      if (slot.write) {
        fill_block(data + i * size_t{512}, lba(at, slot.block + i), version);
        slot.version[slot.block + i] = version;
      } else {
        data[i * size_t{512}] = static_cast<unsigned char>(~data[i * size_t{512}]);
      }
    }
    const uint64_t first = lba(at, slot.block);
    const auto command = slot.write ? xio::nvme::write(first, blocks) : xio::nvme::read(first, blocks);
    slot.token = queue_.submit(command, ContiguousPages{bus_ + at * most_blocks * uint64_t{512}}, soon());
    slot.blocks = blocks;
    blocks_ += blocks;
    if (!slot.token.submitted()) {
      ++job_.findings->failed;
      slot.blocks = 0;
    }
  }

  void finish(uint32_t at) {
    Slot& slot = slots_[at];
    if (slot.blocks == 0) return;
    const Status status = queue_.wait(slot.token, soon());
    if (status == Status::timed_out) {
      ++job_.findings->lost;
    } else if (!status.is_ok()) {
      ++job_.findings->failed;
    }
    if (!slot.write && status != Status::timed_out) {
      const unsigned char* const data = data_ + at * most_blocks * size_t{512};
      for (uint32_t i = 0; i < slot.blocks; ++i) {
        const uint64_t version = slot.version[slot.block + i];
        if (version != 0 && !block_holds(data + i * size_t{512}, lba(at, slot.block + i), version))
          ++job_.findings->wrong;
      }
    }
    slot.blocks = 0;
  }

  const Job& job_;
  Queue<S, Policy> queue_;
  unsigned char* const data_;
  const uint64_t bus_;
  const uint32_t lane_;
  uint64_t random_;
  uint64_t blocks_ = 0;
  Slot slots_[window];
};

template <Sharing S, class Policy>
void kernel(const Job& job) {
  Lane<S, Policy>(job, xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index()).run();
}

/// A number from the arguments, else the environment, else `usual`.
double figure(int argc, char** argv, const char* variable, double usual) {
  const char* const text = argc > 1 ? argv[1] : std::getenv(variable);
  if (text == nullptr) return usual;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end != '\0' || !(value > 0)) {
    std::fprintf(stderr, "%s is not a positive number\n", text);
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    xio::host::QemuOptions options;
    if (xio::host::find_program(xio::host::detail::qemu_binary(options)).empty()) {
      std::printf("skipped: %s is not installed (Debian: qemu-system-x86)\n",
                  xio::host::detail::qemu_binary(options).c_str());
      return 77;
    }
    const double seconds = figure(argc, argv, "XIO_STRESS_SECONDS", 5);
    constexpr uint32_t waves = 8;
    options.backend = xio::host::QemuBackend::uring;
    xio::host::NvmeController controller(std::make_unique<xio::host::QemuNvme>(options));
    QueueOptions wanted;
    wanted.depth = 64;
    wanted.completion_slots = 32768;
    wanted.list_bytes = 256;
    const NvmeQueue queue = controller.create_queue(wanted);
    const DmaBuffer data = controller.allocate(waves * lane_bytes);
    Findings findings;
    const uint64_t start = xio::arch::clock();
    const Job job{queue.handle(),
                  static_cast<unsigned char*>(data.data()),
                  data.bus(),
                  5,
                  xio::deadline(xio::Duration{static_cast<uint64_t>(seconds * 1e9)}),
                  &findings};
    xio::simt::launch(Grid::of_waves(waves, 1, 1), kernel<Sharing::grid, xio::Policy<>>, job);
    findings.print(controller.transport().description().c_str(), static_cast<double>(xio::arch::clock() - start) / 1e9);
    Queue<Sharing::grid> view(queue.handle());
    const bool quiet = view.quiet(soon()).is_ok();
    if (!quiet) std::printf("the queue is not quiet in the end\n");
    return findings.clean() && quiet ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
