// SPDX-License-Identifier: MIT
/// @file
/// @brief Integer arithmetic, comparison, selection.

#include <machine/ptx/arithmetic.hpp>
#include <machine/ptx/parser.hpp>

#include <type_traits>

namespace machine::ptx {

namespace {

using Words = std::vector<std::string>;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// A result in a register: zero-extended.
template <class T>
uint64_t result(T value) {
  return static_cast<uint64_t>(static_cast<Unsigned<T>>(value));
}
template <class T>
T cut(uint64_t value) {
  return static_cast<T>(value);
}

// Sums and products are computed in unsigned 64-bit arithmetic, whose overflow is defined.

struct Add {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return result<T>(cut<T>(a + b));
  }
};
struct Subtract {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return result<T>(cut<T>(a - b));
  }
};
struct Multiply {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return result<T>(cut<T>(a * b + c));
  }
};
struct MultiplyHigh {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    using Product = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;
    const Product full = static_cast<Product>(cut<T>(a)) * static_cast<Product>(cut<T>(b));
    return result<T>(cut<T>(static_cast<uint64_t>(full >> (8 * sizeof(T))) + c));
  }
};
/// A product with twice the operands' width.
struct MultiplyWide {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    const uint64_t full = static_cast<uint64_t>(static_cast<int64_t>(cut<T>(a))) *
                              static_cast<uint64_t>(static_cast<int64_t>(cut<T>(b))) +
                          c;
    return sizeof(T) >= 4 ? full : full & ((uint64_t{1} << 16 * sizeof(T) % 64) - 1);
  }
};
/// Division by zero gives an unspecified value: all ones, as on hardware.
struct Divide {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    const T x = cut<T>(a);
    const T y = cut<T>(b);
    if (y == 0) return result<T>(static_cast<T>(~T{0}));
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return result<T>(cut<T>(0 - a));
    return result<T>(static_cast<T>(x / y));
  }
};
struct Remainder {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    const T x = cut<T>(a);
    const T y = cut<T>(b);
    if (y == 0) return result<T>(x);
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
    return result<T>(static_cast<T>(x % y));
  }
};
struct Minimum {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return result<T>(cut<T>(a) < cut<T>(b) ? cut<T>(a) : cut<T>(b));
  }
};
struct Maximum {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return result<T>(cut<T>(a) < cut<T>(b) ? cut<T>(b) : cut<T>(a));
  }
};
struct Negate {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    return result<T>(cut<T>(0 - a));
  }
};
struct Absolute {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t, uint64_t, uint64_t) {
    return result<T>(cut<T>(cut<T>(a) < 0 ? 0 - a : a));
  }
};
/// sad: absolute difference plus the third operand.
struct SumOfDifference {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return result<T>(cut<T>((cut<T>(a) < cut<T>(b) ? b - a : a - b) + c));
  }
};
/// mul24, mad24: bits 31:0 (lo) or 47:16 (hi) of a product of 24-bit numbers, plus the third operand.
template <uint32_t Shift>
struct Multiply24 {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    const auto low24 = [](uint64_t x) { return static_cast<int64_t>(static_cast<T>(x << 8) >> 8); };
    return result<uint32_t>(cut<uint32_t>(static_cast<uint64_t>(low24(a) * low24(b) >> Shift) + c));
  }
};
/// dp4a (dp2a): sum of the products of four bytes (two halves of `a`, two bytes of `b`), plus the third operand.
template <class A, class B, uint32_t Parts, uint32_t First>
uint64_t dot_product(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  uint64_t sum = c;
  for (uint32_t i = 0; i < Parts; ++i) {
    const auto x = static_cast<int64_t>(static_cast<A>(a >> 8 * sizeof(A) * i));
    const auto y = static_cast<int64_t>(static_cast<B>(b >> 8 * (First + i)));
    sum += static_cast<uint64_t>(x * y);
  }
  return cut<uint32_t>(sum);
}
template <uint32_t Parts, uint32_t First, class Unsigned, class Signed>
Compute dot_product_of(const std::string& a, const std::string& b) {
  if (a == "u32" && b == "u32") return &dot_product<Unsigned, uint8_t, Parts, First>;
  if (a == "u32" && b == "s32") return &dot_product<Unsigned, int8_t, Parts, First>;
  if (a == "s32" && b == "u32") return &dot_product<Signed, uint8_t, Parts, First>;
  return a == "s32" && b == "s32" ? &dot_product<Signed, int8_t, Parts, First> : nullptr;
}
Compute dot_product_of(const Words& words) {
  if (words[0] == "dp4a" && words.size() == 3) return dot_product_of<4, 0, uint8_t, int8_t>(words[1], words[2]);
  if (words[0] != "dp2a" || words.size() != 4) return nullptr;
  if (words[1] == "lo") return dot_product_of<2, 0, uint16_t, int16_t>(words[2], words[3]);
  return words[1] == "hi" ? dot_product_of<2, 2, uint16_t, int16_t>(words[2], words[3]) : nullptr;
}
struct Select {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return result<T>(cut<T>(c & 1 ? a : b));
  }
};
/// slct: selects by the sign of the third operand.
struct SelectBySign {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return result<T>(cut<T>(static_cast<int32_t>(c) >= 0 ? a : b));
  }
};

