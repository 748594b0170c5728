// SPDX-License-Identifier: MIT

/// @file
/// @brief Deadlines of every length, and what is made with them.

#include <chrono>
#include <limits>
#include <memory>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/linux/child_process.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/wait.hpp>

#include "catch.hpp"

using namespace xio::host;
using std::chrono::hours;
using std::chrono::milliseconds;

TEST_CASE("a deadline of any length is ahead, or over at once if it is negative", "[host][wait]") {
  for (const milliseconds length : {milliseconds::max(), milliseconds::max() - milliseconds(1), milliseconds(hours(24)),
                                    milliseconds(int64_t{1} << 32), milliseconds(int64_t{1} << 43),
                                    milliseconds(int64_t{9223372036854}), milliseconds(int64_t{9223372036855})}) {
    INFO(length.count());
    const Timeout timeout(length);
    CHECK_FALSE(timeout.passed());
    CHECK(timeout.poll_timeout() > 86000000);
    CHECK(timeout.left().count() > 86000000);
  }
  for (const milliseconds length : {milliseconds(0), milliseconds(-1), milliseconds::min()}) {
    const Timeout timeout(length);
    CHECK(timeout.passed());
    CHECK(timeout.poll_timeout() <= 1);
  }
  CHECK(Timeout(milliseconds::max()).poll_timeout() == std::numeric_limits<int>::max());
  const auto now = Timeout::Clock::now();
  CHECK(Timeout::after(now, hours::max()) == Timeout::Clock::time_point::max());
  CHECK(Timeout::after(now, hours::min()) == now);
  CHECK(Timeout::after(now, milliseconds(7)) - now == milliseconds(7));
}

TEST_CASE("for ever is a deadline like any other", "[host][wait]") {
  ControllerOptions options;
  options.admin_deadline = options.ready_deadline = options.shutdown_deadline = milliseconds::max();
  NvmeController controller(std::make_unique<xio::emulation::NvmeController>(), options);
  CHECK(controller.identify_namespace(1).blocks != 0);
  controller.recover();
  ChildCommand command;
  command.program = "true";
  CHECK(ChildProcess(command).wait_end(milliseconds::max()));
}
