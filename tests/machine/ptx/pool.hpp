// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reference-counted objects, reused together with their allocations.

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace machine::ptx {

template <class T>
class Pool;

/// Base of T. T::clear() is called when the object's last owner releases it.
template <class T>
class Pooled {
  template <class>
  friend class Owner;
  friend class Pool<T>;
  uint32_t owners_ = 0;
  Pool<T>* home_ = nullptr;
};

/// Pointer to an object of a pool. Not thread-safe.
template <class T>
class Owner {
 public:
  Owner() = default;
  Owner(std::nullptr_t) {}
  explicit Owner(T* one) : one_(one) { ++one->owners_; }
  Owner(const Owner& other) : one_(other.one_) {
    if (one_ != nullptr) ++one_->owners_;
  }
  Owner(Owner&& other) noexcept : one_(std::exchange(other.one_, nullptr)) {}
  Owner& operator=(Owner other) noexcept {
    std::swap(one_, other.one_);
    return *this;
  }
  ~Owner() {
    if (one_ != nullptr && --one_->owners_ == 0) one_->home_->put_back(*one_);
  }

  T* get() const { return one_; }
  T& operator*() const { return *one_; }
  T* operator->() const { return one_; }
  explicit operator bool() const { return one_ != nullptr; }
  bool operator==(const Owner& other) const { return one_ == other.one_; }
  bool alone() const { return one_->owners_ == 1; }

 private:
  T* one_ = nullptr;
};

/// Objects of one type. The pool must outlive their owners.
template <class T>
class Pool {
 public:
  Owner<T> take() {
    if (free_.empty()) {
      all_.emplace_back();
      all_.back().home_ = this;
      free_.push_back(&all_.back());
    }
    T* const one = free_.back();
    free_.pop_back();
    return Owner<T>(one);
  }

 private:
  friend class Owner<T>;
  void put_back(T& one) {
    one.clear();
    free_.push_back(&one);
  }

  std::deque<T> all_;
  std::vector<T*> free_;
};

}  // namespace machine::ptx
