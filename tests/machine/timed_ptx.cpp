// SPDX-License-Identifier: MIT
/// @file
/// @brief Tests of the timed mode: what small kernels take by latencies that are easy to add up, and files of
/// latencies.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include <catch.hpp>

#include <machine/ptx/timed.hpp>

namespace {

using machine::Fault;
using machine::MemoryKind;
using machine::timed::Latencies;
using machine::timed::Profile;
using machine::timed::Reason;

/// Instructions but those that read a parameter cost 1, loads 100 (1000 from the host), atomics 200, fences 50 and more
/// behind stores; all else nothing.
Latencies round_numbers() {
  Latencies out;
  for (const char* const one : {"instruction=1", "code_bytes=16", "code_line=128", "code_near=4096", "code_far=65536",
                                "load_l1=10", "load_near=100", "load_far=1000", "atomic_near=200", "atomic_far=2000",
                                "fence_gpu=1:50 2:60", "fence_gpu_near=1:80", "fence_gpu_far=1:300",
                                "fence_system=1:500", "fence_system_near=1:550", "fence_system_far=1:600"})
    out.set(one);
  return out;
}

constexpr const char* head =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 near, .param .u64 far)\n{\n"
    ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<16>;\n"
    "ld.param.u64 %d1, [near]; ld.param.u64 %d2, [far]; mov.u32 %r1, %laneid; mov.u32 %r2, %ctaid.x;\n";
constexpr double head_ns = 2;  // parameters cost nothing

struct Bench {
  explicit Bench(const std::string& body, const Latencies& latencies = round_numbers())
      : gpu(machine::ptx::parse(head + body + "\nret;\n}\n"), latencies) {
    gpu.memory.add(near, sizeof near, MemoryKind::local, "near");
    gpu.memory.add(far, sizeof far, MemoryKind::host, "far");
  }
  /// What a launch takes but for the beginning and the end of the kernel, in whole ns: lanes that wait for others at
  /// one time go on a hundredth later.
  double run(uint32_t blocks = 1, uint32_t threads = 1) {
    const uint64_t arguments[] = {reinterpret_cast<uint64_t>(near), reinterpret_cast<uint64_t>(far)};
    machine::Launch launch;
    launch.grid.x = blocks;
    launch.block.x = threads;
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    gpu.start(0);
    gpu.run("k", launch);
    return std::round(gpu.ended_at() - head_ns - 1);
  }
  double spent(Reason reason) const {
    double out = 0;
    for (const auto& [key, spent] : gpu.profile().spent) out += key.second == reason ? spent.ns : 0;
    return out;
  }

  alignas(4096) uint32_t near[1024] = {};
  alignas(4096) uint32_t far[1024] = {};
  machine::ptx::TimedMachine gpu;
};

double takes(const std::string& body) { return Bench(body).run(); }

struct File {
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::remove(path.c_str()); }
  std::string fault() const {
    try {
      Latencies::read(path);
    } catch (const Fault& one) {
      return one.what();
    }
    return "";
  }
  std::string path = "timed-latencies." + std::to_string(getpid());
};

}  // namespace

TEST_CASE("A lane waits for a load where its value is used", "[machine]") {
  CHECK(takes("ld.relaxed.gpu.u32 %r3, [%d1];") == 1);
  CHECK(takes("ld.relaxed.gpu.u32 %r3, [%d1]; add.u32 %r4, %r3, 1;") == 102);
  // Two in flight together, and one whose address is the other's value.
  CHECK(takes("ld.relaxed.gpu.u32 %r3, [%d1]; ld.relaxed.gpu.u32 %r4, [%d1+256]; add.u32 %r5, %r3, %r4;") == 103);
  CHECK(takes("ld.relaxed.gpu.u32 %r3, [%d1]; cvt.u64.u32 %d3, %r3; add.u64 %d3, %d3, %d1; "
              "ld.relaxed.gpu.u32 %r4, [%d3]; add.u32 %r5, %r4, 1;") == 205);
  CHECK(takes("ld.relaxed.gpu.u32 %r3, [%d2]; add.u32 %r4, %r3, 1;") == 1002);
  CHECK(takes("ld.acquire.gpu.u32 %r3, [%d1];") == 101);
  CHECK(takes("atom.relaxed.gpu.global.add.u32 %r3, [%d1], 1; add.u32 %r4, %r3, 1;") == 202);
  CHECK(takes("red.relaxed.gpu.global.add.u32 [%d1], 1;") == 1);
}

