// SPDX-License-Identifier: MIT
/// @file
/// @brief Floating-point arithmetic, conversions, and the mapping of instructions to computations.

#include <machine/ptx/arithmetic.hpp>
#include <machine/ptx/parser.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace machine::ptx {

namespace {

using Words = std::vector<std::string>;

template <class F>
F real(uint64_t bits) {
  F out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
template <class F>
uint64_t bits_of(F value) {
  uint64_t out = 0;
  std::memcpy(&out, &value, sizeof value);
  return out;
}

/// Result of an arithmetic instruction. NaNs become the hardware's 32-bit NaN; for 64 bits, none is specified.
template <class F>
uint64_t made(F value) {
  if (!std::isnan(value)) return bits_of(value);
  return sizeof(F) == 4 ? 0x7fffffffu : 0x7ff8000000000000u;
}

template <class F>
struct Real {
  static uint64_t add(uint64_t a, uint64_t b, uint64_t, uint64_t) { return made<F>(real<F>(a) + real<F>(b)); }
  static uint64_t sub(uint64_t a, uint64_t b, uint64_t, uint64_t) { return made<F>(real<F>(a) - real<F>(b)); }
  static uint64_t mul(uint64_t a, uint64_t b, uint64_t, uint64_t) { return made<F>(real<F>(a) * real<F>(b)); }
  static uint64_t div(uint64_t a, uint64_t b, uint64_t, uint64_t) { return made<F>(real<F>(a) / real<F>(b)); }
  static uint64_t fma(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return made<F>(std::fma(real<F>(a), real<F>(b), real<F>(c)));
  }
  static uint64_t min(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    const F x = real<F>(a);
    const F y = real<F>(b);
    if (x == 0 && y == 0) return std::signbit(x) ? a : b;
    return made<F>(std::fmin(x, y));
  }
  static uint64_t max(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    const F x = real<F>(a);
    const F y = real<F>(b);
    if (x == 0 && y == 0) return std::signbit(x) ? b : a;
    return made<F>(std::fmax(x, y));
  }
  static uint64_t neg(uint64_t a, uint64_t, uint64_t, uint64_t) { return bits_of<F>(-real<F>(a)); }
  static uint64_t abs(uint64_t a, uint64_t, uint64_t, uint64_t) { return bits_of<F>(std::fabs(real<F>(a))); }
  static uint64_t sqrt(uint64_t a, uint64_t, uint64_t, uint64_t) { return made<F>(std::sqrt(real<F>(a))); }
  static uint64_t rcp(uint64_t a, uint64_t, uint64_t, uint64_t) { return made<F>(F{1} / real<F>(a)); }

  static bool unordered(uint64_t a, uint64_t b) { return std::isnan(real<F>(a)) || std::isnan(real<F>(b)); }
  template <bool Unordered>
  static uint64_t eq(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return unordered(a, b) ? Unordered : real<F>(a) == real<F>(b);
  }
  template <bool Unordered>
  static uint64_t ne(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return unordered(a, b) ? Unordered : real<F>(a) != real<F>(b);
  }
  template <bool Unordered>
  static uint64_t lt(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return unordered(a, b) ? Unordered : real<F>(a) < real<F>(b);
  }
  template <bool Unordered>
  static uint64_t le(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return unordered(a, b) ? Unordered : real<F>(a) <= real<F>(b);
  }
  template <bool Unordered>
  static uint64_t gt(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return unordered(a, b) ? Unordered : real<F>(a) > real<F>(b);
  }
  template <bool Unordered>
  static uint64_t ge(uint64_t a, uint64_t b, uint64_t, uint64_t) {
    return unordered(a, b) ? Unordered : real<F>(a) >= real<F>(b);
  }
  static uint64_t num(uint64_t a, uint64_t b, uint64_t, uint64_t) { return !unordered(a, b); }
  static uint64_t nan(uint64_t a, uint64_t b, uint64_t, uint64_t) { return unordered(a, b); }

  static Compute compare(const std::string& how) {
    if (how == "eq") return &eq<false>;
    if (how == "ne") return &ne<false>;
    if (how == "lt") return &lt<false>;
    if (how == "le") return &le<false>;
    if (how == "gt") return &gt<false>;
    if (how == "ge") return &ge<false>;
    if (how == "equ") return &eq<true>;
    if (how == "neu") return &ne<true>;
    if (how == "ltu") return &lt<true>;
    if (how == "leu") return &le<true>;
    if (how == "gtu") return &gt<true>;
    if (how == "geu") return &ge<true>;
    if (how == "num") return &num;
    return how == "nan" ? &nan : nullptr;
  }

  static Compute find(const std::string& op, uint32_t& inputs) {
    inputs = 2;
    if (op == "add") return &add;
    if (op == "sub") return &sub;
    if (op == "mul") return &mul;
    if (op == "div") return &div;
    if (op == "min") return &min;
    if (op == "max") return &max;
    inputs = 3;
    if (op == "fma" || op == "mad") return &fma;
    inputs = 1;
    if (op == "neg") return &neg;
    if (op == "abs") return &abs;
    if (op == "sqrt") return &sqrt;
    return op == "rcp" ? &rcp : nullptr;
  }
};

// cvt. Integers are extended to 64 bits first, and then truncated to the destination register.

template <class From, class To, uint32_t Bits>
uint64_t integer_to_integer(uint64_t a, uint64_t, uint64_t, uint64_t) {
  const auto value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<To>(static_cast<From>(a))));
  const uint64_t wide = std::is_signed_v<To> ? value : static_cast<uint64_t>(static_cast<To>(value));
  return Bits == 64 ? wide : wide & ((uint64_t{1} << Bits % 64) - 1);
}
/// As integer_to_integer(), but values out of range become the nearest number in range.
template <class From, class To, uint32_t Bits>
uint64_t saturated(uint64_t a, uint64_t, uint64_t, uint64_t) {
  Wide value = static_cast<From>(a);
  if (value < std::numeric_limits<To>::min()) value = std::numeric_limits<To>::min();
  if (value > std::numeric_limits<To>::max()) value = std::numeric_limits<To>::max();
  const auto wide = static_cast<uint64_t>(value);
  return Bits == 64 ? wide : wide & ((uint64_t{1} << Bits % 64) - 1);
}
template <class From, class To>
uint64_t integer_to_real(uint64_t a, uint64_t, uint64_t, uint64_t) {
  return bits_of<To>(static_cast<To>(static_cast<From>(a)));
}
template <class From, class To>
uint64_t real_to_real(uint64_t a, uint64_t, uint64_t, uint64_t) {
  return bits_of<To>(static_cast<To>(real<From>(a)));
}
enum class Rounding { nearest, zero, down, up };
template <class F>
F rounded(F value, Rounding how) {
  switch (how) {
    case Rounding::nearest: return std::nearbyint(value);
    case Rounding::zero: return std::trunc(value);
    case Rounding::down: return std::floor(value);
    default: return std::ceil(value);
  }
}
/// Values out of range become the nearest number in range. NaN becomes 0 or, if either type has 64 bits, only the
/// result's top bit.
template <class From, class To, Rounding How>
uint64_t real_to_integer(uint64_t a, uint64_t, uint64_t, uint64_t) {
  using U = std::make_unsigned_t<To>;
  const From value = rounded(real<From>(a), How);
  if (std::isnan(value)) return sizeof(From) == 8 || sizeof(To) == 8 ? uint64_t{1} << (8 * sizeof(To) - 1) : 0;
  const From limit = std::ldexp(From{1}, static_cast<int>(8 * sizeof(To)) - (std::is_signed_v<To> ? 1 : 0));
  if (value >= limit) return static_cast<U>(std::numeric_limits<To>::max());
  if (value < (std::is_signed_v<To> ? -limit : From{0})) return static_cast<U>(std::numeric_limits<To>::min());
  return static_cast<U>(static_cast<To>(value));
}

