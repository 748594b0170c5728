// SPDX-License-Identifier: MIT

/// @file
/// @brief The longest message but one byte: 1 MiB, and 2^31 - 1 bytes, to the other side and back.

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

constexpr uint64_t longest = (uint64_t{1} << 31) - 1;
constexpr uint64_t margin = 4096;

constexpr size_t room = longest + 2 * margin + 1;

/// What is sent: `room` bytes that repeat after a number of pages that no power of two divides, so that they take
/// little memory.
class Pattern {
 public:
  Pattern() {
    const int file = memfd_create("xio-pattern", MFD_CLOEXEC);
    void* const place = mmap(nullptr, room + period, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || place == MAP_FAILED || ftruncate(file, period) != 0) throw std::bad_alloc();
    bytes_ = static_cast<unsigned char*>(place);
    for (size_t at = 0; at < room; at += period) {
      if (mmap(bytes_ + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        throw std::bad_alloc();
    }
    close(file);
    auto* const words = reinterpret_cast<uint64_t*>(bytes_);
    for (uint64_t i = 0; i < period / 8; ++i) words[i] = i * 0x9e3779b97f4a7c15 + 1;
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { munmap(bytes_, room + period); }
  unsigned char* data() { return bytes_; }

 private:
  static constexpr size_t period = size_t{2039} * 4096;
  unsigned char* bytes_ = nullptr;
};

/// Where it arrives: memory that is only there where it is used.
class Pages {
 public:
  Pages()
      : bytes_(static_cast<unsigned char*>(
            mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (bytes_ == MAP_FAILED) throw std::bad_alloc();
    madvise(bytes_, room, MADV_HUGEPAGE);  // faster, where it is heeded
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(bytes_, room); }
  unsigned char* data() { return bytes_; }

 private:
  unsigned char* bytes_;
};

// For all vendors: pages that are there already cost less than new ones.
Pattern& pattern() {
  static Pattern all;
  return all;
}
Pages& pages() {
  static Pages all;
  return all;
}

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

/// `far` holds what an earlier run left between its first and its last `margin` bytes.
template <class Kit>
void there_and_back(Pattern& near, Pages& far, uint32_t length) {
  CAPTURE(length);
  std::memset(far.data(), 0, 2 * margin + length);
  RdmaRig<Kit> rig(Kit::config(), 4096);
  const Region local{reinterpret_cast<uint64_t>(near.data()), room, rig.fabric.keys().add(near.data(), room)};
  const RemoteMemory remote{reinterpret_cast<uint64_t>(far.data()), room, rig.fabric.keys().add(far.data(), room)};
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
  Pattern& near = pattern();
  Pages& far = pages();
  there_and_back<TestType>(near, far, 1u << 20);
  const uint64_t needed = 2 * longest + (uint64_t{1} << 29);  // the emulated NIC copies a message
  if (available_bytes() < needed) {
    WARN("2^31 - 1 bytes: needs " << (needed >> 20) << " MiB of free memory");
    return;
  }
  there_and_back<TestType>(near, far, longest);
}
