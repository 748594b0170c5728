// SPDX-License-Identifier: MIT
/// @file
/// @brief Tests of the PTX machine: errors, calls and variables, collective operations, devices.

#include <functional>
#include <string>
#include <vector>

#include <catch.hpp>

#include <machine/ptx/machine.hpp>

namespace {

using machine::Fault;
using machine::MemoryKind;
using machine::ptx::Convergence;

constexpr const char* head = ".version 8.0\n.target sm_90\n.address_size 64\n";
constexpr const char* begin_kernel =
    ".visible .entry k(.param .u64 memory)\n{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n"
    "ld.param.u64 %d1, [memory]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1;\n";

std::string kernel(const std::string& body) { return std::string(head) + begin_kernel + body + "\n}\n"; }

struct Bench {
  explicit Bench(const std::string& text, MemoryKind kind = MemoryKind::host) : gpu(machine::ptx::parse(text)) {
    gpu.memory.add(words, sizeof words, kind, "words");
    gpu.memory.add(doorbell, sizeof doorbell, MemoryKind::registers, "doorbells");
  }
  void run(uint32_t blocks, uint32_t threads, uint64_t seed = 0) {
    for (uint32_t& word : words) word = 0;
    const uint64_t arguments[] = {reinterpret_cast<uint64_t>(words), reinterpret_cast<uint64_t>(doorbell)};
    machine::Launch launch;
    launch.grid.x = blocks;
    launch.block.x = threads;
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    gpu.start(seed);
    if (convergence) gpu.mood.convergence = *convergence;
    gpu.run("k", launch);
  }
  std::string fault(uint32_t blocks, uint32_t threads, uint64_t seed = 0) {
    try {
      run(blocks, threads, seed);
    } catch (const Fault& one) {
      return one.what();
    }
    return "";
  }