template <class From, class To>
Compute to_register(uint8_t bits, bool saturating) {
  switch (bits) {
    case 16: return saturating ? &saturated<From, To, 16> : &integer_to_integer<From, To, 16>;
    case 32: return saturating ? &saturated<From, To, 32> : &integer_to_integer<From, To, 32>;
    case 64: return saturating ? &saturated<From, To, 64> : &integer_to_integer<From, To, 64>;
    default: return nullptr;
  }
}
template <class From, class To>
Compute rounding(const std::string& how) {
  if (how == "rni") return &real_to_integer<From, To, Rounding::nearest>;
  if (how == "rzi") return &real_to_integer<From, To, Rounding::zero>;
  if (how == "rmi") return &real_to_integer<From, To, Rounding::down>;
  return how == "rpi" ? &real_to_integer<From, To, Rounding::up> : nullptr;
}

template <class Visitor>
Compute with_type(const Type& type, Visitor visit) {
  const bool is_signed = type.is_signed();
  if (type.is_float()) return type.bits == 32 ? visit(float{}) : visit(double{});
  switch (type.bits) {
    case 8: return is_signed ? visit(int8_t{}) : visit(uint8_t{});
    case 16: return is_signed ? visit(int16_t{}) : visit(uint16_t{});
    case 32: return is_signed ? visit(int32_t{}) : visit(uint32_t{});
    case 64: return is_signed ? visit(int64_t{}) : visit(uint64_t{});
    default: return nullptr;
  }
}

}  // namespace

