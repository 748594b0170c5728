// SPDX-License-Identifier: MIT

/// @file
/// @brief The longest message but one byte: 1 MiB, and 2^31 - 1 bytes, to the other side and back.

#include <sys/mman.h>

#include <fstream>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

constexpr uint64_t longest = (uint64_t{1} << 31) - 1;
constexpr uint64_t margin = 4096;

/// Memory that is only there where it is used.
class Pages {
 public:
  Pages()
      : bytes_(static_cast<unsigned char*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (bytes_ == MAP_FAILED) throw std::bad_alloc();
    madvise(bytes_, size, MADV_HUGEPAGE);  // faster, where it is heeded
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(bytes_, size); }
  static constexpr size_t size = longest + 2 * margin + 1;
  unsigned char* data() { return bytes_; }

 private:
  unsigned char* bytes_;
};

uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return std::stoull(line.substr(13)) * 1024;
  }
  return 0;
}

bool is_zero(const unsigned char* from, uint64_t bytes) {
  return bytes == 0 || (from[0] == 0 && std::memcmp(from, from + 1, bytes - 1) == 0);
}

template <class Kit>
void there_and_back(Pages& near, uint32_t length) {
  CAPTURE(length);
  Pages far;
  RdmaRig<Kit> rig(Kit::config(), 4096);
  const Region local{reinterpret_cast<uint64_t>(near.data()), Pages::size,
                     rig.fabric.keys().add(near.data(), Pages::size)};
  const RemoteMemory remote{reinterpret_cast<uint64_t>(far.data()), Pages::size,
                            rig.fabric.keys().add(far.data(), Pages::size)};
  rig.running();
  QueuePair<typename Kit::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  REQUIRE(qp.wait(qp.put(remote.at(margin, length), local.at(margin, length), soon()), soon()).is_ok());
  CHECK(std::memcmp(far.data() + margin, near.data() + margin, length) == 0);
  CHECK(is_zero(far.data(), margin));
  CHECK(is_zero(far.data() + margin + length, margin));
  // And the counters are where the next message begins.
  REQUIRE(qp.wait(qp.put(remote.at(0, 8), local.at(margin, 8), soon()), soon()).is_ok());
  CHECK(std::memcmp(far.data(), near.data() + margin, 8) == 0);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("messages of 1 MiB and of 2^31 - 1 bytes", "", Vendors) {
  const uint64_t needed = 3 * longest + (uint64_t{1} << 29);
  static Pages near;
  static bool filled = false;
  const bool enough = available_bytes() > needed;
  const uint64_t most = enough ? longest : uint64_t{1} << 20;
  if (!filled) {
    auto* const words = reinterpret_cast<uint64_t*>(near.data());
    for (uint64_t i = 0; i < (margin + most) / 8 + 1; ++i) words[i] = i * 0x9e3779b97f4a7c15 + 1;
    filled = true;
  }
  there_and_back<TestType>(near, 1u << 20);
  if (!enough) {
    WARN("2^31 - 1 bytes: needs " << (needed >> 20) << " MiB of free memory");
    return;
  }
  there_and_back<TestType>(near, longest);
}