struct Equal {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return cut<T>(a) == cut<T>(b);
  }
};
struct NotEqual {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return cut<T>(a) != cut<T>(b);
  }
};
struct Less {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return cut<T>(a) < cut<T>(b);
  }
};
struct LessOrEqual {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return cut<T>(a) <= cut<T>(b);
  }
};
struct Greater {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return cut<T>(a) > cut<T>(b);
  }
};
struct GreaterOrEqual {
  template <class T>
  static uint64_t run(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return cut<T>(a) >= cut<T>(b);
  }
};

template <class T>
uint64_t add_with_carry(uint64_t a, uint64_t b, bool in, bool& out) {
  const UnsignedWide sum = static_cast<UnsignedWide>(cut<T>(a)) + cut<T>(b) + (in ? 1 : 0);
  out = (sum >> (8 * sizeof(T))) != 0;
  return cut<T>(static_cast<uint64_t>(sum));
}
/// The condition code of a subtraction is a borrow.
template <class T>
uint64_t subtract_with_borrow(uint64_t a, uint64_t b, bool in, bool& out) {
  out = static_cast<UnsignedWide>(cut<T>(a)) < static_cast<UnsignedWide>(cut<T>(b)) + (in ? 1 : 0);
  return cut<T>(a - b - (in ? 1 : 0));
}
enum class Sum { add, subtract, low, high };
template <class T, Sum S, bool In, bool Out>
uint64_t carry_step(uint64_t a, uint64_t b, uint64_t c, bool& carry) {
  bool out = false;
  const bool in = In && carry;
  uint64_t value = 0;
  if (S == Sum::add) value = add_with_carry<T>(a, b, in, out);
  if (S == Sum::subtract) value = subtract_with_borrow<T>(a, b, in, out);
  if (S == Sum::low) value = add_with_carry<T>(cut<T>(cut<T>(a) * cut<T>(b)), c, in, out);
  if (S == Sum::high) {
    const UnsignedWide full = static_cast<UnsignedWide>(cut<T>(a)) * cut<T>(b);
    value = add_with_carry<T>(cut<T>(static_cast<uint64_t>(full >> (8 * sizeof(T)))), c, in, out);
  }
  if (Out) carry = out;
  return value;
}
template <class T, Sum S>
Carry carry_of(bool in, bool out) {
  if (in) return out ? &carry_step<T, S, true, true> : &carry_step<T, S, true, false>;
  return out ? &carry_step<T, S, false, true> : nullptr;
}
template <Sum S>
Carry carry_of(const Type& type, bool in, bool out) {
  if (type.bits == 32) return carry_of<uint32_t, S>(in, out);
  return type.bits == 64 ? carry_of<uint64_t, S>(in, out) : nullptr;
}

bool has(const Words& words, const char* word) {
  for (const std::string& one : words) {
    if (one == word) return true;
  }
  return false;
}

}  // namespace