  alignas(64) uint32_t words[1024] = {};
  alignas(64) uint32_t doorbell[16] = {};
  const Convergence* convergence = nullptr;
  machine::ptx::Machine gpu;
};

std::string refused(const std::string& text) {
  try {
    machine::ptx::parse(text);
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("PTX: what is not known is refused with its line") {
  CHECK(refused(kernel("add.u32 %r1, %r1, 1; ret;")).empty());
  for (const char* const bad : {"tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r1}];",
                                "add.u32.sat %r1, %r1, 1;",
                                "add.f16 %h1, %h1, %h1;",
                                "ld.global.v8.u32 %r1, [%d1];",
                                "ld.release.gpu.u32 %r1, [%d1];",
                                "st.acquire.gpu.u32 [%d1], %r1;",
                                "atom.add.noftz.f16 %h1, [%d1], %h1;",
                                "fence.proxy.alias;",
                                "bar.red.popc.u32 %r1, 0, %p1;",
                                "vote.ballot.b32 %r1, %p1;",
                                "shfl.idx.b32 %r1, %r1, 0, 31;",
                                "mov.u32 %r1, %unknown;",
                                "bra $nowhere;",
                                "cp.async.bulk.wait_group 0;",
                                "add.u32 %r1, %r2;",
                                "mul.u32 %r1, %r1, %r1;",
                                "cvt.rn.s32.s32 %r1, %r1;",
                                "prefetch.L1 [%d1];",
                                "call (%r1), f;",
                                "ld.global.u32 %r1, [unknown];",
                                "setp.lo.s32 %p1, %r1, %r1;",
                                "set.lt.u32 %r1, %r1, %r1;",
                                "set.lt.u16.u32 %h1, %r1, %r1;",
                                "mul24.wide.u32 %d1, %r1, %r1;",
                                "mad24.hi.sat.s32 %r1, %r1, %r1, %r1;",
                                "dp4a.u32 %r1, %r1, %r1, %r1;",
                                "prmt.b32.rc4 %r1, %r1, %r1, %r1;"}) {
    INFO(bad);
    const std::string why = refused(kernel(std::string("\n") + bad));
    CHECK(contains(why, "PTX line "));
    CHECK(contains(why, std::string(bad).substr(0, 3)));
  }
  CHECK(contains(refused(".version 6.0\n.target sm_60\n"), "sm_70"));
  CHECK(contains(refused(std::string(head) + ".extern .global .u32 x;\n"), "another module"));
}

TEST_CASE("PTX: a label ends with one colon, a modifier may contain two") {
  Bench bench(
      kernel(".shared .align 4 .b8 own[4];\n"
             "ld.global.L1::no_allocate.L2::128B.u32 %r2, [%d2]; add.u32 %r2, %r2, 7;\n"
             "st.shared::cta.u32 [own], %r2;\n$on : ld.shared::cta.u32 %r3, [own];\n"
             "st.global.L1::evict_last.u32 [%d2], %r3; ret;"));
  bench.run(1, 1);
  CHECK(bench.words[0] == 7);
}

TEST_CASE("PTX: devices often write between two loads of a thread") {
  Bench bench(
      kernel("mov.u32 %r5, 0; mov.u32 %r2, 0;\n$next:\n"
             "ld.acquire.sys.u32 %r3, [%d1+4]; ld.acquire.sys.u32 %r4, [%d1+8]; setp.ne.u32 %p1, %r3, %r4;\n"
             "selp.u32 %r6, 1, 0, %p1; add.u32 %r5, %r5, %r6; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 20;\n"
             "@%p2 bra $next; st.global.u32 [%d1], %r5; ret;"));
  bench.gpu.step_devices = [&](machine::Random&) {
    ++bench.words[1];
    ++bench.words[2];
    return true;
  };
  const uint64_t arguments[] = {reinterpret_cast<uint64_t>(bench.words)};
  machine::Launch launch;
  launch.arguments = arguments;
  launch.argument_bytes = sizeof arguments;
  uint32_t met = 0;
  constexpr uint32_t seeds = 100;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    for (uint32_t& word : bench.words) word = 0;
    bench.gpu.start(seed);
    bench.gpu.mood.memory.stale = 1u << 31;  // the loads return what is there when they are executed
    bench.gpu.run("k", launch);
    met += bench.words[0];
  }
  // Of all pairs of loads. With devices that move between turns of threads alone, it was one in ten.
  CHECK(met >= seeds * 20 / 6);
}

TEST_CASE("PTX: calls take parameters along and bring results back") {
  Bench bench(
      std::string(head) +
      ".func (.param .align 8 .b8 out[16]) divide(.param .b32 a, .param .b32 b);\n"
      ".func (.param .b32 out) factorial(.param .b32 n)\n{\n.reg .b32 %r<8>; .reg .pred %p<2>;\n"
      "ld.param.b32 %r1, [n]; setp.gt.u32 %p1, %r1, 1; @%p1 bra $more; st.param.b32 [out], 1; ret;\n"
      "$more: sub.u32 %r2, %r1, 1;\n{\n.reg .b32 temp_param_reg;\n.param .b32 param0; st.param.b32 [param0+0], %r2;\n"
      ".param .b32 retval0; call.uni (retval0), factorial, (param0);\nld.param.b32 %r3, [retval0+0];\n}\n"
      "mul.lo.u32 %r4, %r1, %r3; st.param.b32 [out], %r4; ret;\n}\n"
      ".func (.param .align 8 .b8 out[16]) divide(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %r<5>; .reg .b64 %d<3>;\n"
      ".local .align 8 .b8 depot[16]; .reg .b64 %SP; .reg .b64 %SPL;\nmov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;\n"
      "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; div.u32 %r3, %r1, %r2; rem.u32 %r4, %r1, %r2;\n"
      "st.local.u32 [%SPL], %r3; st.u32 [%SP+8], %r4; ld.u64 %d1, [%SP]; ld.local.u32 %r1, [%SPL+8]; cvt.u64.u32 %d2, "
      "%r1;\n"
      "st.param.b64 [out], %d1; st.param.b64 [out+8], %d2; ret;\n}\n" +
      begin_kernel +
      "add.u32 %r2, %r1, 1;\n{ .param .b32 param0; st.param.b32 [param0], %r2; .param .b32 retval0;\n"
      "call.uni (retval0), \nfactorial, \n(\nparam0\n);\nld.param.b32 %r3, [retval0]; }\n"
      "{ .param .b32 param0; .param .b32 param1; st.param.b32 [param0], %r3; st.param.b32 [param1], 7;\n"
      ".param .align 8 .b8 retval0[16]; call (retval0), divide, (param0, param1);\n"
      "ld.param.u32 %r4, [retval0]; ld.param.u32 %r5, [retval0+8]; }\n"
      "mad.lo.u32 %r6, %r4, 7, %r5; sub.u32 %r6, %r6, %r3; add.u32 %r6, %r6, %r3; st.global.u32 [%d2], %r6; ret;\n}\n");
  bench.run(1, 10);
  uint32_t factorial = 1;
  for (uint32_t i = 0; i < 10; ++i) CHECK(bench.words[i] == (factorial *= i + 1));
}

TEST_CASE("PTX: a parameter of a device function whose address is taken lies in local memory") {
  Bench bench(std::string(head) +
              ".func (.param .b32 out) second(.param .b32 n, .param .align 8 .b8 pair[16])\n{\n.reg .b32 %r<4>; .reg "
              ".b64 %d<4>;\n"
              "mov.u64 %d1, pair; ld.local.u32 %r1, [%d1+8]; ld.param.u32 %r2, [%d1+12]; add.u32 %r1, %r1, %r2;\n"
              "st.param.b32 [out], %r1; ret;\n}\n" +
              begin_kernel +
              "add.u32 %r2, %r1, 100;\n{\n.param .b32 param0; st.param.b32 [param0+0], %r1;\n"
              ".param .align 8 .b8 param1[16]; st.param.b32 [param1+8], %r2; st.param.b32 [param1+12], 11;\n"
              ".param .b32 retval0; call.uni (retval0), second, (param0, param1);\nld.param.b32 %r3, [retval0+0];\n}\n"
              "st.global.u32 [%d2], %r3; ret;\n}\n");
  bench.run(1, 32);
  for (uint32_t i = 0; i < 32; ++i) CHECK(bench.words[i] == i + 111);
}

TEST_CASE("PTX: variables of the module and shared memory") {
  const std::string text =
      std::string(head) +
      ".global .align 4 .u32 counter = 5;\n.const .align 8 .u64 table[3] = {7, 0x10, -1};\n"
      ".global .align 8 .u64 pointer = generic(counter);\n.global .align 4 .b8 bytes[4] = {1, 2, 3, 4};\n"
      ".shared .align 4 .u32 slots[64];\n.extern .shared .align 16 .b8 dynamic[];\n" +
      begin_kernel +
      "ld.global.u64 %d3, [pointer]; atom.global.add.u32 %r2, [%d3], 1; ld.const.u32 %r3, [table+8];\n"
      "ld.global.u8 %h1, [bytes+2]; cvt.u32.u16 %r7, %h1;\n"
      "mov.u32 %r4, slots; shl.b32 %r5, %r1, 2; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r1;\n"
      "mov.u64 %d5, dynamic; cvta.shared.u64 %d6, %d5; cvt.u64.u32 %d7, %r5; add.u64 %d6, %d6, %d7;\n"
      "st.u32 [%d6], %r1; bar.sync 0; xor.b32 %r5, %r5, 4; mov.u32 %r4, slots; add.u32 %r4, %r4, %r5;\n"
      "ld.shared.u32 %r6, [%r4]; ld.u32 %r8, [%d6]; add.u32 %r6, %r6, %r8; mad.lo.u32 %r6, %r6, 100, %r3;\n"
      "add.u32 %r6, %r6, %r7; st.global.u32 [%d2], %r6; st.global.u32 [%d2+512], %r2; ret;\n}\n";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Bench bench(text);
    uint64_t arguments[] = {reinterpret_cast<uint64_t>(bench.words)};
    machine::Launch launch;
    launch.block.x = 64;
    launch.arguments = arguments;
    launch.argument_bytes = 8;
    launch.dynamic_shared_bytes = 256;
    bench.gpu.start(seed);
    bench.gpu.run("k", launch);
    uint64_t before = 0;
    for (uint32_t i = 0; i < 64; ++i) {
      CHECK(bench.words[i] == ((i ^ 1) + i) * 100 + 16 + 3);
      before |= uint64_t{1} << (bench.words[128 + i] - 5);
    }
    CHECK(before == ~uint64_t{0});
    CHECK(bench.gpu.kernels().at(0).shared_bytes == 256);
    const std::string why = bench.fault(1, 64);  // no dynamic shared memory
    CHECK((contains(why, "behind the end") || contains(why, "nothing is mapped")));
  }
}

TEST_CASE("PTX: threads that act together") {
  // Every thread contributes its lane: summed, voted and exchanged.
  Bench bench(
      kernel("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; redux.sync.add.u32 %r3, %r1, -1;\n"
             "and.b32 %r4, %r1, 1; setp.ne.u32 %p1, %r4, 0; vote.sync.ballot.b32 %r5, %p1, -1;\n"
             "match.any.sync.b32 %r6, %r4, -1; shfl.sync.up.b32 %r7|%p2, %r1, 1, 0, -1; selp.u32 %r8, 1, 0, %p2;\n"
             "st.global.u32 [%d2], %r2; st.global.u32 [%d2+128], %r3; st.global.u32 [%d2+256], %r5;\n"
             "st.global.u32 [%d2+384], %r6; st.global.u32 [%d2+512], %r7; st.global.u32 [%d2+640], %r8; ret;"));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    bench.run(1, 32, seed);
    for (uint32_t i = 0; i < 32; ++i) {
      CHECK(bench.words[i] == (i ^ 1));
      CHECK(bench.words[32 + i] == 496);
      CHECK(bench.words[64 + i] == 0xaaaaaaaa);
      CHECK(bench.words[96 + i] == (i & 1 ? 0xaaaaaaaa : 0x55555555));
      CHECK(bench.words[128 + i] == (i == 0 ? 0 : i - 1));
      CHECK(bench.words[160 + i] == (i != 0));
    }
  }
}

