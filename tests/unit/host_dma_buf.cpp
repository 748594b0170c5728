// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU memory as a memory region: what verbs are told of a dma-buf, and what becomes of refusals.

#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <xio/host/rdma/resources.hpp>

#include "catch.hpp"
#include "unit/fake_verbs/device.hpp"

using namespace xio::host;
using fake_verbs::contains;
using fake_verbs::error_of;
using fake_verbs::Ibverbs;

namespace {

/// What the last registration was told.
struct Told {
  uint64_t offset, bytes, iova;
  int fd, access, error;
};
Told told;
ibv_mr made;
int ended;

struct Device {
  Device() {
    told = {};
    ended = 0;
    Ibverbs& verbs = fake_verbs::table_of<Ibverbs>("libibverbs.so.1", "xio_fake_ibverbs");
    verbs.reg_dmabuf_mr = [](ibv_pd*, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access) -> ibv_mr* {
      const int error = told.error;
      told = {offset, bytes, iova, fd, access, error};
      errno = error;
      if (error != 0) return nullptr;
      // As rdma-core does it.
      made.addr = reinterpret_cast<void*>(offset);
      made.length = bytes;
      made.lkey = 5;
      made.rkey = 6;
      return &made;
    };
    verbs.destroyed = [](const char* what) {
      if (std::string(what) == "mr") ++ended;
      return 0;
    };
  }

 private:
  fake_verbs::Queue queue_;
  fake_verbs::OnlyDevice device_{queue_.context};
};

DmaBufExport exported() {
  DmaBufExport buffer;
  buffer.fd = FileDescriptor(::dup(2), "dup");
  buffer.offset = 0x3000;
  buffer.bytes = 8192;
  return buffer;
}

auto* const gpu = reinterpret_cast<void*>(uintptr_t{0x7f0000003000});

}  // namespace

TEST_CASE("a dma-buf is registered under the GPU's address", "[host][rdma]") {
  Device machine;
  const RdmaDevice device;
  const ProtectionDomain domain(device);
  const DmaBufExport buffer = exported();
  {
    const MemoryRegion region(domain, buffer, gpu, true);
    CHECK(told.offset == 0x3000);
    CHECK(told.bytes == 8192);
    CHECK(told.iova == 0x7f0000003000);
    CHECK(told.fd == buffer.fd.get());
    CHECK(told.access == rdma_access_all);
    CHECK(region.data() == gpu);
    CHECK(region.size() == 8192);
    CHECK(region.lkey() == 5);
    CHECK(region.remote().address == 0x7f0000003000);
    CHECK(region.remote().flags == 0);
  }
  CHECK(ended == 1);
  const MemoryRegion region(domain, buffer, gpu, false);
  CHECK((told.access & IBV_ACCESS_REMOTE_ATOMIC) == 0);
  CHECK(region.remote().flags == remote_memory_flag::no_atomics);
}

TEST_CASE("a driver that takes no dma-bufs is named as the reason", "[host][rdma]") {
  Device machine;
  const RdmaDevice device;
  const ProtectionDomain domain(device);
  const DmaBufExport buffer = exported();
  const auto attempt = [&] { MemoryRegion(domain, buffer, gpu, true); };
  told.error = EOPNOTSUPP;
  CHECK(contains(error_of(attempt), "supports no dma-bufs; keep data in host memory"));
  told.error = ENOMEM;
  CHECK(contains(error_of(attempt), "cannot register 8192 bytes of GPU memory: Cannot allocate memory"));
}
