// SPDX-License-Identifier: MIT

/// @file
/// @brief Child processes: started, listened to, ended, and never left behind.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include <xio/host/linux/child_process.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

ChildCommand shell(const std::string& script) {
  ChildCommand command;
  command.program = "sh";
  command.arguments = {"-c", script};
  return command;
}

constexpr std::chrono::milliseconds patience{20000};

}  // namespace

TEST_CASE("programs are found in PATH, or by path", "[host][process]") {
  CHECK(contains(find_program("sh"), "/sh"));
  CHECK(find_program("/bin/sh") == "/bin/sh");
  CHECK(find_program("no-such-program-here").empty());
  CHECK(find_program("/etc/passwd").empty());
}

TEST_CASE("a program that cannot run is an error", "[host][process]") {
  ChildCommand command;
  command.program = "no-such-program-here";
  CHECK(contains(error_of([&] { ChildProcess child(command); }), "cannot find the program 'no-such-program-here'"));
  const host_tests::ScratchFile file("program");
  file.make(10);
  ::chmod(file.path().c_str(), 0755);
  command.program = file.path();
  CHECK(contains(error_of([&] { ChildProcess child(command); }), "cannot run '" + file.path() + "'"));
}

TEST_CASE("what a child says and how it ends is known", "[host][process]") {
  ChildProcess child(shell("echo first; echo second >&2; exit 3"));
  REQUIRE(child.wait_end(patience));
  CHECK_FALSE(child.running());
  CHECK(child.summary() == "exited with status 3; output: first | second");
}

TEST_CASE("only the end of much output is kept", "[host][process]") {
  ChildProcess child(shell("i=0; while [ $i -lt 20000 ]; do echo line$i; i=$((i+1)); done"));
  REQUIRE(child.wait_end(patience));
  CHECK(contains(child.summary(), "line19999"));
  CHECK_FALSE(contains(child.summary(), "line0 "));
  CHECK(child.summary().size() < 2000);
}

TEST_CASE("a signal that ends the child is told", "[host][process]") {
  ChildProcess child(shell("sleep 1000; true"));
  CHECK(child.running());
  CHECK(contains(child.summary(), "still running"));
  CHECK_FALSE(child.wait_end(std::chrono::milliseconds(1)));
  child.kill(SIGTERM);
  REQUIRE(child.wait_end(patience));
  CHECK(contains(child.summary(), "killed by signal 15"));
  child.kill(SIGKILL);  // goes nowhere: the number may belong to somebody else by now
}

TEST_CASE("a child that leaves others behind does not hold us up", "[host][process]") {
  // The grandchild keeps the output open, in a group of its own that no signal of ours reaches.
  ChildProcess child(shell("setsid sleep 60 & echo $!"));
  REQUIRE(child.wait_end(patience));
  const std::string said = "exited with status 0; output: ";
  REQUIRE(child.summary().compare(0, said.size(), said) == 0);
  const auto grandchild = static_cast<pid_t>(std::stol(child.summary().substr(said.size())));
  CHECK(::kill(grandchild, SIGKILL) == 0);
}

TEST_CASE("what a child has started ends with it", "[host][process]") {
  // The grandchild keeps a descriptor open: its other end hears that nobody has it any more.
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const FileDescriptor input(ends[0], "pipe");
  FileDescriptor output(ends[1], "pipe");
  ChildCommand command = shell("sleep 1000 & exit 3");
  command.inherited = {output.get()};
  ChildProcess child(command);
  output.reset();
  REQUIRE(child.wait_end(patience));
  pollfd entry{input.get(), POLLIN, 0};
  CHECK(::poll(&entry, 1, static_cast<int>(patience.count())) == 1);
  CHECK((entry.revents & POLLHUP) != 0);
}

TEST_CASE("the child ends with the object", "[host][process]") {
  pid_t pid = -1;
  {
    ChildProcess child(shell("exec sleep 1000"));
    pid = child.pid();
    REQUIRE(::kill(pid, 0) == 0);
  }
  CHECK(::kill(pid, 0) == -1);
}

TEST_CASE("the child does not end with the thread that made it", "[host][process]") {
  std::unique_ptr<ChildProcess> child;
  std::thread([&child] { child = std::make_unique<ChildProcess>(shell("exec sleep 1000")); }).join();
  CHECK_FALSE(child->wait_end(std::chrono::milliseconds(50)));
  CHECK(child->running());
}

TEST_CASE("the child has a session of its own, and only the descriptors that it was given", "[host][process]") {
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null");
  const FileDescriptor given(::fcntl(file.get(), F_DUPFD_CLOEXEC, 100), "duplicate");
  const FileDescriptor kept(::fcntl(file.get(), F_DUPFD_CLOEXEC, 120), "duplicate");
  ChildCommand command = shell("ls /proc/self/fd | tr '\\n' ' '; echo session $(cut -d' ' -f6 /proc/$$/stat)");
  command.inherited = {given.get()};
  ChildProcess child(command);
  REQUIRE(child.wait_end(patience));
  const std::string said = child.summary();
  INFO(said);
  CHECK(contains(said, " " + std::to_string(given.get()) + " "));
  CHECK_FALSE(contains(said, " " + std::to_string(kept.get()) + " "));
  CHECK(contains(said, "session " + std::to_string(child.pid())));
}

TEST_CASE("no signal is blocked in the child", "[host][process]") {
  ChildCommand command;  // a shell would unblock them by itself
  command.program = "grep";
  command.arguments = {"SigBlk", "/proc/self/status"};
  ChildProcess child(command);
  REQUIRE(child.wait_end(patience));
  CHECK(contains(child.summary(), "SigBlk:\t0000000000000000"));
}

TEST_CASE("a killed parent takes its child along", "[host][process]") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    try {
      ChildProcess child(shell("exec sleep 1000"));
      const pid_t pid = child.pid();
      if (::write(ends[1], &pid, sizeof pid) == sizeof pid) ::pause();
    } catch (const std::exception&) {
    }
    ::_exit(1);
  }
  const FileDescriptor output(ends[1], "pipe");
  const FileDescriptor input(ends[0], "pipe");
  pid_t pid = 0;
  REQUIRE(::read(input.get(), &pid, sizeof pid) == sizeof pid);
  REQUIRE(::kill(pid, 0) == 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  // The orphan may stay a zombie where nothing reaps it: it has ended all the same.
  const auto ended = [pid] {
    if (::kill(pid, 0) != 0) return true;
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    std::FILE* stat = std::fopen(path.c_str(), "r");
    if (stat == nullptr) return true;
    char text[256] = {};
    const size_t got = std::fread(text, 1, sizeof text - 1, stat);
    std::fclose(stat);
    return contains(std::string(text, got), ") Z ");
  };
  CHECK(host_tests::eventually(ended));
}