TEST_CASE("PTX: masks that are wrong are faults") {
  const auto fault = [](const std::string& body, uint32_t threads = 4) {
    Bench bench(kernel(body));
    const std::string calm = bench.fault(1, threads);
    const std::string nasty = bench.fault(1, threads, 3);
    CHECK(calm.empty() == nasty.empty());
    return calm;
  };
  CHECK(fault("bar.warp.sync 15; ret;").empty());
  CHECK(fault("bar.warp.sync -1; ret;").empty());  // lanes that do not exist are not waited for
  CHECK(contains(fault("bar.warp.sync 14; ret;"), "does not name the thread"));
  const std::string split = "setp.lt.u32 %p1, %r1, 2; @%p1 bra $a;";
  CHECK(contains(fault(split + "bar.warp.sync 15; ret; $a: vote.sync.any.pred %p2, 1, 15; ret;"),
                 "different instructions"));
  CHECK(contains(fault(split + "bar.warp.sync 15; ret; $a: bar.warp.sync 7; ret;"), "different"));
  CHECK(fault(split + "bar.warp.sync 15; ret; $a: add.u32 %r2, %r2, 1; bar.warp.sync 15; ret;").empty());
  CHECK(fault(split + "bar.warp.sync 15; ret; $a: ret;").empty());  // ended threads are not waited for
  CHECK(contains(fault(split + "shfl.sync.idx.b32 %r2, %r1, 0, 31, 12; ret; $a: ret;"), "takes no part"));
  CHECK(contains(fault(split + "bar.warp.sync 15; ret; $a: bar.sync 0; bar.warp.sync 15; ret;"), "deadlock"));
}

