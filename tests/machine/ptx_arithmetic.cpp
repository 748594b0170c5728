// SPDX-License-Identifier: MIT
/// @file
/// @brief Integer instructions of PTX, compared with the host's arithmetic.

#include <machine/ptx_trial.hpp>

using namespace ptx_trial;

TEST_CASE("PTX: integer arithmetic") {
  std::vector<Trial> t;
  const struct {
    u32 width;
    char kind;
  } widths[] = {{16, 'h'}, {32, 'w'}, {64, 'd'}};
  for (const auto& [w, k] : widths) {
    const u32 width = w;
    const std::string n = std::to_string(w);
    const std::string three = {k, k, k};
    const std::string two = {k, k};
    const std::string four = {k, k, k, k};
    for (const char* const type : {"u", "s"}) {
      const bool is_signed = type[0] == 's';
      const std::string suffix = "." + (type + n);
      t.push_back({"add" + suffix + " {0}, {1}, {2}", three, [](u64 a, u64 b, u64, u64) { return a + b; }});
      t.push_back({"sub" + suffix + " {0}, {1}, {2}", three, [](u64 a, u64 b, u64, u64) { return a - b; }});
      t.push_back({"mul.lo" + suffix + " {0}, {1}, {2}", three, [](u64 a, u64 b, u64, u64) { return a * b; }});
      t.push_back(
          {"mad.lo" + suffix + " {0}, {1}, {2}, {3}", four, [](u64 a, u64 b, u64 c, u64) { return a * b + c; }});
      t.push_back({"mul.hi" + suffix + " {0}, {1}, {2}", three, [=](u64 a, u64 b, u64, u64) {
                     return is_signed ? static_cast<u64>(s128{sign(a, width)} * sign(b, width) >> width)
                                      : static_cast<u64>(u128{low(a, width)} * low(b, width) >> width);
                   }});
      t.push_back({"div" + suffix + " {0}, {1}, {2}", three, [=](u64 a, u64 b, u64, u64) {
                     if (low(b, width) == 0) return ~u64{0};
                     return is_signed ? static_cast<u64>(s128{sign(a, width)} / sign(b, width))
                                      : low(a, width) / low(b, width);
                   }});
      t.push_back({"rem" + suffix + " {0}, {1}, {2}", three, [=](u64 a, u64 b, u64, u64) {
                     if (low(b, width) == 0) return a;
                     return is_signed ? static_cast<u64>(s128{sign(a, width)} % sign(b, width))
                                      : low(a, width) % low(b, width);
                   }});
      t.push_back({"min" + suffix + " {0}, {1}, {2}", three, [=](u64 a, u64 b, u64, u64) {
                     return is_signed ? static_cast<u64>(std::min(sign(a, width), sign(b, width)))
                                      : std::min(low(a, width), low(b, width));
                   }});
      t.push_back({"max" + suffix + " {0}, {1}, {2}", three, [=](u64 a, u64 b, u64, u64) {
                     return is_signed ? static_cast<u64>(std::max(sign(a, width), sign(b, width)))
                                      : std::max(low(a, width), low(b, width));
                   }});
      t.push_back({"shr" + suffix + " {0}, {1}, {2}", {k, k, 'w'}, [=](u64 a, u64 b, u64, u64) {
                     const u32 by = static_cast<u32>(b);
                     const s128 wide = is_signed ? s128{sign(a, width)} : s128{static_cast<s128>(low(a, width))};
                     return static_cast<u64>(wide >> std::min(by, 100u));
                   }});
      const struct {
        const char* name;
        std::function<bool(s128, s128)> is;
      } relations[] = {{"eq", [](s128 a, s128 b) { return a == b; }}, {"ne", [](s128 a, s128 b) { return a != b; }},
                       {"lt", [](s128 a, s128 b) { return a < b; }},  {"le", [](s128 a, s128 b) { return a <= b; }},
                       {"gt", [](s128 a, s128 b) { return a > b; }},  {"ge", [](s128 a, s128 b) { return a >= b; }}};
      for (const auto& [name, is] : relations) {
        const auto holds = [=, check = is](u64 a, u64 b) {
          return is_signed ? check(sign(a, width), sign(b, width))
                           : check(static_cast<s128>(low(a, width)), static_cast<s128>(low(b, width)));
        };
        t.push_back({std::string("setp.") + name + suffix + " {0}, {1}, {2}", {'p', k, k}, [=](u64 a, u64 b, u64, u64) {
                       return u64{holds(a, b)};
                     }});
        t.push_back({std::string("setp.") + name + ".and" + suffix + " {0}, {1}, {2}, {3}",
                     {'p', k, k, 'p'},
                     [=](u64 a, u64 b, u64 c, u64) { return u64{holds(a, b) && (c & 1)}; }});
        t.push_back({std::string("setp.") + name + ".xor" + suffix + " {0}|%p6, {1}, {2}, !{3}",
                     {'p', k, k, 'p'},
                     [=](u64 a, u64 b, u64 c, u64) { return u64{holds(a, b) != !(c & 1)}; }});
        t.push_back({std::string("set.") + name + ".u32" + suffix + " {0}, {1}, {2}",
                     {'w', k, k},
                     [=](u64 a, u64 b, u64, u64) { return holds(a, b) ? ~u64{0} : 0; }});
        t.push_back({std::string("set.") + name + ".and.f32" + suffix + " {0}, {1}, {2}, !{3}",
                     {'w', k, k, 'p'},
                     [=](u64 a, u64 b, u64 c, u64) { return holds(a, b) && !(c & 1) ? bits(1.0f) : 0; }});
        t.push_back({std::string("setp.") + name + ".or" + suffix + " %p6|{0}, {1}, {2}, {3}",
                     {'p', k, k, 'p'},
                     [=](u64 a, u64 b, u64 c, u64) { return u64{!holds(a, b) || (c & 1)}; }});
      }
    }
    t.push_back({"neg.s" + n + " {0}, {1}", two, [](u64 a, u64, u64, u64) { return ~a + 1; }});
    t.push_back({"abs.s" + n + " {0}, {1}", two, [=](u64 a, u64, u64, u64) {
                   return static_cast<u64>(sign(a, width) < 0 ? 0 - s128{sign(a, width)} : s128{sign(a, width)});
                 }});
    t.push_back({"and.b" + n + " {0}, {1}, {2}", three, [](u64 a, u64 b, u64, u64) { return ~(~a | ~b); }});
    t.push_back({"or.b" + n + " {0}, {1}, {2}", three, [](u64 a, u64 b, u64, u64) { return ~(~a & ~b); }});
    t.push_back({"xor.b" + n + " {0}, {1}, {2}", three, [](u64 a, u64 b, u64, u64) { return (a | b) - (a & b); }});
    t.push_back({"not.b" + n + " {0}, {1}", two, [](u64 a, u64, u64, u64) { return 0 - a - 1; }});
    t.push_back({"shl.b" + n + " {0}, {1}, {2}", {k, k, 'w'}, [](u64 a, u64 b, u64, u64) {
                   return static_cast<u64>(u128{a} << std::min(static_cast<u32>(b), 64u));
                 }});
    t.push_back(
        {"selp.b" + n + " {0}, {1}, {2}, {3}", {k, k, k, 'p'}, [](u64 a, u64 b, u64 c, u64) { return c & 1 ? a : b; }});
    t.push_back({"slct.b" + n + ".s32 {0}, {1}, {2}, {3}", {k, k, k, 'w'}, [](u64 a, u64 b, u64 c, u64) {
                   return (c & 0x80000000u) == 0 ? a : b;
                 }});
  }
  t.push_back({"mul.wide.u16 {0}, {1}, {2}", "whh", [](u64 a, u64 b, u64, u64) { return u64{u16(a)} * u16(b); }});
  t.push_back({"mul.wide.s16 {0}, {1}, {2}", "whh", [](u64 a, u64 b, u64, u64) { return u64(s64{s16(a)} * s16(b)); }});
  t.push_back({"mul.wide.u32 {0}, {1}, {2}", "dww", [](u64 a, u64 b, u64, u64) { return u64{u32(a)} * u32(b); }});
  t.push_back({"mul.wide.s32 {0}, {1}, {2}", "dww", [](u64 a, u64 b, u64, u64) { return u64(s64{s32(a)} * s32(b)); }});
  t.push_back(
      {"mad.wide.u32 {0}, {1}, {2}, {3}", "dwwd", [](u64 a, u64 b, u64 c, u64) { return u64{u32(a)} * u32(b) + c; }});
  t.push_back({"mad.wide.s32 {0}, {1}, {2}, {3}", "dwwd",
               [](u64 a, u64 b, u64 c, u64) { return u64(s64{s32(a)} * s32(b)) + c; }});
  t.push_back({"mad.hi.u32 {0}, {1}, {2}, {3}", "wwww",
               [](u64 a, u64 b, u64 c, u64) { return (u64{u32(a)} * u32(b) >> 32) + c; }});
  t.push_back({"add.cc.u32 %w6, {1}, {2}; addc.u32 {0}, {3}, {4}", "wwwww",
               [](u64 a, u64 b, u64 c, u64 d) { return ((low(a, 32) | c << 32) + (low(b, 32) | d << 32)) >> 32; }});
  t.push_back({"add.cc.u64 %d6, {1}, {2}; addc.cc.u64 {0}, {3}, {4}", "ddddd", [](u64 a, u64 b, u64 c, u64 d) {
                 return static_cast<u64>(((u128{c} << 64 | a) + (u128{d} << 64 | b)) >> 64);
               }});
  t.push_back({"sub.cc.u64 %d6, {1}, {2}; subc.u64 {0}, {3}, {4}", "ddddd", [](u64 a, u64 b, u64 c, u64 d) {
                 return static_cast<u64>(((u128{c} << 64 | a) - (u128{d} << 64 | b)) >> 64);
               }});
  t.push_back({"mad.lo.cc.u64 %d6, {1}, {2}, {3}; madc.hi.u64 {0}, {1}, {2}, {4}", "ddddd",
               [](u64 a, u64 b, u64 c, u64 d) { return static_cast<u64>((u128{a} * b + (u128{d} << 64 | c)) >> 64); }});
  const auto unsigned24 = [](u64 a) { return s64(a & 0xffffff); };
  const auto signed24 = [](u64 a) { return sign(a, 24); };
  t.push_back({"mul24.lo.u32 {0}, {1}, {2}", "www",
               [=](u64 a, u64 b, u64, u64) { return u64(unsigned24(a) * unsigned24(b)); }});
  t.push_back({"mul24.hi.u32 {0}, {1}, {2}", "www",
               [=](u64 a, u64 b, u64, u64) { return u64(unsigned24(a) * unsigned24(b) / 0x10000); }});
  t.push_back(
      {"mul24.lo.s32 {0}, {1}, {2}", "www", [=](u64 a, u64 b, u64, u64) { return u64(signed24(a) * signed24(b)); }});
  t.push_back({"mul24.hi.s32 {0}, {1}, {2}", "www",
               [=](u64 a, u64 b, u64, u64) { return u64(signed24(a) * signed24(b)) >> 16; }});
  t.push_back({"mad24.lo.s32 {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return u64(signed24(a) * signed24(b)) + c; }});
  t.push_back({"mad24.hi.u32 {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return u64(unsigned24(a) * unsigned24(b)) / 0x10000 + c; }});
  const auto part = [](u64 a, u32 width, u32 index, bool is_signed) {
    const u64 value = a >> width * index & ((1u << width) - 1);
    return is_signed ? sign(value, width) : s64(value);
  };
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      const std::string types =
          std::string(first ? ".s32" : ".u32") + (second ? ".s32" : ".u32") + " {0}, {1}, {2}, {3}";
      t.push_back({"dp4a" + types, "wwww", [=](u64 a, u64 b, u64 c, u64) {
                     s64 sum = s64(c & 0xffffffff);
                     for (u32 i = 0; i < 4; ++i) sum += part(a, 8, i, first) * part(b, 8, i, second);
                     return u64(sum);
                   }});
      t.push_back({"dp2a.lo" + types, "wwww", [=](u64 a, u64 b, u64 c, u64) {
                     return u64(part(a, 16, 0, first) * part(b, 8, 0, second) +
                                part(a, 16, 1, first) * part(b, 8, 1, second)) +
                            c;
                   }});
      t.push_back({"dp2a.hi" + types, "wwww", [=](u64 a, u64 b, u64 c, u64) {
                     return u64(part(a, 16, 0, first) * part(b, 8, 2, second) +
                                part(a, 16, 1, first) * part(b, 8, 3, second)) +
                            c;
                   }});
    }
  }
  t.push_back({"not.pred {0}, {1}", "pp", [](u64 a, u64, u64, u64) { return ~a & 1; }});
  t.push_back({"and.pred {0}, {1}, {2}", "ppp", [](u64 a, u64 b, u64, u64) { return a & b & 1; }});
  t.push_back({"or.pred {0}, {1}, {2}", "ppp", [](u64 a, u64 b, u64, u64) { return (a | b) & 1; }});
  t.push_back({"xor.pred {0}, {1}, {2}", "ppp", [](u64 a, u64 b, u64, u64) { return (a ^ b) & 1; }});
  check(t);
}

TEST_CASE("PTX: bits and bytes") {
  std::vector<Trial> t;
  t.push_back({"popc.b32 {0}, {1}", "ww", [](u64 a, u64, u64, u64) { return u64(__builtin_popcount(u32(a))); }});
  t.push_back({"popc.b64 {0}, {1}", "wd", [](u64 a, u64, u64, u64) { return u64(__builtin_popcountll(a)); }});
  t.push_back(
      {"clz.b32 {0}, {1}", "ww", [](u64 a, u64, u64, u64) { return u32(a) ? u64(__builtin_clz(u32(a))) : 32; }});
  t.push_back({"clz.b64 {0}, {1}", "wd", [](u64 a, u64, u64, u64) { return a ? u64(__builtin_clzll(a)) : 64; }});
  const auto reversed = [](u64 a) {
    a = __builtin_bswap64(a);
    a = (a & 0x0f0f0f0f0f0f0f0f) << 4 | (a >> 4 & 0x0f0f0f0f0f0f0f0f);
    a = (a & 0x3333333333333333) << 2 | (a >> 2 & 0x3333333333333333);
    return (a & 0x5555555555555555) << 1 | (a >> 1 & 0x5555555555555555);
  };
  t.push_back({"brev.b32 {0}, {1}", "ww", [=](u64 a, u64, u64, u64) { return reversed(a) >> 32; }});
  t.push_back({"brev.b64 {0}, {1}", "dd", [=](u64 a, u64, u64, u64) { return reversed(a); }});
  t.push_back({"bfind.u32 {0}, {1}", "ww",
               [](u64 a, u64, u64, u64) { return u32(a) ? u64(31 - __builtin_clz(u32(a))) : ~u64{0}; }});
  t.push_back(
      {"bfind.u64 {0}, {1}", "wd", [](u64 a, u64, u64, u64) { return a ? u64(63 - __builtin_clzll(a)) : ~u64{0}; }});
  t.push_back({"bfind.shiftamt.u32 {0}, {1}", "ww",
               [](u64 a, u64, u64, u64) { return u32(a) ? u64(__builtin_clz(u32(a))) : ~u64{0}; }});
  t.push_back({"bfind.s32 {0}, {1}", "ww", [](u64 a, u64, u64, u64) {
                 const u32 v = u32(a) ^ u32(s32(a) >> 31);
                 return v ? u64(31 - __builtin_clz(v)) : ~u64{0};
               }});
  t.push_back({"bfind.s64 {0}, {1}", "wd", [](u64 a, u64, u64, u64) {
                 return a == 0 || a == ~u64{0} ? ~u64{0} : u64(62 - __builtin_clrsbll(s64(a)));
               }});
  const auto extracted = [](u64 a, u64 b, u64 c, u32 width, bool is_signed) {
    u64 out = 0;  // bit by bit, as in the ISA's pseudocode
    const u64 at = b & 0xff;
    const u64 length = c & 0xff;
    const u64 last = std::min<u64>(at + length - 1, width - 1);
    const u64 fill = is_signed && length != 0 ? a >> last & 1 : 0;
    for (u64 i = 0; i < width; ++i) out |= (i < length && at + i < width ? a >> (at + i) & 1 : fill) << i;
    return out;
  };
  t.push_back(
      {"bfe.u32 {0}, {1}, {2}, {3}", "wwww", [=](u64 a, u64 b, u64 c, u64) { return extracted(a, b, c, 32, false); }});
  t.push_back(
      {"bfe.s32 {0}, {1}, {2}, {3}", "wwww", [=](u64 a, u64 b, u64 c, u64) { return extracted(a, b, c, 32, true); }});
  t.push_back(
      {"bfe.u64 {0}, {1}, {2}, {3}", "ddww", [=](u64 a, u64 b, u64 c, u64) { return extracted(a, b, c, 64, false); }});
  t.push_back(
      {"bfe.s64 {0}, {1}, {2}, {3}", "ddww", [=](u64 a, u64 b, u64 c, u64) { return extracted(a, b, c, 64, true); }});
  const auto inserted = [](u64 a, u64 b, u64 c, u64 d, u32 width) {
    for (u64 i = 0; i < (d & 0xff) && (c & 0xff) + i < width; ++i) {
      const u64 bit = u64{1} << ((c & 0xff) + i);
      b = a >> i & 1 ? b | bit : b & ~bit;
    }
    return b;
  };
  t.push_back({"bfi.b32 {0}, {1}, {2}, {3}, {4}", "wwwww",
               [=](u64 a, u64 b, u64 c, u64 d) { return inserted(a, b, c, d, 32); }});
  t.push_back({"bfi.b64 {0}, {1}, {2}, {3}, {4}", "dddww",
               [=](u64 a, u64 b, u64 c, u64 d) { return inserted(a, b, c, d, 64); }});
  t.push_back({"shf.l.wrap.b32 {0}, {1}, {2}, {3}", "wwww", [](u64 a, u64 b, u64 c, u64) {
                 const u32 n = c & 31;
                 return n ? u64(u32(b) << n | u32(a) >> (32 - n)) : b;
               }});
  t.push_back({"shf.r.wrap.b32 {0}, {1}, {2}, {3}", "wwww", [](u64 a, u64 b, u64 c, u64) {
                 const u32 n = c & 31;
                 return n ? u64(u32(b) << (32 - n) | u32(a) >> n) : a;
               }});
  t.push_back({"shf.l.clamp.b32 {0}, {1}, {2}, {3}", "wwww", [](u64 a, u64 b, u64 c, u64) {
                 const u32 n = std::min(u32(c), 32u);
                 return n == 32 ? a : n ? u64(u32(b) << n | u32(a) >> (32 - n)) : b;
               }});
  t.push_back({"shf.r.clamp.b32 {0}, {1}, {2}, {3}", "wwww", [](u64 a, u64 b, u64 c, u64) {
                 const u32 n = std::min(u32(c), 32u);
                 return n == 32 ? b : n ? u64(u32(b) << (32 - n) | u32(a) >> n) : a;
               }});
  t.push_back({"prmt.b32 {0}, {1}, {2}, {3}", "wwww", [](u64 a, u64 b, u64 c, u64) {
                 u8 from[8];
                 std::memcpy(from, &a, 4);
                 std::memcpy(from + 4, &b, 4);
                 u8 to[4];
                 for (u32 i = 0; i < 4; ++i) {
                   const u8 one = from[c >> 4 * i & 7];
                   to[i] = c >> 4 * i & 8 ? static_cast<u8>(static_cast<int8_t>(one) >> 7) : one;
                 }
                 u32 out;
                 std::memcpy(&out, to, 4);
                 return u64{out};
               }});
  const auto bytes = [](u64 a, u64 b, const std::function<u64(u64)>& source) {
    u64 out = 0;  // byte i of the result is byte source(i) of the pair
    for (u64 i = 0; i < 4; ++i) out |= ((u64{u32(a)} | b << 32) >> 8 * source(i) & 0xff) << 8 * i;
    return out;
  };
  t.push_back({"prmt.b32.f4e {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return bytes(a, b, [=](u64 i) { return i + (c & 3); }); }});
  t.push_back({"prmt.b32.b4e {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return bytes(a, b, [=](u64 i) { return ((c & 3) - i) & 7; }); }});
  t.push_back({"prmt.b32.rc8 {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return bytes(a, b, [=](u64) { return c & 3; }); }});
  t.push_back({"prmt.b32.ecl {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return bytes(a, b, [=](u64 i) { return std::max(i, c & 3); }); }});
  t.push_back({"prmt.b32.ecr {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return bytes(a, b, [=](u64 i) { return std::min(i, c & 3); }); }});
  t.push_back({"prmt.b32.rc16 {0}, {1}, {2}, {3}", "wwww",
               [=](u64 a, u64 b, u64 c, u64) { return bytes(a, b, [=](u64 i) { return (c & 1) * 2 + (i & 1); }); }});
  for (const u32 low_base : {0u, 5u, 31u}) {  // a base above 31 is undefined
    t.push_back({"fns.b32 {0}, {1}, " + std::to_string(low_base) + ", {2}", "www", [=](u64 a, u64 b, u64, u64) {
                   if (u32(b) == 0) return a >> low_base & 1 ? u64{low_base} : ~u64{0};
                   const s64 step = s32(u32(b)) < 0 ? -1 : 1;
                   s64 count = step * s64{s32(u32(b))} - 1;
                   for (s64 at = low_base; at >= 0 && at < 32; at += step)
                     if ((a >> at & 1) != 0 && count-- == 0) return u64(at);
                   return ~u64{0};
                 }});
  }
  t.push_back({"lop3.b32 {0}, {1}, {2}, {3}, 0x96", "wwww", [](u64 a, u64 b, u64 c, u64) { return a ^ b ^ c; }});
  t.push_back(
      {"lop3.b32 {0}, {1}, {2}, {3}, 0xca", "wwww", [](u64 a, u64 b, u64 c, u64) { return (a & b) | (~a & c); }});
  t.push_back({"mov.b64 {0}, {{1}, {2}}", "dww", [](u64 a, u64 b, u64, u64) { return u64{u32(a)} | b << 32; }});
  t.push_back({"mov.b64 {%w6, {0}}, {1}", "wd", [](u64 a, u64, u64, u64) { return a >> 32; }});
  t.push_back({"mov.b32 {{0}, _}, {1}", "hw", [](u64 a, u64, u64, u64) { return a & 0xffff; }});
  check(t);
}