Compute comparison(const std::string& relation, const Type& type) {
  if (type.is_float()) {
    uint32_t inputs = 0;
    return float_computation({"setp", relation}, type, inputs);
  }
  if (type.bits < 16) return nullptr;
  if (relation == "eq") return of_integer<Equal>(type);
  if (relation == "ne") return of_integer<NotEqual>(type);
  if (type.letter == 'b') return nullptr;
  if (relation == "lt") return of_integer<Less>(type);
  if (relation == "le") return of_integer<LessOrEqual>(type);
  if (relation == "gt") return of_integer<Greater>(type);
  if (relation == "ge") return of_integer<GreaterOrEqual>(type);
  const Type plain{'u', type.bits};
  if (type.is_signed()) return nullptr;
  if (relation == "lo") return of_integer<Less>(plain);
  if (relation == "ls") return of_integer<LessOrEqual>(plain);
  if (relation == "hi") return of_integer<Greater>(plain);
  if (relation == "hs") return of_integer<GreaterOrEqual>(plain);
  return nullptr;
}

Compute integer_computation(const Words& words, const Type& type, uint32_t& inputs) {
  const std::string_view op = words[0];
  if (op == "dp4a" || op == "dp2a") {
    inputs = 3;
    return dot_product_of(words);
  }
  if (op == "mul24" || op == "mad24") {
    inputs = op == "mad24" ? 3 : 2;
    if (words.size() != 3 || type.bits != 32 || type.letter == 'b') return nullptr;
    if (words[1] == "lo") return of_integer<Multiply24<0>>(type);
    return words[1] == "hi" ? of_integer<Multiply24<16>>(type) : nullptr;
  }
  // Modifiers that are valid beside the name and the type.
  const bool product = op == "mul" || op == "mad";
  for (size_t i = 1; i < words.size(); ++i) {
    Type ignored;
    const bool part = words[i] == "lo" || words[i] == "hi" || words[i] == "wide";
    if (part ? !product : !parse_type(words[i], ignored)) return nullptr;
  }
  inputs = 2;
  if (op == "add") return of_integer<Add>(type);
  if (op == "sub") return of_integer<Subtract>(type);
  if (op == "div") return of_integer<Divide>(type);
  if (op == "rem") return of_integer<Remainder>(type);
  if (op == "min") return of_integer<Minimum>(type);
  if (op == "max") return of_integer<Maximum>(type);
  if (op == "mul" || op == "mad") {
    if (op == "mad") inputs = 3;
    if (has(words, "lo")) return of_integer<Multiply>(type);
    if (has(words, "hi")) return of_integer<MultiplyHigh>(type);
    if (has(words, "wide") && type.bits <= 32) return of_integer<MultiplyWide>(type);
    return nullptr;
  }
  inputs = 1;
  if (op == "neg") return of_integer<Negate>(type);
  if (op == "abs") return type.is_signed() ? of_signed<Absolute>(type.bits) : nullptr;
  inputs = 3;
  if (op == "sad") return of_integer<SumOfDifference>(type);
  if (op == "selp") return of_unsigned<Select>(type.bits);
  if (op == "slct") return words.back() == "s32" ? of_unsigned<SelectBySign>(type.bits) : nullptr;
  return nullptr;
}

Carry carrying(const Words& words, uint32_t& inputs) {
  const bool out = has(words, "cc");
  const std::string_view op = words[0];
  const bool in = op == "addc" || op == "subc" || op == "madc";
  Type type;
  for (const std::string& word : words) {
    if (word == "pred") return nullptr;
    if (word == "u32" || word == "s32" || word == "b32") type = {'u', 32};
    if (word == "u64" || word == "s64" || word == "b64") type = {'u', 64};
    if (word == "s32" && has(words, "hi")) return nullptr;
    if (word == "s64" && has(words, "hi")) return nullptr;
  }
  inputs = 2;
  if (op == "add" || op == "addc") return carry_of<Sum::add>(type, in, out);
  if (op == "sub" || op == "subc") return carry_of<Sum::subtract>(type, in, out);
  inputs = 3;
  if (op != "mad" && op != "madc") return nullptr;
  return has(words, "hi") ? carry_of<Sum::high>(type, in, out) : carry_of<Sum::low>(type, in, out);
}

}  // namespace machine::ptx