TEST_CASE("PTX: a run that cannot end says where everybody stands") {
  Bench bench(
      kernel(".loc 1 7 0\n$again: ld.relaxed.gpu.u32 %r2, [%d1]; setp.eq.u32 %p1, %r2, 0;\n@%p1 bra $again;\nret;"));
  bench.gpu.limits.instructions = 10000;
  const std::string why = bench.fault(1, 4, 1);
  CHECK(contains(why, "seed 1"));
  CHECK(contains(why, "no end after"));
  CHECK(contains(why, "warp 0 lanes "));
  Bench spinning(kernel("$again: bra $again;"));
  spinning.gpu.limits.instructions = 10000;
  CHECK(contains(spinning.fault(1, 2), "no end after"));
  Bench wild(kernel("st.global.u32 [%d1+65536], %r1; ret;"));
  CHECK(contains(wild.fault(1, 1), "nothing is mapped"));
  Bench crooked(kernel("ld.global.u64 %d3, [%d1+4]; ret;"));
  CHECK(contains(crooked.fault(1, 1), "not a multiple"));
}

TEST_CASE("PTX: who is here is answered with any set") {
  Bench bench(kernel("activemask.b32 %r2; st.global.u32 [%d2], %r2; ret;"));
  bench.run(1, 32);
  for (uint32_t i = 0; i < 32; ++i) CHECK(bench.words[i] == 0xffffffff);
  static constexpr Convergence one = Convergence::one;
  bench.convergence = &one;
  bench.run(1, 32, 1);
  for (uint32_t i = 0; i < 32; ++i) CHECK(bench.words[i] == 1u << i);
  static constexpr Convergence random = Convergence::random;
  bench.convergence = &random;
  bool partly = false;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    bench.run(1, 32, seed);
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t mask = bench.words[i];
      CHECK((mask >> i & 1) == 1);
      for (uint32_t k = 0; k < 32; ++k) CHECK(((mask >> k & 1) == 0 || bench.words[k] == mask));
      partly = partly || (mask != 0xffffffff && mask != 1u << i);
    }
  }
  CHECK(partly);
}

