// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Helpers of the tests of the host side.

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include <xio/host/error.hpp>
#include <xio/host/wait.hpp>

namespace host_tests {

/// Message of the host::Error that `action` throws; empty where it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const xio::host::Error& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Waits until `done()`; false where that takes more than 20 s.
template <class Done>
bool eventually(Done&& done) {
  const xio::host::Timeout deadline(std::chrono::milliseconds(20000));
  xio::host::Backoff backoff;
  while (!done()) {
    if (deadline.passed()) return false;
    backoff.pause();
  }
  return true;
}

/// A path in a folder of its own, removed together with what the test put there.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name) {
    char folder[] = "/tmp/xio-test-XXXXXX";
    if (::mkdtemp(folder) == nullptr) throw xio::host::Error("cannot make a scratch folder");
    folder_ = folder;
    path_ = folder_ + "/" + name;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    ::unlink(path_.c_str());
    ::rmdir(path_.c_str());
    ::rmdir(folder_.c_str());
  }
  const std::string& path() const { return path_; }
  void make(off_t bytes) const {
    std::FILE* file = std::fopen(path_.c_str(), "w");
    if (file == nullptr) throw xio::host::Error("cannot make " + path_);
    const int result = ::ftruncate(::fileno(file), bytes);
    std::fclose(file);
    if (result != 0) throw xio::host::Error("cannot resize " + path_);
  }
  /// -1 where there is no file.
  off_t bytes() const {
    struct stat info{};
    return ::stat(path_.c_str(), &info) == 0 ? info.st_size : -1;
  }

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace host_tests
