// SPDX-License-Identifier: MIT
/// @file
/// @brief Each arithmetic instruction of PTX against the host's own arithmetic, on corners and random operands.

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <catch.hpp>

#include <machine/ptx/machine.hpp>

namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

constexpr u32 sets = 512;  ///< of operands, a thread each

/// One instruction, `{0}` the result, `{1}` to `{4}` operands, `{p}` a predicate from the lowest bit of operand 3.
/// Letters: the registers' kinds, result first: h 16, w 32, d 64 bits, p predicate.
struct Trial {
  std::string text;
  std::string kinds;
  std::function<u64(u64 a, u64 b, u64 c, u64 d)> meaning;
};

std::string register_name(char kind, size_t index) {
  const std::string number = std::to_string(index);
  return kind == 'h' ? "%h" + number : kind == 'w' ? "%w" + number : kind == 'd' ? "%d" + number : "%p" + number;
}

std::string kernel_of(const std::string& name, const Trial& trial) {
  std::string out =
      ".visible .entry " + name +
      "(.param .u64 in, .param .u64 out)\n{\n.reg .b16 %h<8>; .reg .b32 %w<8>; .reg .b64 %d<8>; .reg .pred "
      "%p<8>; .reg .b64 %a<4>; .reg .b32 %t;\n"
      "ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; mov.u32 %t, %tid.x;\n"
      "mad.wide.u32 %a1, %t, 32, %a1; mad.wide.u32 %a2, %t, 8, %a2;\n";
  std::string text = trial.text;
  for (size_t i = 0; i < trial.kinds.size(); ++i) {
    const char kind = trial.kinds[i];
    const std::string reg = register_name(kind, i);
    const std::string hole = "{" + std::to_string(i) + "}";
    for (size_t at = 0; (at = text.find(hole, at)) != std::string::npos; at += reg.size()) text.replace(at, 3, reg);
    if (i == 0) continue;
    const std::string from = "[%a1+" + std::to_string(8 * (i - 1)) + "]";
    if (kind == 'p') {
      out += "ld.global.u16 %h7, " + from + "; and.b16 %h7, %h7, 1; setp.ne.u16 " + reg + ", %h7, 0;\n";
    } else {
      out += std::string("ld.global.") +
             (kind == 'h'   ? "b16 "
              : kind == 'w' ? "b32 "
                            : "b64 ") +
             reg + ", " + from + ";\n";
    }
  }
  out += text + ";\n";
  const std::string result = register_name(trial.kinds[0], 0);
  if (trial.kinds[0] == 'p') out += "selp.u64 %d7, 1, 0, " + result + ";\n";
  if (trial.kinds[0] == 'h') out += "cvt.u64.u16 %d7, " + result + ";\n";
  if (trial.kinds[0] == 'w') out += "cvt.u64.u32 %d7, " + result + ";\n";
  if (trial.kinds[0] == 'd') out += "mov.u64 %d7, " + result + ";\n";
  return out + "st.global.u64 [%a2], %d7;\nret;\n}\n";
}

std::vector<u64> operands() {
  static const u64 corners[] = {0,
                                1,
                                2,
                                3,
                                31,
                                32,
                                33,
                                63,
                                64,
                                0x7f,
                                0x80,
                                0xff,
                                0x7fff,
                                0x8000,
                                0xffff,
                                0x7fffffff,
                                0x80000000,
                                0xffffffff,
                                0x100000000,
                                0x7fffffffffffffff,
                                0x8000000000000000,
                                0xffffffffffffffff,
                                0xfffffffffffffffe,
                                0x3f800000,
                                0x7f800000,
                                0x7fc00000,
                                0x3ff0000000000000,
                                0x7ff8000000000000,
                                0xc1e0000000000000,
                                0x41dfffffffc00000,
                                0xcf000000,
                                0x4f000000};
  std::vector<u64> out;
  machine::Random random(11);
  for (u32 i = 0; i < 4 * sets; ++i) {
    const u64 value = random.next();
    switch (random.below(4)) {
      case 0: out.push_back(value); break;
      case 1: out.push_back(value >> random.below(64)); break;
      case 2: out.push_back(corners[random.below(32)]); break;
      default: out.push_back((value & 0xffffffff00000000) | corners[random.below(32)]);
    }
  }
  return out;
}

