// SPDX-License-Identifier: MIT

/// @file
/// @brief What the list memory of a queue holds: the longest command as a PRP list by default, as an SGL on request.

#include <cstdint>
#include <memory>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>
#include <xio/vendors/nvme/sgl.hpp>

#include "catch.hpp"

using namespace xio::host;

TEST_CASE("list memory holds the longest command in scattered pages", "[host][queue]") {
  NvmeController controller(std::make_unique<xio::emulation::NvmeController>());
  QueueOptions options;
  const bool for_sgl = GENERATE(false, true);
  const uint64_t most_pages = controller.info().max_transfer_bytes / 4096 + 1;
  if (for_sgl) options.list_bytes = 4096;
  REQUIRE(4096 >= xio::nvme::needed_sgl_bytes(most_pages));
  const NvmeQueue queue = controller.create_queue(options);
  const DmaBuffer data = controller.allocate(size_t{2} * 4096);
  std::vector<uint64_t> pages;
  for (uint64_t i = 0; i < most_pages; ++i) pages.push_back(data.bus() + (i % 2 ^ 1) * 4096);
  xio::nvme::Queue<xio::Sharing::thread> q(queue.handle());
  const auto run = [&](const auto& where) {
    const auto until = q.deadline(xio::operator""_s(20));
    const xio::Token token = q.submit(xio::nvme::read(0, queue.plan().max_blocks), where, until);
    return token.submitted() ? q.wait(token, until) : token.status;
  };
  for (const uint32_t first : {0u, 512u, 4092u}) {
    const xio::nvme::PageArray scattered{pages.data(), 12, first};
    CHECK(run(scattered).is_ok());
    CHECK(run(xio::nvme::as_sgl(scattered)) == (for_sgl ? xio::Status::ok : xio::Status::out_of_range));
  }
}