TEST_CASE("PTX: threads of a warp drift apart") {
  // Lane 0 waits for a later store of lane 1.
  Bench bench(kernel(
      "setp.ne.u32 %p1, %r1, 0; @%p1 bra $b;\n$again: ld.relaxed.cta.u32 %r2, [%d1+64]; setp.eq.u32 %p2, %r2, 0; "
      "@%p2 bra $again; bra $end;\n$b: st.relaxed.cta.u32 [%d1+64], 1;\n$end: bar.warp.sync 3; ret;"));
  for (uint64_t seed = 0; seed < 50; ++seed) CHECK(bench.fault(1, 2, seed).empty());
}

TEST_CASE("PTX: mutations weaken one instruction and are undone") {
  Bench bench(
      kernel("fence.sc.sys; fence.acq_rel.gpu; fence.acq_rel.cta; ld.acquire.sys.u32 %r2, [%d1]; st.release.cta.u32 "
             "[%d1], 1;\n"
             "atom.acq_rel.gpu.add.u32 %r2, [%d1], 1; red.relaxed.sys.add.u32 [%d1], 1; bar.warp.sync -1; st.u32 "
             "[%d1], 2; ret;"));
  std::vector<std::string> changes;
  for (const machine::Mutation& one : bench.gpu.mutations("k")) {
    changes.push_back(one.change);
    bench.gpu.apply(one);
    CHECK(bench.fault(1, 1).empty());
    bench.gpu.restore();
  }
  const std::vector<std::string> expected = {"acq_rel",   "scope gpu", "removed", "scope cta", "removed",
                                             "relaxed",   "scope gpu", "relaxed", "acquire",   "release",
                                             "scope cta", "scope gpu", "removed"};
  CHECK(changes == expected);
  CHECK(bench.gpu.mutations("k").size() == expected.size());
}

