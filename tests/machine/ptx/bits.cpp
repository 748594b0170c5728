// SPDX-License-Identifier: MIT
/// @file
/// @brief Logic, shifts and bit fields.

#include <machine/ptx/arithmetic.hpp>

#include <type_traits>

namespace machine::ptx {

namespace {

using Words = std::vector<std::string>;

uint64_t ones(uint64_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

struct Move {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    return static_cast<T>(a);
  }
};
struct And {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    return static_cast<T>(~a);
  }
};
/// cnot: 1 if the operand is 0, else 0.
struct IsZero {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    return static_cast<T>(a) == 0;
  }
};
/// The shift amount has 32 bits and is clamped to the width.
struct ShiftLeft {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    const uint32_t by = static_cast<uint32_t>(b);
    return by >= 8 * sizeof(T) ? 0 : static_cast<T>(static_cast<T>(a) << by);
  }
};
struct ShiftRight {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    constexpr uint32_t width = 8 * sizeof(T);
    uint32_t by = static_cast<uint32_t>(b);
    if (by >= width) {
      if (!std::is_signed_v<T>) return 0;
      by = width - 1;
    }
    return static_cast<std::make_unsigned_t<T>>(static_cast<T>(static_cast<T>(a) >> by));
  }
};
struct PopulationCount {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    uint64_t left = static_cast<T>(a);
    uint64_t count = 0;
    for (; left != 0; left &= left - 1) ++count;
    return count;
  }
};
struct LeadingZeros {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    uint64_t count = 0;
    for (uint64_t bit = uint64_t{1} << (8 * sizeof(T) - 1); bit != 0 && (a & bit) == 0; bit >>= 1) ++count;
    return count;
  }
};
struct Reverse {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    uint64_t out = 0;
    for (uint32_t i = 0; i < 8 * sizeof(T); ++i) out = out << 1 | (a >> i & 1);
    return out;
  }
};
/// bfind: the highest bit that differs from the sign or, for unsigned types, is set; all ones if there is none.
template <bool Amount>
struct FindLeading {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    using U = std::make_unsigned_t<T>;
    const uint64_t value = static_cast<U>(std::is_signed_v<T> && static_cast<T>(a) < 0 ? ~a : a);
    for (uint32_t i = 8 * sizeof(T); i-- > 0;) {
      if (value >> i & 1) return Amount ? 8 * sizeof(T) - 1 - i : i;
    }
    return 0xffffffffu;
  }
};
/// bfe d, a, position, length
struct Extract {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t width = 8 * sizeof(T);
    const uint32_t at = static_cast<uint32_t>(b & 0xff);
    const uint32_t length = static_cast<uint32_t>(c & 0xff);
    const uint64_t value = static_cast<U>(a);
    if (length == 0) return 0;
    const uint64_t top = at + length - 1 < width - 1 ? at + length - 1 : width - 1;
    const uint64_t sign = std::is_signed_v<T> ? value >> top & 1 : 0;
    uint64_t out = at >= width ? 0 : value >> at & ones(length);
    if (sign) {
      const uint64_t taken = at >= width ? 0 : (length < width - at ? length : width - at);
      out |= ~ones(taken);
    }
    return static_cast<U>(out);
  }
};
/// bfi d, a, into, position, length
struct Insert {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    const uint32_t at = static_cast<uint32_t>(c & 0xff);
    const uint32_t length = static_cast<uint32_t>(d & 0xff);
    if (at >= 8 * sizeof(T)) return static_cast<T>(b);
    const uint64_t mask = ones(length) << at;
    return static_cast<T>((b & ~mask) | (a << at & mask));
  }
};