TEST_CASE("A weak load is cached until an acquire", "[machine]") {
  const std::string load = "ld.global.u32 %r3, [%d1]; add.u32 %r4, %r3, 1;";
  CHECK(takes(load + load) == 102 + 12);
  CHECK(takes(load + "ld.acquire.gpu.u32 %r5, [%d1+512];" + load) == 102 + 101 + 102);
}

TEST_CASE("A fence waits for what was stored and loaded", "[machine]") {
  CHECK(takes("fence.acq_rel.gpu;") == 51);
  CHECK(takes("fence.acq_rel.sys;") == 501);
  CHECK(takes("st.relaxed.gpu.u32 [%d1], 1; fence.acq_rel.gpu;") == 81);
  CHECK(takes("st.relaxed.gpu.u32 [%d2], 1; fence.acq_rel.gpu;") == 301);
  CHECK(takes("st.relaxed.gpu.u32 [%d2], 1; fence.acq_rel.sys;") == 601);
  CHECK(takes("ld.relaxed.gpu.u32 %r3, [%d2]; fence.acq_rel.gpu;") == 1001);
  CHECK(takes("st.release.gpu.u32 [%d1], 1;") == 51);
  CHECK(takes("atom.acq_rel.gpu.global.add.u32 %r3, [%d1], 1;") == 251);
  // Lanes of a warp fence once; two warps share the way.
  Bench warp("fence.acq_rel.gpu;");
  CHECK(warp.run(1, 32) == 51);
  CHECK(warp.run(2, 32) == 61);
}

TEST_CASE("What others see has the time of the access", "[machine]") {
  // Block 0 releases a flag behind a far store; block 1 looks until it is set.
  Bench bench(
      "setp.ne.u32 %p1, %r2, 0; @%p1 bra look;\n"
      "st.relaxed.sys.u32 [%d2], 1; st.release.sys.u32 [%d1], 1; ret;\n"
      "look: ld.relaxed.gpu.u32 %r3, [%d1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra look;");
  const double first = bench.run(2);
  // The release ends at 603 from the first instruction behind the head; the look after it takes 100 more.
  CHECK(first > 603 + 100);
  CHECK(first < 603 + 250);
  for (uint32_t& word : bench.near) word = 0;
  CHECK(bench.run(2) == first);
}

TEST_CASE("Accesses of one word wait for each other", "[machine]") {
  Latencies latencies = round_numbers();
  latencies.set("word=7");
  Bench bench("atom.relaxed.gpu.global.add.u32 %r3, [%d1], 1; add.u32 %r4, %r3, 1;", latencies);
  CHECK(bench.run(4) == 202 + 3 * 7);
  CHECK(bench.near[0] == 4);
}