namespace {

/// Whether `outcome` happens under some seed; `device` runs between instructions.
/// @param rung runs while stores arrive, when one has reached the doorbell
bool meets(const std::string& body, const std::function<bool(Bench&)>& device,
           const std::function<bool(Bench&)>& outcome, uint32_t blocks = 1,
           const std::function<void(Bench&)>& rung = {}, MemoryKind kind = MemoryKind::host) {
  Bench bench(std::string(head) +
                  ".visible .entry k(.param .u64 memory, .param .u64 doorbell)\n{\n.reg .pred %p<8>; .reg .b32 "
                  "%r<16>; .reg .b64 %d<16>;\nld.param.u64 %d1, [memory]; ld.param.u64 %d4, [doorbell]; "
                  "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0;\n" +
                  body + "\n}\n",
              kind);
  bench.gpu.step_devices = [&](machine::Random&) { return device(bench); };
  if (rung) bench.gpu.write_register = [&](uint64_t, uint64_t, uint32_t) { rung(bench); };
  for (uint64_t seed = 1; seed < 1500; ++seed) {
    bench.doorbell[0] = 0;
    bench.run(blocks, 1, seed);
    if (outcome(bench)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("PTX: devices see what was released to them") {
  // words[0]: data, words[16]: flag; the device records the data that it saw after the flag in words[32].
  const auto looks = [](Bench& b) {
    if (b.words[16] == 0 || b.words[32] != 0) return false;
    b.words[32] = 1 + b.words[0];
    return true;
  };
  const auto old = [](Bench& b) { return b.words[32] == 1; };
  const auto send = [&](const std::string& how) { return meets("st.u32 [%d1], 1;" + how + "ret;", looks, old); };
  CHECK_FALSE(send("fence.acq_rel.sys; st.relaxed.sys.u32 [%d1+64], 1;"));
  CHECK_FALSE(send("st.release.sys.u32 [%d1+64], 1;"));
  CHECK_FALSE(send("fence.sc.sys; red.relaxed.sys.add.u32 [%d1+64], 1;"));
  CHECK(send("st.relaxed.sys.u32 [%d1+64], 1;"));
  CHECK(send("fence.acq_rel.gpu; st.relaxed.sys.u32 [%d1+64], 1;"));
  CHECK(send("st.release.gpu.u32 [%d1+64], 1;"));
  CHECK(send("fence.acq_rel.sys; st.weak.u32 [%d1+64], 1;"));
  CHECK(send("fence.acq_rel.sys; st.relaxed.gpu.u32 [%d1+64], 1;"));

  // The same with a doorbell, whose store the device sees on arrival.
  const auto rings = [](Bench& b) {
    if (b.doorbell[0] == 0 || b.words[32] != 0) return false;
    b.words[32] = 1 + b.words[0];
    return true;
  };
  const auto ring = [&](const std::string& how) {
    return meets("st.v4.u32 [%d1], {1, 1, 1, 1};" + how + "st.relaxed.sys.u32 [%d4], 1; ret;", rings, old);
  };
  CHECK_FALSE(ring("fence.acq_rel.sys;"));
  CHECK(ring(""));
  CHECK(ring("fence.acq_rel.gpu;"));

  // One block stores the data, another one rings.
  const auto passed_on = [&](const std::string& first, const std::string& second) {
    return meets("@%p1 bra $b; st.u32 [%d1], 1;" + first +
                     "ret;\n$b: ld.acquire.gpu.u32 %r2, [%d1+64]; setp.eq.u32 %p2, %r2, 0; " + "@%p2 bra $b;" + second +
                     "st.relaxed.sys.u32 [%d4], 1; ret;",
                 rings, old, 2);
  };
  CHECK_FALSE(passed_on("st.release.gpu.u32 [%d1+64], 1;", "fence.acq_rel.sys;"));
  CHECK(passed_on("st.release.gpu.u32 [%d1+64], 1;", "fence.acq_rel.gpu;"));
  CHECK(passed_on("fence.acq_rel.sys; st.release.gpu.u32 [%d1+64], 1;", ""));  // the ringing thread has no fence
  CHECK(passed_on("st.relaxed.gpu.u32 [%d1+64], 1;", "fence.acq_rel.sys;"));
}

TEST_CASE("PTX: devices see in the GPU's own memory what was released at gpu scope") {
  const auto rings = [](Bench& b) {
    if (b.doorbell[0] == 0 || b.words[32] != 0) return false;
    b.words[32] = 1 + b.words[0];
    return true;
  };
  const auto old = [](Bench& b) { return b.words[32] == 1; };
  const auto ring = [&](const std::string& how) {
    return meets("st.v4.u32 [%d1], {1, 1, 1, 1};" + how + "st.relaxed.sys.u32 [%d4], 1; ret;", rings, old, 1, {},
                 MemoryKind::local);
  };
  CHECK_FALSE(ring("fence.acq_rel.sys;"));
  CHECK_FALSE(ring("fence.acq_rel.gpu;"));
  CHECK(ring("fence.acq_rel.cta;"));
  CHECK(ring(""));

  const auto passed_on = [&](const std::string& first, const std::string& second) {
    return meets("@%p1 bra $b; st.u32 [%d1], 1;" + first +
                     "ret;\n$b: ld.acquire.gpu.u32 %r2, [%d1+64]; setp.eq.u32 %p2, %r2, 0; " + "@%p2 bra $b;" + second +
                     "st.relaxed.sys.u32 [%d4], 1; ret;",
                 rings, old, 2, {}, MemoryKind::local);
  };
  CHECK_FALSE(passed_on("st.release.gpu.u32 [%d1+64], 1;", "fence.acq_rel.gpu;"));
  CHECK(passed_on("fence.acq_rel.gpu; st.release.gpu.u32 [%d1+64], 1;", ""));  // the ringing thread has no fence
  CHECK(passed_on("st.relaxed.gpu.u32 [%d1+64], 1;", "fence.acq_rel.gpu;"));
}

TEST_CASE("PTX: what devices wrote is seen behind an acquire") {
  // The device writes words[0], and later words[16].
  const auto writes = [](Bench& b) {
    if (b.words[48] == 0) return false;  // the kernel has not begun
    if (b.words[0] == 0) {
      b.words[0] = 1;
    } else if (b.words[16] == 0) {
      b.words[16] = 1;
    } else {
      return false;
    }
    return true;
  };
  const auto old = [](Bench& b) { return b.words[32] == 1 && b.words[33] == 0; };
  const auto receive = [&](const std::string& how) {
    return meets("ld.u32 %r3, [%d1]; st.release.sys.u32 [%d1+192], 1;\n$again: " + how + "ld.u32 %r3, [%d1];\n" +
                     "setp.eq.u32 %p2, %r2, 0; @%p2 bra $again; st.u32 [%d1+128], %r2; st.u32 [%d1+132], %r3; ret;",
                 writes, old);
  };
  CHECK_FALSE(receive("ld.acquire.sys.u32 %r2, [%d1+64];"));
  CHECK_FALSE(receive("ld.relaxed.sys.u32 %r2, [%d1+64]; fence.acq_rel.sys;"));
  CHECK_FALSE(receive("ld.volatile.u32 %r2, [%d1+64]; fence.acq_rel.sys;"));
  CHECK(receive("ld.relaxed.sys.u32 %r2, [%d1+64];"));
  CHECK(receive("ld.relaxed.sys.u32 %r2, [%d1+64]; fence.acq_rel.gpu;"));
  CHECK(receive("ld.acquire.gpu.u32 %r2, [%d1+64];"));
  CHECK(receive("ld.u32 %r2, [%d1+64]; fence.acq_rel.sys;"));
}

TEST_CASE("PTX: doorbells that follow each other by causality arrive in that order") {
  const auto none = [](Bench&) { return false; };
  const auto back = [](Bench& b) { return b.doorbell[0] == 5; };
  const auto turns = [&](const std::string& give, const std::string& take) {
    return meets("@%p1 bra $b; st.relaxed.sys.u32 [%d4], 5; " + give + ".gpu.u32 [%d1], 1; ret;\n$b: " + take +
                     ".gpu.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra $b; st.relaxed.sys.u32 [%d4], 6; ret;",
                 none, back, 2);
  };
  CHECK_FALSE(turns("st.release", "ld.acquire"));
  CHECK(turns("st.relaxed", "ld.acquire"));
  CHECK(turns("st.release", "ld.relaxed"));
}

TEST_CASE("PTX: a device that runs while stores arrive") {
  // words[0] is the GPU's, words[16] the device's: each stores its own and then reads the other's.
  const auto none = [](Bench&) { return false; };
  const auto rung = [](Bench& b) {
    b.words[16] = 1;
    b.words[32] = 1 + b.words[0];
  };
  const auto both_old = [](Bench& b) { return b.words[32] == 1 && b.words[48] == 0; };
  const auto buffered = [&](const std::string& fence) {
    return meets("ld.relaxed.sys.u32 %r2, [%d1+64]; st.relaxed.sys.u32 [%d4], 1; st.relaxed.sys.u32 [%d1], 1;" + fence +
                     "ld.relaxed.sys.u32 %r2, [%d1+64]; st.u32 [%d1+192], %r2; ret;",
                 none, both_old, 1, rung);
  };
  CHECK_FALSE(buffered("fence.sc.sys;"));
  CHECK(buffered("fence.acq_rel.sys;"));
}

TEST_CASE("PTX: 16 bytes are stored and loaded piece by piece") {
  const auto none = [](Bench&) { return false; };
  const auto torn = [](Bench& b) { return b.words[32] != b.words[35] || b.words[33] != b.words[34]; };
  CHECK(
      meets("@%p1 bra $b; st.v4.u32 [%d1], {1, 1, 1, 1}; ret;\n$b: ld.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];\n"
            "st.v4.u32 [%d1+128], {%r2, %r3, %r4, %r5}; ret;",
            none, torn, 2));
}
