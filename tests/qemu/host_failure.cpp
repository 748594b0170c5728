// SPDX-License-Identifier: MIT

/// @file
/// @brief QEMU that dies or hangs is noticed, and nothing of it is left behind when we die.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;
using host_tests::QemuController;

namespace {

/// Whether a process runs; one that only waits to be reaped does not.
bool runs(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::FILE* stat = std::fopen(path.c_str(), "r");
  if (stat == nullptr) return false;
  char text[512] = {};
  const size_t got = std::fread(text, 1, sizeof text - 1, stat);
  std::fclose(stat);
  const std::string line(text, got);
  const size_t state = line.rfind(')');
  return state != std::string::npos && line.compare(state, 4, ") Z ") != 0;
}

}  // namespace

TEST_CASE("a killed QEMU is an error at once, and no hang", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeQueue queue = machine.controller.create_queue();
  machine.qemu->process().kill(SIGKILL);
  REQUIRE(machine.qemu->process().wait_end(std::chrono::milliseconds(20000)));
  CHECK_FALSE(machine.qemu->alive());
  const std::string message = error_of([&] { machine.qemu->read32(0); });
  CHECK(contains(message, "killed by signal 9"));
  CHECK_FALSE(error_of([&] { machine.controller.identify_namespace(1); }).empty());

  // The device side sees nothing but time passing; the proxy keeps what it could not deliver.
  xio::nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const xio::Token token = io.try_submit(xio::nvme::flush(), xio::nvme::NoData{});
  CHECK(io.wait(token, xio::deadline(xio::Duration{20000000})) == xio::Status::timed_out);
  CHECK(host_tests::eventually([&] { return !machine.qemu->doorbell_error().empty(); }));
  CHECK(contains(machine.qemu->doorbell_error(), "QEMU"));
  CHECK_FALSE(error_of([&] { machine.controller.recover(); }).empty());
  CHECK_FALSE(queue.valid());
  CHECK_FALSE(error_of([&] { queue.remove(); }).empty());
}

TEST_CASE("a QEMU that ends while a command waits is noticed", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuController machine(QemuOptions{});
  machine.controller.request_event();
  machine.qemu->process().kill(SIGKILL);
  CHECK_FALSE(error_of([&] { machine.controller.take_event(std::chrono::milliseconds(20000)); }).empty());
}

TEST_CASE("a QEMU that does not answer is an error after the deadline", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuOptions options = options_for(protocol);
  options.deadline = std::chrono::milliseconds(1500);
  pid_t pid = -1;
  {
    QemuNvme qemu(options);
    pid = qemu.process().pid();
    qemu.process().kill(SIGSTOP);
    CHECK(contains(error_of([&] { qemu.read32(0); }), "has not answered within 1500 ms"));
    CHECK_FALSE(qemu.alive());
    CHECK(contains(error_of([&] { qemu.write32(0, 0); }), "has already failed"));
  }
  CHECK_FALSE(runs(pid));
}

TEST_CASE("a QEMU that a signal has stopped is not waited for until the deadline", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeQueue queue = machine.controller.create_queue();
  ChildProcess& process = machine.qemu->process();
  CHECK_FALSE(process.stopped());
  process.kill(SIGSTOP);
  CHECK(host_tests::eventually([&] { return process.stopped(); }));
  process.kill(SIGCONT);
  CHECK(host_tests::eventually([&] { return !process.stopped(); }));
  CHECK(machine.controller.identify_namespace(1).blocks != 0);
  process.kill(SIGSTOP);
  CHECK(contains(error_of([&] { queue.remove(); }), "was stopped by a signal, and not continued within 2000 ms"));
  CHECK_FALSE(machine.qemu->alive());
}

TEST_CASE("QEMU ends with the object", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  pid_t pid = -1;
  {
    QemuController machine(QemuOptions{});
    pid = machine.qemu->process().pid();
    CHECK(runs(pid));
  }
  CHECK_FALSE(runs(pid));
}

TEST_CASE("nothing is left behind when the process is killed", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    try {
      QemuController machine(options_for(protocol));
      const NvmeQueue queue = machine.controller.create_queue();
      const pid_t pid = machine.qemu->process().pid();
      if (::write(ends[1], &pid, sizeof pid) == sizeof pid) ::pause();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(1);
  }
  FileDescriptor output(ends[1], "pipe");
  const FileDescriptor input(ends[0], "pipe");
  output.reset();
  pid_t pid = 0;
  REQUIRE(::read(input.get(), &pid, sizeof pid) == sizeof pid);
  CHECK(runs(pid));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  CHECK(host_tests::eventually([pid] { return !runs(pid); }));
}
