// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What fuzzers share: values taken off an input, and how one says that something is wrong.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace fuzz {

/// Ends the program, which makes libFuzzer keep the input, where `holds` is false.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}
inline void expect(bool holds, const std::string& what) { expect(holds, what.c_str()); }

/// As above, of two numbers that must be equal.
inline void expect_same(uint64_t expected, uint64_t actual, const char* what) {
  if (expected == actual) return;
  std::fprintf(stderr, "does not hold: %s: expected 0x%llx, is 0x%llx\n", what,
               static_cast<unsigned long long>(expected), static_cast<unsigned long long>(actual));
  std::abort();
}

/// Takes values off an input, from its beginning on. An input that is used up gives zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t bytes) : at_(data), left_(bytes) {}

  bool is_used_up() const { return left_ == 0; }

  template <class T = uint8_t>
  T take() {
    static_assert(std::is_arithmetic<T>::value && !std::is_same<T, bool>::value, "a number");
    T value{};
    const size_t bytes = left_ < sizeof value ? left_ : sizeof value;
    if (bytes != 0) std::memcpy(&value, at_, bytes);
    skip(bytes);
    return value;
  }
  bool flag() { return (take() & 1) != 0; }
  /// A number from 0 to `most`.
  template <class T>
  T up_to(T most) {
    const T value = take<T>();
    return most == static_cast<T>(~T{0}) ? value : static_cast<T>(value % (most + 1));
  }
  /// A number of 64 bits of which a small, a large and an odd one are equally likely.
  uint64_t wide() {
    const uint32_t bits = take() & 63;
    const uint64_t value = take<uint64_t>();
    return value & (~uint64_t{0} >> bits);
  }
  /// Up to `most` bytes.
  std::vector<uint8_t> bytes(size_t most) {
    const size_t count = left_ < most ? left_ : most;
    std::vector<uint8_t> taken(at_, at_ + count);
    skip(count);
    return taken;
  }
  /// All that is left.
  std::string text() {
    std::string taken(reinterpret_cast<const char*>(at_), left_);
    skip(left_);
    return taken;
  }

 private:
  void skip(size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
  }

  const uint8_t* at_;
  size_t left_;
};

}  // namespace fuzz