void check(const std::vector<Trial>& trials) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (size_t i = 0; i < trials.size(); ++i) text += kernel_of("trial" + std::to_string(i), trials[i]);
  machine::ptx::Machine gpu(machine::ptx::parse(text));
  std::vector<u64> in = operands();
  std::vector<u64> out(sets);
  gpu.memory.add(in.data(), in.size() * 8, machine::MemoryKind::host, "in");
  gpu.memory.add(out.data(), out.size() * 8, machine::MemoryKind::host, "out");
  const u64 arguments[] = {reinterpret_cast<u64>(in.data()), reinterpret_cast<u64>(out.data())};
  machine::Launch launch;
  launch.block.x = sets;
  launch.arguments = arguments;
  launch.argument_bytes = sizeof arguments;
  for (size_t i = 0; i < trials.size(); ++i) {
    gpu.start(0);
    gpu.run("trial" + std::to_string(i), launch);
    INFO(trials[i].text);
    const u64 mask = trials[i].kinds[0] == 'p'   ? 1
                     : trials[i].kinds[0] == 'h' ? 0xffff
                     : trials[i].kinds[0] == 'w' ? 0xffffffff
                                                 : ~u64{0};
    u32 wrong = sets;
    for (u32 k = sets; k-- > 0;) {
      const u64* const o = in.data() + 4 * size_t{k};
      if ((trials[i].meaning(o[0], o[1], o[2], o[3]) & mask) != out[k]) wrong = k;
    }
    if (wrong == sets) {
      CHECK(wrong == sets);
      continue;
    }
    const u64* const o = in.data() + 4 * size_t{wrong};
    INFO(std::hex << o[0] << " " << o[1] << " " << o[2] << " " << o[3] << ": " << out[wrong] << ", not "
                  << (trials[i].meaning(o[0], o[1], o[2], o[3]) & mask));
    CHECK(wrong == sets);
  }
}

template <class F>
F real(u64 bits) {
  F out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
template <class F>
u64 bits(F value) {
  u64 out = 0;
  std::memcpy(&out, &value, sizeof value);
  return out;
}
u64 made(float value) { return std::isnan(value) ? 0x7fffffff : bits(value); }
/// Which NaN comes out is not specified.
u64 made(double value) { return std::isnan(value) ? 0x7ff8000000000000 : bits(value); }

s64 sign(u64 value, u32 width) { return static_cast<s64>(value << (64 - width)) >> (64 - width); }
u64 low(u64 value, u32 width) { return width == 64 ? value : value & ((u64{1} << width) - 1); }

}  // namespace

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
    u64 out = 0;  // bit by bit, as the ISA's own pseudocode
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
  t.push_back({"lop3.b32 {0}, {1}, {2}, {3}, 0x96", "wwww", [](u64 a, u64 b, u64 c, u64) { return a ^ b ^ c; }});
  t.push_back(
      {"lop3.b32 {0}, {1}, {2}, {3}, 0xca", "wwww", [](u64 a, u64 b, u64 c, u64) { return (a & b) | (~a & c); }});
  t.push_back({"mov.b64 {0}, {{1}, {2}}", "dww", [](u64 a, u64 b, u64, u64) { return u64{u32(a)} | b << 32; }});
  t.push_back({"mov.b64 {%w6, {0}}, {1}", "wd", [](u64 a, u64, u64, u64) { return a >> 32; }});
  t.push_back({"mov.b32 {{0}, _}, {1}", "hw", [](u64 a, u64, u64, u64) { return a & 0xffff; }});
  check(t);
}

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
