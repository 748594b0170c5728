// SPDX-License-Identifier: MIT
#include "tester/cli/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include <xio/host/linux/service_thread.hpp>

namespace tester {

Progress::Progress(std::string what, uint64_t total, std::function<uint64_t()> done, bool always)
    : what_(std::move(what)), total_(total), done_(std::move(done)), terminal_(::isatty(STDERR_FILENO) == 1) {
  if (terminal_ || always) thread_ = xio::host::start_service_thread([this] { watch(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (printed_ && terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::watch() {
  const auto begin = std::chrono::steady_clock::now();
  auto wait = std::chrono::milliseconds(1000);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, wait, [this] { return stop_; })) {
    print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    wait = std::chrono::milliseconds(terminal_ ? 500 : 2000);
  }
}

void Progress::print(double seconds) {
  const uint64_t done = done_();
  const double rate = static_cast<double>(done) / seconds;
  std::fprintf(stderr, "%s%.0f s: %llu", terminal_ ? "\r\033[K" : "", seconds, static_cast<unsigned long long>(done));
  if (total_ != 0) std::fprintf(stderr, " of %llu", static_cast<unsigned long long>(total_));
  std::fprintf(stderr, " %s, %.0f per second", what_.c_str(), rate);
  if (!terminal_) std::fputc('\n', stderr);
  std::fflush(stderr);
  printed_ = true;
}

}  // namespace tester