template <bool Left, bool Wrap>
uint64_t funnel(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  const uint32_t amount = static_cast<uint32_t>(c);
  const uint32_t by = Wrap ? amount & 31 : amount > 32 ? 32 : amount;
  const uint64_t pair = b << 32 | (a & 0xffffffffu);
  return static_cast<uint32_t>(Left ? pair << by >> 32 : pair >> by);
}
template <>
uint64_t funnel<true, false>(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  const uint32_t amount = static_cast<uint32_t>(c);
  return amount >= 32 ? static_cast<uint32_t>(a) : static_cast<uint32_t>((b << 32 | (a & 0xffffffffu)) << amount >> 32);
}
uint64_t permute(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  const uint64_t bytes = b << 32 | (a & 0xffffffffu);
  uint64_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint64_t selector = c >> 4 * i & 15;
    uint64_t byte = bytes >> 8 * (selector & 7) & 0xff;
    if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << 8 * i;
  }
  return out;
}
/// prmt with a mode: the bytes of the result, highest first, for each value of the selector's lowest two bits.
enum class Permutation { f4e, b4e, rc8, ecl, ecr, rc16 };
constexpr uint16_t permutations[][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
template <Permutation P>
uint64_t permute_by(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  return permute(a, b, permutations[static_cast<int>(P)][c & 3], 0);
}
Compute permutation(const std::string& mode) {
  if (mode == "f4e") return &permute_by<Permutation::f4e>;
  if (mode == "b4e") return &permute_by<Permutation::b4e>;
  if (mode == "rc8") return &permute_by<Permutation::rc8>;
  if (mode == "ecl") return &permute_by<Permutation::ecl>;
  if (mode == "ecr") return &permute_by<Permutation::ecr>;
  return mode == "rc16" ? &permute_by<Permutation::rc16> : nullptr;
}
/// fns: the position of the n-th set bit of a mask, counted from a base, backwards if n is negative.
uint64_t find_nth(uint64_t mask, uint64_t base, uint64_t n, uint64_t) {
  const auto by = static_cast<int32_t>(n);
  auto at = static_cast<int32_t>(base);
  if (by == 0) return at >= 0 && at < 32 && (mask >> at & 1) != 0 ? base : 0xffffffffu;
  for (uint32_t left = by < 0 ? 0u - static_cast<uint32_t>(by) : static_cast<uint32_t>(by); at >= 0 && at < 32;
       at += by < 0 ? -1 : 1) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<uint32_t>(at);
  }
  return 0xffffffffu;
}
uint64_t logic3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
  uint64_t out = 0;
  for (uint32_t i = 0; i < 32; ++i) out |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
  return out;
}
uint64_t not_predicate(uint64_t a, uint64_t, uint64_t, uint64_t) { return ~a & 1; }

}  // namespace

Compute move_of(const Type& type) { return of_unsigned<Move>(type.bits == 1 ? 8u : type.bits); }

Compute bit_computation(const Words& words, const Type& type, uint32_t& inputs) {
  const std::string_view op = words[0];
  const uint32_t bits = type.letter == 'p' ? 8u : type.bits;
  const bool plain = words.size() == 2;
  inputs = 2;
  if (op == "shf" && words.size() == 4 && type.bits == 32) {
    inputs = 3;
    const bool left = words[1] == "l";
    if (!left && words[1] != "r") return nullptr;
    if (words[2] == "wrap") return left ? &funnel<true, true> : &funnel<false, true>;
    return words[2] != "clamp" ? nullptr : left ? &funnel<true, false> : &funnel<false, false>;
  }
  if (op == "bfind") {
    inputs = 1;
    if (words.size() == 3) return words[1] == "shiftamt" ? of_integer<FindLeading<true>>(type) : nullptr;
    return of_integer<FindLeading<false>>(type);
  }
  if (op == "prmt" && words.size() == 3 && type.bits == 32) {
    inputs = 3;
    return permutation(words[2]);
  }
  if (!plain || type.is_float()) return nullptr;
  if (op == "and") return of_unsigned<And>(bits);
  if (op == "or") return of_unsigned<Or>(bits);
  if (op == "xor") return of_unsigned<Xor>(bits);
  if (op == "shl") return of_unsigned<ShiftLeft>(bits);
  if (op == "shr") return of_integer<ShiftRight>(type);
  inputs = 1;
  if (op == "not") return type.letter == 'p' ? &not_predicate : of_unsigned<Not>(bits);
  if (op == "cnot") return of_unsigned<IsZero>(bits);
  if (op == "popc") return of_unsigned<PopulationCount>(bits);
  if (op == "clz") return of_unsigned<LeadingZeros>(bits);
  if (op == "brev") return of_unsigned<Reverse>(bits);
  inputs = 3;
  if (op == "bfe" && bits >= 32) return of_integer<Extract>(type);
  if (op == "prmt") return &permute;
  if (op == "fns" && bits == 32) return &find_nth;
  inputs = 4;
  if (op == "bfi" && bits >= 32) return of_unsigned<Insert>(bits);
  if (op == "lop3") return &logic3;
  return nullptr;
}

}  // namespace machine::ptx
