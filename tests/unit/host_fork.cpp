// SPDX-License-Identifier: MIT

/// @file
/// @brief Children of fork() that end their copies of objects: nothing happens to the parent's, and no child hangs.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/linux/child_process.hpp>
#include <xio/host/memory/doorbell_proxy.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/vfio_memory.hpp>
#include <xio/nvme.hpp>

#include "catch.hpp"
#include "unit/host_fake_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::eventually;
using host_tests::FakeNvme;
using host_tests::FakeWorld;

namespace {

/// Runs `body` in a child, which has 20 s; returns its exit status: 0, what `body` returns, 100 for an exception, or
/// 128 + the signal.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(20);
    int status = 100;
    try {
      status = body();
    } catch (const std::exception&) {
    }
    ::_exit(status);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool works(const NvmeController& controller, const NvmeQueue& queue) {
  xio::nvme::Queue<xio::Sharing::thread> q(queue.handle());
  const DmaBuffer data = controller.allocate(4096);
  const auto until = q.deadline(xio::operator""_s(20));
  return q.wait(q.submit(xio::nvme::read(7, 1), xio::nvme::ContiguousPages{data.bus()}, until), until).is_ok() &&
         controller.identify_namespace(1).blocks != 0;
}

}  // namespace

TEST_CASE("a child that ends its copy of a controller leaves the parent's alone", "[host][fork]") {
  std::optional<NvmeController> controller(std::make_unique<xio::emulation::NvmeController>());
  std::optional<NvmeQueue> queue(controller->create_queue());
  std::optional<DmaBuffer> data(controller->allocate(8192));
  REQUIRE(works(*controller, *queue));
  const int round = GENERATE(range(0, 4));
  CAPTURE(round);
  CHECK(in_child([&] {
          if (round == 0) queue.reset();
          if (round == 1) queue->remove();
          if (round == 2) controller.reset(), queue.reset(), data.reset();
          if (round == 3) throw Error("unwinds");
          return 0;
        }) == (round == 3 ? 100 : 0));
  CHECK(works(*controller, *queue));
  controller->recover();
  CHECK(works(*controller, *queue));
}

TEST_CASE("a child that unwinds ends nothing", "[host][fork]") {
  const auto world = std::make_shared<FakeWorld>();
  NvmeController controller(std::make_unique<FakeNvme>(world));
  NvmeQueue queue = controller.create_queue();
  const size_t before = world->log.size();
  // The child counts what its copy of the controller was told.
  CHECK(in_child([&] {
          const auto ended = std::make_pair(std::move(controller), std::move(queue));
          throw Error("unwinds");
          return 0;
        }) == 100);
  CHECK(in_child([&] {
          {
            const auto ended = std::make_pair(std::move(controller), std::move(queue));
          }
          return world->log.size() == before && !world->live_sqs.empty() ? 0 : 1;
        }) == 0);
  CHECK(world->live_sqs.size() == 1);
}

TEST_CASE("a child is refused where it would use its copy of a controller", "[host][fork]") {
  const auto world = std::make_shared<FakeWorld>();
  NvmeController controller(std::make_unique<FakeNvme>(world));
  const std::string expected = "made by process " + std::to_string(::getpid());
  const auto refused = [&](auto&& call) { return contains(error_of(call), expected); };
  CHECK(in_child([&] {
          const bool all = refused([&] { controller.identify_namespace(1); }) &&
                           refused([&] { controller.recover(); }) && refused([&] { controller.create_queue(); }) &&
                           refused([&] { controller.status(); });
          return all ? 0 : 1;
        }) == 0);
  CHECK(controller.identify_namespace(1).blocks == 1000);
}

TEST_CASE("a child does not delete what its parent made", "[host][fork]") {
  struct Object {
    bool& ended;
    ~Object() { ended = true; }
  };
  bool ended = false;
  std::unique_ptr<Object, DeleteByMaker> object(new Object{ended});
  std::shared_ptr<Object> shared(new Object{ended}, DeleteByMaker());
  CHECK(in_child([&] {
          object.reset();
          shared.reset();
          return ended ? 1 : 0;
        }) == 0);
  object.reset();
  CHECK(ended);
  ended = false;
  shared.reset();
  CHECK(ended);
}

TEST_CASE("threads and processes of the parent are not ended by a child", "[host][fork]") {
  ChildCommand command;
  command.program = "sleep";
  command.arguments = {"60"};
  std::optional<ChildProcess> process(std::in_place, command);
  alignas(64) uint32_t words[4] = {};
  std::atomic<uint32_t> forwarded{0};
  std::optional<DoorbellProxy> proxy(std::in_place, words, size_t{4},
                                     [&](const DoorbellChange* changes, size_t) { forwarded.store(changes->value); });
  proxy->watch(1);
  CHECK(in_child([&] {
          proxy->unwatch(1);
          proxy.reset();
          process->kill(SIGKILL);
          process.reset();
          return 0;
        }) == 0);
  CHECK(process->running());
  CHECK_FALSE(process->wait_end(std::chrono::milliseconds(50)));
  __atomic_store_n(words + 1, 7u, __ATOMIC_RELEASE);
  CHECK(eventually([&] { return forwarded.load() == 7; }));
}

TEST_CASE("a child does not unmap what the parent's device uses", "[host][fork]") {
  struct Access final : VfioAccess {
    int device() const override { return -1; }
    const std::vector<IovaRange>& iova_ranges() const override { return ranges; }
    uint64_t page_bytes() const override { return 4096; }
    std::string description() const override { return "none"; }
    void map(void*, uint64_t, uint64_t) override {}
    void unmap(uint64_t, uint64_t) override { ++unmapped; }
    std::vector<IovaRange> ranges{{0, uint64_t{1} << 40}};
    int unmapped = 0;
  } access;
  alignas(4096) static unsigned char memory[4096];
  std::optional<VfioSpace> space(std::in_place, access);
  std::optional<DmaBuffer> buffer(space->map(memory, sizeof memory));
  CHECK(in_child([&] {
          buffer.reset();
          space.reset();
          return access.unmapped;
        }) == 0);
  buffer.reset();
  CHECK(access.unmapped == 1);
}