TEST_CASE("Lanes come together where paths join", "[machine]") {
  // Lane 0 alone loads; the others store when it has done so, as after a convergence barrier, and look at the clock.
  Bench bench(
      "mul.wide.u32 %d3, %r1, 8; add.u64 %d3, %d3, %d1; setp.ne.u32 %p1, %r1, 0; @%p1 bra join;\n"
      "ld.acquire.gpu.u32 %r3, [%d1];\n"
      "join: st.relaxed.gpu.u32 [%d1+2048], %r1; mov.u64 %d4, %globaltimer; st.global.u64 [%d3], %d4;");
  bench.run(1, 32);
  const auto* const clocks = reinterpret_cast<const uint64_t*>(bench.near);
  CHECK(clocks[0] - 1'000'000'000 >= 105);
  CHECK(clocks[31] - clocks[0] <= 2);
  CHECK(bench.spent(Reason::load) == 100);
  CHECK(bench.gpu.profile().acquiring == 1);
}

TEST_CASE("A vote waits for the last lane", "[machine]") {
  Latencies latencies = round_numbers();
  latencies.set("vote=12");
  Bench bench(
      "setp.eq.u32 %p1, %r1, 0; @%p1 bra vote;\n"
      "ld.acquire.gpu.u32 %r3, [%d1];\n"
      "vote: vote.sync.ballot.b32 %r4, %p1, 0xffffffff; st.global.u32 [%d1], %r4;",
      latencies);
  CHECK(bench.run(1, 32) == 2 + 101 + 1 + 12 + 1);
  CHECK(bench.near[0] == 1);
  CHECK(bench.spent(Reason::vote) == 12);
  CHECK(bench.spent(Reason::lanes) >= 100);
  // One after the other, and a wait for both values.
  Bench two(
      "setp.eq.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r4, %p1, 0xffffffff;\n"
      "vote.sync.ballot.b32 %r5, %p1, 0xffffffff; add.u32 %r6, %r4, %r5;",
      latencies);
  CHECK(two.run(1, 32) == 1 + 1 + 1 + 12 + 1);
}

TEST_CASE("Code that does not fit the cache is fetched again", "[machine]") {
  // A loop of 8 jumps over lines, which no other line announces.
  std::string loop = "mov.u32 %r3, 0;\nagain:\n";
  for (int k = 0; k < 8; ++k) {
    const std::string to = "next" + std::to_string(k);
    loop += "bra " + to + ";\n";
    for (int filler = 0; filler < 24; ++filler) loop += "add.u32 %r5, %r5, 1;\n";
    loop += to + ":\n";
  }
  loop += "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 10; @%p1 bra again;";
  const auto fetched = [&](const char* near) {
    Latencies latencies = round_numbers();
    latencies.set("code_near_miss=20");
    latencies.set(std::string("code_near=") + near);
    Bench bench(loop, latencies);
    bench.run();
    return bench.spent(Reason::fetch);
  };
  const double fits = fetched("65536");
  CHECK(fits > 0);
  CHECK(fits <= 20 * 10);
  CHECK(fetched("512") >= 20 * 8 * 10);
}

TEST_CASE("Code that follows comes with a missed line", "[machine]") {
  Latencies latencies = round_numbers();
  latencies.set("code_near_miss=20");
  latencies.set("code_near=512");
  std::string straight;
  for (int k = 0; k < 200; ++k) straight += "add.u32 %r5, %r5, 1;\n";
  CHECK(Bench(straight, latencies).run() == 200 + 20);
}

TEST_CASE("A file of latencies is complete and says where it has them from", "[machine]") {
  std::string text;
  for (const char* const name :
       {"instruction", "branch",      "vote",         "block_barrier",  "block_start", "invalidate",
        "code_bytes",  "code_line",   "code_near",    "code_near_miss", "code_far",    "code_far_miss",
        "load_l1",     "load_near",   "load_far",     "atomic_near",    "atomic_far",  "word",
        "line",        "load_sector", "store_sector", "far_line",       "fence_block"})
    text += std::string(name) + " 1 # a source\n";
  const std::string fences =
      "fence_gpu 1:2 # s\nfence_gpu_near 1:2 # s\nfence_gpu_far 1:2 # s\nfence_system 1:2 4:8 # s\n"
      "fence_system_near 1:2 # s\n";
  const std::string last = "fence_system_far 1:2 # s\n";
  const std::string all = text + fences + last;
  CHECK(File(all).fault() == "");
  CHECK(Latencies::read(File(all).path).fence_system.at(2) == 4);
}

TEST_CASE("A wrong file of latencies is refused by line and name", "[machine]") {
  const auto refused = [](const std::string& text) { return File(text).fault(); };
  CHECK_THAT(refused("isue 1 # s\n"), Catch::Matchers::EndsWith(":1: isue: there is no latency isue"));
  CHECK_THAT(refused("instruction 1 # s\n"), Catch::Matchers::EndsWith("branch is missing"));
  CHECK_THAT(refused("instruction 1\n"), Catch::Matchers::EndsWith("# and the source of the value are missing"));
  CHECK_THAT(refused("instruction 1 #\n"), Catch::Matchers::EndsWith("# and the source of the value are missing"));
  CHECK_THAT(refused("\ninstruction 1 # s\ninstruction 2 # s\n"),
             Catch::Matchers::EndsWith(":3: instruction: a second time"));
  CHECK_THAT(refused("instruction x # s\n"), Catch::Matchers::EndsWith("x is no number from 0"));
  CHECK_THAT(refused("instruction 1 2 # s\n"), Catch::Matchers::EndsWith("more than one value"));
  CHECK_THAT(refused("fence_gpu 1 # s\n"), Catch::Matchers::EndsWith("1 is not waves:value"));
  CHECK_THAT(refused("fence_gpu 2:1 1:1 # s\n"), Catch::Matchers::EndsWith("waves in rising order"));
}
