// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Array of zeroed plain objects whose pages are allocated on first access.

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tester {

template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_destructible_v<T>, "plain objects only");

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(size_t count) : bytes_(count * sizeof(T)) {
    if (count == 0) return;
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ZeroedArray() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  T* data() const { return data_; }
  T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tester
