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

/// Addresses of `room` bytes, whose pages are there once they are used. All vendors share them: pages that are there
/// already cost less than new ones.
unsigned char* addresses() {
  void* const at = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  madvise(at, room, MADV_HUGEPAGE);  // faster, where it is heeded
  return static_cast<unsigned char*>(at);
}

/// What is sent: `room` bytes that repeat after a number of pages that no power of two divides, so that they take
/// little memory.
unsigned char* repeated() {
  constexpr size_t period = size_t{2039} * 4096;
  unsigned char* const all = addresses();
  const int file = memfd_create("xio-pattern", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, period) != 0) throw std::bad_alloc();
  for (size_t at = 0; at < room; at += period) {
    if (mmap(all + at, std::min(period, room - at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
        MAP_FAILED)
      throw std::bad_alloc();
  }
  close(file);
  auto* const words = reinterpret_cast<uint64_t*>(all);
  for (uint64_t i = 0; i < period / 8; ++i) words[i] = i * 0x9e3779b97f4a7c15 + 1;
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
void there_and_back(unsigned char* near, unsigned char* far, uint32_t length) {
  CAPTURE(length);
  std::memset(far, 0, 2 * margin + length);
  RdmaRig<Kit> rig(Kit::config(), 4096);
  const Region local{reinterpret_cast<uint64_t>(near), room, rig.fabric.keys().add(near, room)};
  const RemoteMemory remote{reinterpret_cast<uint64_t>(far), room, rig.fabric.keys().add(far, room)};
  rig.running();
  Sends<Kit> qp(rig.near.handle());
  REQUIRE(qp.wait(qp.put(remote.at(margin, length), local.at(margin, length), soon()), soon()).is_ok());
  CHECK(std::memcmp(far + margin, near + margin, length) == 0);
  CHECK(is_zero(far, margin));
  CHECK(is_zero(far + margin + length, margin));
  // And the counters are where the next message begins.
  REQUIRE(qp.wait(qp.put(remote.at(0, 8), local.at(margin, 8), soon()), soon()).is_ok());
  CHECK(std::memcmp(far, near + margin, 8) == 0);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("put: a message of 1 MiB or of 2^31 - 1 bytes -> it arrives and nothing else changes", "",
                        Vendors) {
  static unsigned char* const near = repeated();
  static unsigned char* const far = addresses();
  there_and_back<TestType>(near, far, 1u << 20);
  const uint64_t needed = 2 * longest + (uint64_t{1} << 29);  // the emulated NIC copies a message
  if (available_bytes() < needed) {
    WARN("2^31 - 1 bytes: needs " << (needed >> 20) << " MiB of free memory");
    return;
  }
  there_and_back<TestType>(near, far, longest);
}
