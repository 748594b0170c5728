// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs one PTX instruction on corner cases and random operands, and compares it with a reference.

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <catch.hpp>

#include <machine/ptx/machine.hpp>

namespace ptx_trial {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

constexpr u32 sets = 512;  ///< sets of operands, one thread each

/// One instruction, `{0}` the result, `{1}` to `{4}` operands, `{p}` a predicate from the lowest bit of operand 3.
/// Letters: the registers' kinds, result first: h 16, w 32, d 64 bits, p predicate.
struct Trial {
  std::string text;
  std::string kinds;
  std::function<u64(u64 a, u64 b, u64 c, u64 d)> meaning;
};

inline std::string register_name(char kind, size_t index) {
  const std::string number = std::to_string(index);
  return kind == 'h' ? "%h" + number : kind == 'w' ? "%w" + number : kind == 'd' ? "%d" + number : "%p" + number;
}

inline std::string kernel_of(const std::string& name, const Trial& trial) {
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

inline std::vector<u64> operands() {
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

inline void check(const std::vector<Trial>& trials) {
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
inline u64 made(float value) { return std::isnan(value) ? 0x7fffffff : bits(value); }
/// The payload of a resulting NaN is not specified.
inline u64 made(double value) { return std::isnan(value) ? 0x7ff8000000000000 : bits(value); }

inline s64 sign(u64 value, u32 width) { return static_cast<s64>(value << (64 - width)) >> (64 - width); }
inline u64 low(u64 value, u32 width) { return width == 64 ? value : value & ((u64{1} << width) - 1); }

}  // namespace ptx_trial
