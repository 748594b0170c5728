// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Byte pipe between processes through shared memory.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// A byte ring in shared memory, initially zeroed. Single producer, single consumer across all processes.
class SharedPipe {
 public:
  /// Writes all of `bytes`. Returns false if the ring stays full until the deadline.
  bool write(const void* from, uint64_t bytes, const host::Timeout& until) {
    const auto* source = static_cast<const unsigned char*>(from);
    return transfer(bytes, until, [&](uint64_t done, uint64_t part) {
      const uint64_t at = written_ % size;
      const uint64_t count = std::min({part, size - (written_ - load(&read_)), size - at});
      std::memcpy(data_ + at, source + done, count);
      store(&written_, written_ + count);
      return count;
    });
  }
  /// Reads all of `bytes`. Returns false if they do not arrive by the deadline.
  bool read(void* to, uint64_t bytes, const host::Timeout& until) {
    auto* target = static_cast<unsigned char*>(to);
    return transfer(bytes, until, [&](uint64_t done, uint64_t part) {
      const uint64_t at = read_ % size;
      const uint64_t count = std::min({part, load(&written_) - read_, size - at});
      std::memcpy(target + done, data_ + at, count);
      store(&read_, read_ + count);
      return count;
    });
  }
  /// Returns whether there is data to read.
  bool has_data() const { return load(&written_) != load(&read_); }

 private:
  static constexpr uint64_t size = uint64_t{1} << 20;

  template <class Step>
  static bool transfer(uint64_t bytes, const host::Timeout& until, Step step) {
    host::Backoff backoff;
    for (uint64_t done = 0; done < bytes;) {
      const uint64_t count = step(done, bytes - done);
      done += count;
      if (count != 0) {
        backoff.reset();
      } else if (until.passed()) {
        return false;
      } else {
        backoff.pause();
      }
    }
    return true;
  }
  static uint64_t load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  static void store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

  alignas(64) uint64_t written_;
  alignas(64) uint64_t read_;
  alignas(64) unsigned char data_[size];
};

/// Named shared memory (shm_open(3)). Movable.
class SharedMemory {
 public:
  /// Opens the memory; the first process creates it, zeroed.
  /// @param name   for example "/xio-test-17"
  /// @param bytes  size, equal in all processes
  SharedMemory(const std::string& name, size_t bytes) : bytes_(bytes) {
    const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) fail("make or open", name, errno);
    if (::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      const int error = errno;
      ::close(file);
      fail("size", name, error);
    }
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    ::close(file);
    if (memory_ == MAP_FAILED) fail("map", name, error);
  }
  SharedMemory(SharedMemory&& other) noexcept : memory_(other.memory_), bytes_(other.bytes_) {
    other.memory_ = MAP_FAILED;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
  }

  void* data() const { return memory_; }
  /// Unlinks the name; existing mappings stay valid.
  static void remove(const std::string& name) { ::shm_unlink(name.c_str()); }

 private:
  [[noreturn]] static void fail(const char* what, const std::string& name, int error) {
    throw host::Error(std::string("cannot ") + what + " the shared memory " + name + ": " + std::strerror(error));
  }

  void* memory_ = MAP_FAILED;
  size_t bytes_;
};

}  // namespace emulation

XIO_NAMESPACE_END
