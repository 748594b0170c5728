// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A child process that cannot outlive this process; a dedicated thread starts, monitors and reaps it.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Command line of a child process.
struct ChildCommand {
  std::string program;                 ///< path, or a name that is looked up in PATH
  std::vector<std::string> arguments;  ///< without the program's name
  std::vector<int> inherited;          ///< descriptors that the child inherits under the same numbers
};

/// Finds an executable: `program` itself if it contains a slash, else the first match in PATH; empty if there is none.
inline std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0 ? program : std::string();
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    if (colon == std::string::npos) break;
    rest.erase(0, colon + 1);
  }
  return {};
}

/// A child process. The kernel kills it when this process ends, however that happens; the destructor kills it too, but
/// not that of a copy in another process, after fork().
///
/// A dedicated thread forks the child (PR_SET_PDEATHSIG is bound to the forking thread), collects its standard output
/// and error, and reaps it. The child runs in a new session, so that Ctrl-C on the terminal does not signal it. Its own
/// children end with it, for example those of a script, unless they are in another session. Thread-safe.
class ChildProcess {
 public:
  /// Starts the program. Throws Error if it cannot be executed.
  explicit ChildProcess(const ChildCommand& command) {
    const std::string path = find_program(command.program);
    if (path.empty()) throw Error("cannot find the program '" + command.program + "'");
    std::vector<std::string> words{command.program};
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    thread_ = start_service_thread([this, path, words, inherited = command.inherited] { run(path, words, inherited); });

    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return state_ != State::starting; });
    if (state_ != State::failed) return;
    lock.unlock();
    thread_.join();
    throw Error(text_);
  }

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    kill(SIGKILL);
    thread_.join();
  }

  pid_t pid() const { return pid_; }

  bool running() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return state_ == State::running;
  }

  /// Whether a signal has stopped the child, and it was not continued.
  bool stopped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    siginfo_t info{};
    return state_ == State::running &&
           ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  /// Sends a signal to the child's process group, unless the child has ended.
  void kill(int signal_number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (state_ == State::running && thread_.is_here()) ::kill(-pid_, signal_number);
  }

  /// Waits until the child has ended. Returns false on timeout.
  bool wait_end(std::chrono::milliseconds limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_until(lock, Timeout::after(Timeout::Clock::now(), limit),
                               [this] { return state_ == State::ended; });
  }

  /// Status for messages, on one line: how the child ended, or that it runs, and the end of its output.
  std::string summary() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string line = state_ == State::running ? "still running" : ending_;
    std::string said = text_.size() > summary_bytes ? "..." + text_.substr(text_.size() - summary_bytes) : text_;
    while (!said.empty() && (said.back() == '\n' || said.back() == '\r')) said.pop_back();
    for (size_t at; (at = said.find('\n')) != std::string::npos;) said.replace(at, 1, " | ");
    return said.empty() ? line : line + "; output: " + said;
  }

 private:
  enum class State { starting, failed, running, ended };
  static constexpr size_t kept_bytes = 16384;  // minimum of retained output
  static constexpr size_t summary_bytes = 800;

  void become(State state, const std::string& text = {}) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
    if (!text.empty()) text_ = text;
    changed_.notify_all();
  }

  void run(const std::string& path, const std::vector<std::string>& words, const std::vector<int>& inherited) {
    FileDescriptor output;
    try {
      output = start(path, words, inherited);
    } catch (const std::exception& failure) {
      become(State::failed, failure.what());
      return;
    }
    become(State::running);
    listen(output.get());
    reap();
  }

  /// Forks and waits until execv() has succeeded. Returns the read end of the child's output pipe.
  FileDescriptor start(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<int>& inherited) {
    // Between fork and exec only async-signal-safe calls are allowed: prepare everything before.
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    auto [output_read, output_write] = make_pipe();
    auto [status_read, status_write] = make_pipe();
    const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC), "cannot open /dev/null");
    const pid_t parent = ::getpid();

    pid_ = ::fork();
    if (pid_ < 0) throw_system_error("cannot start a process", errno);
    if (pid_ == 0) {
      ::setsid();
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::dup2(null.get(), STDIN_FILENO);
      ::dup2(output_write.get(), STDOUT_FILENO);
      ::dup2(output_write.get(), STDERR_FILENO);
      for (const int fd : inherited) ::fcntl(fd, F_SETFD, 0);
      ::execv(path.c_str(), arguments.data());
      const int error = errno;
      const ssize_t written = ::write(status_write.get(), &error, sizeof error);
      ::_exit(written == sizeof error ? 127 : 126);
    }

    status_write.reset();
    int error = 0;
    ssize_t got;
    while ((got = ::read(status_read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (got == 0) return std::move(output_read);
    ::waitpid(pid_, nullptr, 0);
    throw_system_error("cannot run '" + path + "'", error);
  }

  static std::pair<FileDescriptor, FileDescriptor> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("cannot make a pipe", errno);
    // Separate owners, so that none leaks if the other's constructor throws.
    FileDescriptor read_end(ends[0], "pipe");
    FileDescriptor write_end(ends[1], "pipe");
    return {std::move(read_end), std::move(write_end)};
  }

  /// Collects the child's output until the child ends. Other processes may hold the pipe open for longer.
  void listen(int output) {
    const FileDescriptor process(open_process());
    // Without a pidfd (old kernels, sandboxes), poll for the end of the child every 20 ms.
    const int interval = process ? -1 : 20;
    ::fcntl(output, F_SETFL, O_NONBLOCK);
    bool output_open = true;
    while (!has_ended()) {
      pollfd entries[2] = {{output_open ? output : -1, POLLIN, 0}, {process.get(), POLLIN, 0}};
      ::poll(entries, 2, interval);
      if (output_open) output_open = take(output);
    }
    if (output_open) take(output);
  }

  FileDescriptor open_process() const {
    const auto returned = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    return returned < 0 ? FileDescriptor() : FileDescriptor(returned, "pidfd");
  }

  /// Returns whether the child is a zombie. Its PID is not reused before it is reaped.
  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid != 0;
  }

  /// Reads the available output. Returns false at the end of the stream.
  bool take(int output) {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::read(output, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      const std::lock_guard<std::mutex> lock(mutex_);
      text_.append(buffer, static_cast<size_t>(got));
      if (text_.size() > 2 * kept_bytes) text_.erase(0, text_.size() - kept_bytes);
    }
  }

  void reap() {
    const std::lock_guard<std::mutex> lock(mutex_);
    // The PID, and thus the process group ID, cannot be reused before the child is reaped.
    ::kill(-pid_, SIGKILL);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    state_ = State::ended;
    const std::string status = std::to_string(info.si_status);
    ending_ = info.si_code == CLD_EXITED ? "exited with status " + status
                                         : "killed by signal " + status + " (" + signal_name(info.si_status) + ")";
    changed_.notify_all();
  }

  static std::string signal_name(int number) {
    const char* text = ::strsignal(number);
    return text == nullptr ? "unknown" : text;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::starting;
  pid_t pid_ = -1;  // written before state_ leaves `starting`
  std::string text_;
  std::string ending_;
  ServiceThread thread_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