Compute conversion(const Words& words, uint8_t bits) {
  Type to;
  Type from;
  std::string how;
  bool saturating = false;
  for (size_t i = 1; i < words.size(); ++i) {
    Type type;
    if (parse_type(words[i], type)) {
      (to.bits == 0 ? to : from) = type;
    } else if (words[i] == "sat") {
      saturating = true;
    } else if (words[i][0] == 'r' && how.empty()) {
      how = words[i];
    } else {
      return nullptr;
    }
  }
  if (to.bits == 0 || from.bits == 0) return nullptr;
  return with_type(to, [&](auto to_one) {
    return with_type(from, [&](auto from_one) -> Compute {
      using To = decltype(to_one);
      using From = decltype(from_one);
      if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
        return how.empty() ? to_register<From, To>(bits, saturating) : nullptr;
      } else if constexpr (std::is_integral_v<To>) {
        return sizeof(To) == 1 || saturating ? nullptr : rounding<From, To>(how);
      } else if (saturating) {
        return nullptr;
      } else if constexpr (std::is_integral_v<From>) {
        return how == "rn" ? &integer_to_real<From, To> : nullptr;
      } else {
        const bool narrows = sizeof(To) < sizeof(From);
        return how == (narrows ? "rn" : "") ? &real_to_real<From, To> : nullptr;
      }
    });
  });
}

Compute float_computation(const Words& words, const Type& type, uint32_t& inputs) {
  if (words[0] == "setp") return type.bits == 32 ? Real<float>::compare(words[1]) : Real<double>::compare(words[1]);
  for (size_t i = 1; i < words.size(); ++i) {
    Type ignored;
    // Approximations may be off by some units in the last place; the exact result is always valid.
    if (words[i] != "rn" && words[i] != "approx" && words[i] != "full" && !parse_type(words[i], ignored))
      return nullptr;
  }
  return type.bits == 32 ? Real<float>::find(words[0], inputs) : Real<double>::find(words[0], inputs);
}

Compute computation(const Words& words, uint8_t bits, uint32_t& inputs) {
  const std::string_view op = words[0];
  if (op == "cvt") {
    inputs = 1;
    return conversion(words, bits);
  }
  Type type;
  for (size_t i = words.size(); i-- > 1;) {
    Type one;
    if (parse_type(words[i], one)) type = one;  // the first type is the result's
  }
  if (type.bits == 0) return nullptr;
  if (type.is_float() && op != "selp" && op != "slct") return float_computation(words, type, inputs);
  if (const Compute found = bit_computation(words, type, inputs)) return found;
  return integer_computation(words, type, inputs);
}

}  // namespace machine::ptx
