// SPDX-License-Identifier: MIT
/// @file
/// @brief The machine's memory against the PTX memory model: forbidden outcomes never happen, allowed outcomes happen
/// under some seed.
///
/// Each shape is one of the causality examples (message passing, store buffering, IRIW, WRC, ISA2, ...), with the
/// orderings that suffice, and with each of them weakened by one step.

#include <functional>
#include <string>
#include <vector>

#include <catch.hpp>

#include <machine/ptx/machine.hpp>

namespace {

using machine::MemoryKind;

constexpr uint32_t registers = 6;
constexpr uint64_t seeds = 1500;

struct Words {
  alignas(64) uint32_t memory[64] = {};
  alignas(64) uint32_t results[64] = {};
};

/// Programs of threads on the words `[x]`, `[y]`, `[z]`, `[w]`, each in its own line unless `close`. The results `r0`
/// to `r5` are shared by all threads.
struct Shape {
  uint32_t blocks = 1;
  uint32_t threads = 1;               ///< of a block
  std::vector<std::string> programs;  ///< of the threads, in the order of their indices; statements end with `;`
  bool close = false;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string kernel_of(const Shape& shape) {
  std::string out =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry litmus(.param .u64 memory, .param .u64 "
      "results)\n{\n"
      ".reg .pred %p<40>;\n.reg .b32 %r<20>;\n.reg .b32 %id<8>;\n.reg .b32 %v<8>;\n.reg .b64 %rd<8>;\n"
      "ld.param.u64 %rd1, [memory];\nld.param.u64 %rd2, [results];\nmov.u32 %id1, %ctaid.x;\nmov.u32 %id2, %ntid.x;\n"
      "mov.u32 %id3, %tid.x;\nmad.lo.s32 %id4, %id1, %id2, %id3;\n";
  for (size_t i = 0; i < shape.programs.size(); ++i) {
    const std::string number = std::to_string(i);
    out += "setp.ne.u32 %p" + number + ", %id4, " + number + ";\n@%p" + number + " bra $after" + number + ";\n";
    std::string text = shape.programs[i];
    for (uint32_t w = 0; w < 4; ++w)
      text = replaced(text, std::string("[") + "xyzw"[w] + "]",
                      "[%rd1+" + std::to_string(w * (shape.close ? 4 : 64)) + "]");
    std::string stores;
    for (uint32_t r = 0; r < registers; ++r) {
      const std::string name = "r" + std::to_string(r);
      if (text.find(name) == std::string::npos) continue;
      text = replaced(text, name, "%" + name);
      stores += "st.global.u32 [%rd2+" + std::to_string(4 * r) + "], %" + name + ";\n";
    }
    out += text + "\n" + stores + "ret;\n$after" + number + ":\n";
  }
  return out + "ret;\n}\n";
}

/// Takes the results, and the final memory: x, y, z, w.
using Outcome = std::function<bool(const uint32_t* r, const uint32_t* end)>;

bool happens(const Shape& shape, const Outcome& outcome, uint64_t first = 1, uint64_t count = seeds) {
  machine::ptx::Machine gpu(machine::ptx::parse(kernel_of(shape)));
  Words words;
  gpu.memory.add(words.memory, sizeof words.memory, MemoryKind::host, "words");
  gpu.memory.add(words.results, sizeof words.results, MemoryKind::host, "results");
  const uint64_t arguments[] = {reinterpret_cast<uint64_t>(words.memory), reinterpret_cast<uint64_t>(words.results)};
  machine::Launch launch;
  launch.grid.x = shape.blocks;
  launch.block.x = shape.threads;
  launch.arguments = arguments;
  launch.argument_bytes = sizeof arguments;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    words = {};
    gpu.start(seed);
    gpu.run("litmus", launch);
    const uint32_t stride = shape.close ? 1 : 16;
    const uint32_t end[] = {words.memory[0], words.memory[stride], words.memory[2 * stride], words.memory[3 * stride]};
    if (outcome(words.results, end)) return true;
  }
  return false;
}

void forbidden(const std::string& name, const Shape& shape, const Outcome& outcome) {
  INFO(name);
  CHECK_FALSE(happens(shape, outcome));
  CHECK_FALSE(happens(shape, outcome, 0, 1));
  Shape close = shape;
  close.close = true;
  CHECK_FALSE(happens(close, outcome));
}
void allowed(const std::string& name, const Shape& shape, const Outcome& outcome) {
  INFO(name);
  CHECK(happens(shape, outcome));
  Shape close = shape;
  close.close = true;
  CHECK(happens(close, outcome));
  CHECK_FALSE(happens(shape, outcome, 0, 1));  // the calm machine is sequentially consistent
}

// Shapes with the threads in different blocks, and in one block.
Shape apart(std::vector<std::string> programs) {
  const auto count = static_cast<uint32_t>(programs.size());
  return {count, 1, std::move(programs)};
}
Shape beside(std::vector<std::string> programs) {
  const auto count = static_cast<uint32_t>(programs.size());
  return {1, count, std::move(programs)};
}

}  // namespace

TEST_CASE("message passing") {
  const Outcome stale = [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 0; };
  const auto mp = [](const std::string& send, const std::string& receive) {
    return apart({"st.weak.u32 [x], 1;" + send, receive + "ld.weak.u32 r1, [x];"});
  };
  const std::string flag = "st.relaxed.gpu.u32 [y], 1;";
  const std::string look = "ld.relaxed.gpu.u32 r0, [y];";
  const std::string fence = "fence.acq_rel.gpu;";
  forbidden("fences", mp(fence + flag, look + fence), stale);
  forbidden("fences of the system", mp("fence.acq_rel.sys;" + flag, look + "fence.acq_rel.sys;"), stale);
  forbidden("fence.sc", mp("fence.sc.gpu;" + flag, look + "membar.gl;"), stale);
  forbidden("release, acquire", mp("st.release.gpu.u32 [y], 1;", "ld.acquire.gpu.u32 r0, [y];"), stale);
  forbidden("release, fence", mp("st.release.gpu.u32 [y], 1;", look + fence), stale);
  forbidden("fence, acquire", mp(fence + flag, "ld.acquire.gpu.u32 r0, [y];"), stale);
  forbidden("atomics", mp("atom.exch.release.gpu.b32 %v1, [y], 1;", "atom.add.acquire.gpu.u32 r0, [y], 0;"), stale);
  forbidden("a fence, then an atomic",
            mp(fence + "red.relaxed.gpu.add.u32 [y], 1;", "atom.or.acq_rel.gpu.b32 r0, [y], 0;"), stale);
  forbidden("volatile", mp("fence.acq_rel.sys; st.volatile.u32 [y], 1;", "ld.volatile.u32 r0, [y]; fence.acq_rel.sys;"),
            stale);
  allowed("no release", mp(flag, look + fence), stale);
  allowed("no acquire", mp(fence + flag, look), stale);
  allowed("relaxed", mp(flag, look), stale);
  allowed("release of the block", mp("fence.acq_rel.cta;" + flag, look + fence), stale);
  allowed("acquire of the block", mp(fence + flag, look + "fence.acq_rel.cta;"), stale);
  allowed("a flag of the block", mp(fence + "st.relaxed.cta.u32 [y], 1;", look + fence), stale);
  allowed("a look of the block", mp(fence + flag, "ld.relaxed.cta.u32 r0, [y];" + fence), stale);
  allowed("a weak flag", mp(fence + "st.weak.u32 [y], 1;", look + fence), stale);
  allowed("a weak look", mp(fence + flag, "ld.weak.u32 r0, [y];" + fence), stale);
  allowed("a release fence behind the flag", mp(flag + fence, look + fence), stale);
  allowed("an acquire fence before the look", mp(fence + flag, fence + look), stale);
  allowed("only the release half", mp(fence + flag, look + "fence.release.gpu;"), stale);
  allowed("only the acquire half", mp("fence.acquire.gpu;" + flag, look + fence), stale);
}

TEST_CASE("message passing in a block") {
  const Outcome stale = [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 0; };
  const auto mp = [](const std::string& send, const std::string& receive) {
    return beside({"st.weak.u32 [x], 1;" + send, receive + "ld.weak.u32 r1, [x];"});
  };
  forbidden("fences",
            mp("fence.acq_rel.cta; st.relaxed.cta.u32 [y], 1;", "ld.relaxed.cta.u32 r0, [y]; fence.acq_rel.cta;"),
            stale);
  forbidden("release, acquire", mp("st.release.cta.u32 [y], 1;", "ld.acquire.cta.u32 r0, [y];"), stale);
  allowed("no release", mp("st.relaxed.sys.u32 [y], 1;", "ld.acquire.sys.u32 r0, [y];"), stale);
  allowed("no acquire", mp("st.release.sys.u32 [y], 1;", "ld.relaxed.sys.u32 r0, [y];"), stale);
}

TEST_CASE("barriers") {
  const Outcome stale = [](const uint32_t* r, const uint32_t*) { return r[1] == 0; };
  const auto both = [](const std::string& there) {
    return beside({"st.weak.u32 [x], 1;" + there, there + "ld.weak.u32 r1, [x];"});
  };
  forbidden("bar.warp.sync", both("bar.warp.sync 3;"), stale);
  forbidden("bar.sync", both("bar.sync 0;"), stale);
  allowed("a vote orders nothing", both("vote.sync.ballot.b32 %v1, 1, 3;"), stale);
  allowed("a shuffle orders nothing", both("shfl.sync.idx.b32 %v1, %id3, 0, 31, 3;"), stale);
  // A thread passes on another thread's store to a different block, after a barrier.
  const Outcome late = [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 0; };
  const auto passed_on = [](const std::string& there) {
    return Shape{2,
                 2,
                 {"st.weak.u32 [x], 1;" + there, there + "st.release.gpu.u32 [y], 1;",
                  "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x];", ""}};
  };
  forbidden("cumulative", passed_on("bar.warp.sync 3;"), late);
  allowed("not cumulative", passed_on("vote.sync.any.pred %p30, 1, 3;"), late);
}

TEST_CASE("store buffering") {
  const Outcome both_old = [](const uint32_t* r, const uint32_t*) { return r[0] == 0 && r[1] == 0; };
  const auto sb = [](const std::string& a, const std::string& b) {
    return std::vector<std::string>{"st.relaxed.gpu.u32 [x], 1;" + a + "ld.relaxed.gpu.u32 r0, [y];",
                                    "st.relaxed.gpu.u32 [y], 1;" + b + "ld.relaxed.gpu.u32 r1, [x];"};
  };
  forbidden("fence.sc", apart(sb("fence.sc.gpu;", "fence.sc.gpu;")), both_old);
  forbidden("fence.sc of the system", apart(sb("fence.sc.sys;", "fence.sc.gpu;")), both_old);
  forbidden("fence.sc of the block", beside(sb("fence.sc.cta;", "fence.sc.cta;")), both_old);
  allowed("fence.acq_rel", apart(sb("fence.acq_rel.gpu;", "fence.sc.gpu;")), both_old);
  allowed("one fence", apart(sb("fence.sc.gpu;", "")), both_old);
  allowed("too narrow", apart(sb("fence.sc.cta;", "fence.sc.gpu;")), both_old);
  allowed("in a block", beside(sb("fence.acq_rel.cta;", "fence.sc.cta;")), both_old);
}

TEST_CASE("independent reads of independent writes") {
  const Outcome disagree = [](const uint32_t* r, const uint32_t*) {
    return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
  };
  const auto iriw = [](const std::string& look, const std::string& fence) {
    return apart({"st.relaxed.gpu.u32 [x], 1;", "st.relaxed.gpu.u32 [y], 1;",
                  look + ".u32 r0, [x];" + fence + look + ".u32 r1, [y];",
                  look + ".u32 r2, [y];" + fence + look + ".u32 r3, [x];"});
  };
  forbidden("fence.sc", iriw("ld.relaxed.gpu", "fence.sc.gpu;"), disagree);
  allowed("fence.acq_rel", iriw("ld.relaxed.gpu", "fence.acq_rel.gpu;"), disagree);
  allowed("acquire", iriw("ld.acquire.gpu", ""), disagree);
}

TEST_CASE("write to read causality") {
  const Outcome stale = [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 1 && r[2] == 0; };
  const auto wrc = [](const std::string& store, const std::string& look, const std::string& middle,
                      const std::string& last) {
    return apart({store + ".u32 [x], 1;", look + ".u32 r0, [x];" + middle + "st.relaxed.gpu.u32 [y], 1;",
                  "ld.relaxed.gpu.u32 r1, [y];" + last + "ld.weak.u32 r2, [x];"});
  };
  const std::string fence = "fence.acq_rel.gpu;";
  forbidden("fences", wrc("st.relaxed.gpu", "ld.relaxed.gpu", fence, fence), stale);
  allowed("no fence in the middle", wrc("st.relaxed.gpu", "ld.relaxed.gpu", "", fence), stale);
  allowed("no fence at the end", wrc("st.relaxed.gpu", "ld.relaxed.gpu", fence, ""), stale);
  allowed("a weak store", wrc("st.weak", "ld.relaxed.gpu", fence, fence), stale);
  allowed("a weak load", wrc("st.relaxed.gpu", "ld.weak", fence, fence), stale);
  allowed("a store of the block", wrc("st.relaxed.cta", "ld.relaxed.gpu", fence, fence), stale);
}

TEST_CASE("causality over three threads and two scopes") {
  const Outcome stale = [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 1 && r[2] == 0; };
  const auto isa2 = [](const std::string& first, const std::string& look, const std::string& second,
                       const std::string& last) {
    return std::vector<std::string>{"st.weak.u32 [x], 1;" + first + ".u32 [y], 1;",
                                    look + ".u32 r0, [y];" + second + ".u32 [z], 1;",
                                    last + ".u32 r1, [z]; ld.weak.u32 r2, [x];"};
  };
  forbidden("ISA2", apart(isa2("st.release.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.acquire.gpu")), stale);
  allowed("no first release", apart(isa2("st.relaxed.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.acquire.gpu")),
          stale);
  allowed("no acquire between", apart(isa2("st.release.gpu", "ld.relaxed.gpu", "st.release.gpu", "ld.acquire.gpu")),
          stale);
  allowed("no second release", apart(isa2("st.release.gpu", "ld.acquire.gpu", "st.relaxed.gpu", "ld.acquire.gpu")),
          stale);
  allowed("no last acquire", apart(isa2("st.release.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.relaxed.gpu")),
          stale);
  const Shape near{2, 2, isa2("st.release.cta", "ld.acquire.cta", "st.release.gpu", "ld.acquire.gpu")};
  forbidden("first in the block, then over the GPU", near, stale);
  allowed("then in the block only",
          Shape{2, 2, isa2("st.release.cta", "ld.acquire.cta", "st.release.cta", "ld.acquire.gpu")}, stale);
}

TEST_CASE("release patterns") {
  const Outcome stale = [](const uint32_t* r, const uint32_t*) { return r[0] == 2 && r[1] == 0; };
  const auto chain = [](const std::string& middle) {
    return apart(
        {"st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1;", middle, "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x];"});
  };
  forbidden("through an atomic", chain("atom.add.relaxed.gpu.u32 r2, [y], 1; sub.u32 r2, r2, 1;"),
            [](const uint32_t* r, const uint32_t*) { return r[2] == 0 && r[0] == 2 && r[1] == 0; });
  allowed("through an atomic of the block", chain("atom.add.relaxed.cta.u32 r2, [y], 1;"), stale);
  const auto near_end = [](const std::string& acquire) {
    return Shape{2,
                 2,
                 {"st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1;", "", "atom.add.relaxed.gpu.u32 r2, [y], 1;",
                  "ld.acquire." + acquire + ".u32 r0, [y]; ld.weak.u32 r1, [x];"}};
  };
  const Outcome through = [](const uint32_t* r, const uint32_t*) { return r[2] == 1 && r[0] == 2 && r[1] == 0; };
  forbidden("from another block, through an atomic of this one", near_end("gpu"), through);
  allowed("acquired in the block only", near_end("cta"), through);
  allowed("not through a store", chain("st.relaxed.gpu.u32 [y], 2;"), stale);
  forbidden("a later store of the same thread",
            apart({"st.weak.u32 [x], 1; st.release.gpu.u32 [y], 1; st.relaxed.gpu.u32 [y], 2;",
                   "ld.acquire.gpu.u32 r0, [y]; ld.weak.u32 r1, [x];"}),
            stale);
  forbidden("an acquire after a relaxed read",
            apart({"st.weak.u32 [x], 1; st.release.gpu.u32 [y], 2;",
                   "ld.relaxed.gpu.u32 r0, [y]; ld.acquire.gpu.u32 r2, [y]; ld.weak.u32 r1, [x];"}),
            stale);
}

TEST_CASE("coherence") {
  forbidden("CoRR", apart({"st.relaxed.gpu.u32 [x], 1;", "ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [x];"}),
            [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 0; });
  allowed("CoRR of weak loads", apart({"st.weak.u32 [x], 1;", "ld.weak.u32 r0, [x]; ld.weak.u32 r1, [x];"}),
          [](const uint32_t* r, const uint32_t*) { return r[0] == 1 && r[1] == 0; });
  forbidden("CoWW", apart({"st.weak.u32 [x], 1; st.weak.u32 [x], 2;"}),
            [](const uint32_t*, const uint32_t* end) { return end[0] != 2; });
  forbidden("CoWR", apart({"st.weak.u32 [x], 1; ld.weak.u32 r0, [x];"}),
            [](const uint32_t* r, const uint32_t*) { return r[0] != 1; });
  forbidden("CoRW", apart({"ld.relaxed.gpu.u32 r0, [x]; st.relaxed.gpu.u32 [x], 1;", "st.relaxed.gpu.u32 [x], 2;"}),
            [](const uint32_t* r, const uint32_t* end) { return r[0] == 2 && end[0] == 2; });
  const auto crossing = [](const std::string& fence) {
    return apart({"st.relaxed.gpu.u32 [x], 1;" + fence + "st.relaxed.gpu.u32 [y], 2;",
                  "st.relaxed.gpu.u32 [y], 1;" + fence + "st.relaxed.gpu.u32 [x], 2;"});
  };
  const Outcome crossed = [](const uint32_t*, const uint32_t* end) { return end[0] == 1 && end[1] == 1; };
  forbidden("2+2W with fence.sc", crossing("fence.sc.gpu;"), crossed);
  allowed("2+2W", crossing(""), crossed);
  const auto overwrite = [](const std::string& send, const std::string& look) {
    return apart({"st.weak.u32 [x], 2;" + send + ".u32 [y], 1;", look + ".u32 r0, [y]; st.weak.u32 [x], 1;"});
  };
  const Outcome undone = [](const uint32_t* r, const uint32_t* end) { return r[0] == 1 && end[0] == 2; };
  forbidden("S", overwrite("st.release.gpu", "ld.acquire.gpu"), undone);
  allowed("S without release", overwrite("st.relaxed.gpu", "ld.acquire.gpu"), undone);
  allowed("S without acquire", overwrite("st.release.gpu", "ld.relaxed.gpu"), undone);
  const auto r = [](const std::string& fence) {
    return apart({"st.relaxed.gpu.u32 [x], 1;" + fence + "st.relaxed.gpu.u32 [y], 1;",
                  "st.relaxed.gpu.u32 [y], 2;" + fence + "ld.relaxed.gpu.u32 r0, [x];"});
  };
  const Outcome late = [](const uint32_t* reg, const uint32_t* end) { return end[1] == 2 && reg[0] == 0; };
  forbidden("R with fence.sc", r("fence.sc.gpu;"), late);
  allowed("R with fence.acq_rel", r("fence.acq_rel.gpu;"), late);
}

TEST_CASE("atomics") {
  const Outcome lost = [](const uint32_t*, const uint32_t* end) { return end[0] != 2; };
  const auto count = [](const std::string& scope) {
    const std::string add = "red.relaxed." + scope + ".add.u32 [x], 1;";
    return std::vector<std::string>{add, add};
  };
  forbidden("over the GPU", apart(count("gpu")), lost);
  forbidden("over the system", apart(count("sys")), lost);
  forbidden("in a block", beside(count("cta")), lost);
  allowed("too narrow", apart(count("cta")), lost);
  const auto locked = [](const std::string& take, const std::string& give) {
    const std::string one =
        "mov.u32 %v3, 0;\n"
        "atom.cas." +
        take +
        ".gpu.b32 %v1, [y], 0, 1; setp.ne.u32 %p20, %v1, 0;\n"
        "@!%p20 ld.weak.u32 %v2, [x]; @!%p20 add.u32 %v2, %v2, 1; @!%p20 st.weak.u32 [x], %v2;\n"
        "@!%p20 st." +
        give + ".gpu.u32 [y], 0; @!%p20 mov.u32 %v3, 1;\n";
    return apart({one + "mov.u32 r0, %v3;", one + "mov.u32 r1, %v3;"});
  };
  const Outcome overlapped = [](const uint32_t* r, const uint32_t* end) { return r[0] + r[1] != end[0]; };
  forbidden("a lock", locked("acquire", "release"), overlapped);
  allowed("taken without acquire", locked("relaxed", "release"), overlapped);
  allowed("given back without release", locked("acquire", "relaxed"), overlapped);
}
