// SPDX-License-Identifier: MIT
/// @file
/// @brief Conversions and floating point of PTX, compared with the host's arithmetic.

#include <machine/ptx_trial.hpp>

using namespace ptx_trial;

TEST_CASE("PTX: conversions") {
  std::vector<Trial> t;
  const struct {
    const char* name;
    char kind;
    std::function<u64(u64)> cut;
  } types[] = {
      {"u8", 'h', [](u64 v) { return u64{u8(v)}; }},   {"s8", 'h', [](u64 v) { return u64(s64{int8_t(v)}); }},
      {"u16", 'h', [](u64 v) { return u64{u16(v)}; }}, {"s16", 'h', [](u64 v) { return u64(s64{s16(v)}); }},
      {"u32", 'w', [](u64 v) { return u64{u32(v)}; }}, {"s32", 'w', [](u64 v) { return u64(s64{s32(v)}); }},
      {"u64", 'd', [](u64 v) { return v; }},           {"s64", 'd', [](u64 v) { return v; }},
  };
  for (const auto& to : types) {
    for (const auto& from : types) {
      t.push_back({std::string("cvt.") + to.name + "." + from.name + " {0}, {1}",
                   {to.kind, from.kind},
                   [f = from.cut, g = to.cut](u64 a, u64, u64, u64) { return g(f(a)); }});
    }
    t.push_back({std::string("ld.global.") + to.name + " {0}, [%a1]", "d",
                 [f = to.cut](u64 a, u64, u64, u64) { return f(a); }});
  }
  t.push_back(
      {"cvt.sat.u8.s32 {0}, {1}", "hw", [](u64 a, u64, u64, u64) { return u64(std::min(std::max(s32(a), 0), 255)); }});
  t.push_back({"cvt.rn.f32.u32 {0}, {1}", "ww", [](u64 a, u64, u64, u64) { return bits(static_cast<float>(u32(a))); }});
  t.push_back(
      {"cvt.rn.f64.s64 {0}, {1}", "dd", [](u64 a, u64, u64, u64) { return bits(static_cast<double>(s64(a))); }});
  t.push_back(
      {"cvt.f64.f32 {0}, {1}", "dw", [](u64 a, u64, u64, u64) { return bits(static_cast<double>(real<float>(a))); }});
  t.push_back({"cvt.rn.f32.f64 {0}, {1}", "wd",
               [](u64 a, u64, u64, u64) { return bits(static_cast<float>(real<double>(a))); }});
  t.push_back({"cvt.rzi.s32.f32 {0}, {1}", "ww", [](u64 a, u64, u64, u64) {
                 const float v = real<float>(a);
                 return std::isnan(v) ? 0 : v >= 0x1p31f ? 0x7fffffff : v <= -0x1p31f ? 0x80000000u : u64(u32(s32(v)));
               }});
  t.push_back({"cvt.rzi.u64.f64 {0}, {1}", "dd", [](u64 a, u64, u64, u64) {
                 const double v = real<double>(a);
                 return std::isnan(v) ? u64{1} << 63 : v >= 0x1p64 ? ~u64{0} : v <= 0 ? 0 : u64(v);
               }});
  t.push_back({"cvt.rni.s32.f64 {0}, {1}", "wd", [](u64 a, u64, u64, u64) {
                 const double v = real<double>(a);
                 return std::isnan(v)       ? u64{0x80000000}
                        : v >= 0x1p31 - 0.5 ? 0x7fffffff
                        : v < -0x1p31 - 0.5 ? 0x80000000u
                                            : u64(u32(std::lrint(v)));
               }});
  check(t);
}

TEST_CASE("PTX: floating point") {
  std::vector<Trial> t;
  const auto both = [&](const std::string& op, const std::string& rest, auto of) {
    const size_t operands_wanted = static_cast<size_t>(std::count(rest.begin(), rest.end(), '{'));
    t.push_back({op + ".f32 " + rest, std::string(operands_wanted, 'w'),
                 [of](u64 a, u64 b, u64 c, u64) { return of(real<float>(a), real<float>(b), real<float>(c)); }});
    t.push_back({op + ".f64 " + rest, std::string(operands_wanted, 'd'),
                 [of](u64 a, u64 b, u64 c, u64) { return of(real<double>(a), real<double>(b), real<double>(c)); }});
  };
  both("add.rn", "{0}, {1}, {2}", [](auto a, auto b, auto) { return made(a + b); });
  both("sub", "{0}, {1}, {2}", [](auto a, auto b, auto) { return made(a - b); });
  both("mul", "{0}, {1}, {2}", [](auto a, auto b, auto) { return made(a * b); });
  both("div.rn", "{0}, {1}, {2}", [](auto a, auto b, auto) { return made(a / b); });
  both("fma.rn", "{0}, {1}, {2}, {3}", [](auto a, auto b, auto c) { return made(std::fma(a, b, c)); });
  both("sqrt.rn", "{0}, {1}", [](auto a, auto, auto) { return made(std::sqrt(a)); });
  both("neg", "{0}, {1}", [](auto a, auto, auto) { return bits(-a); });
  both("abs", "{0}, {1}", [](auto a, auto, auto) { return bits(std::fabs(a)); });
  const auto compare = [&](const std::string& how, auto is) {
    t.push_back({"setp." + how + ".f32 {0}, {1}, {2}", "pww",
                 [is](u64 a, u64 b, u64, u64) { return u64{is(real<float>(a), real<float>(b))}; }});
    t.push_back({"setp." + how + ".f64 {0}, {1}, {2}", "pdd",
                 [is](u64 a, u64 b, u64, u64) { return u64{is(real<double>(a), real<double>(b))}; }});
  };
  compare("lt", [](auto a, auto b) { return std::isless(a, b); });
  compare("le", [](auto a, auto b) { return std::islessequal(a, b); });
  compare("gt", [](auto a, auto b) { return std::isgreater(a, b); });
  compare("geu", [](auto a, auto b) { return !std::isless(a, b); });
  compare("equ", [](auto a, auto b) { return !std::islessgreater(a, b); });
  compare("neu", [](auto a, auto b) { return !(a == b); });
  compare("num", [](auto a, auto b) { return !std::isunordered(a, b); });
  compare("nan", [](auto a, auto b) { return std::isunordered(a, b) != 0; });
  check(t);
}
