// SPDX-License-Identifier: MIT
/// @file
/// @brief Files that are cut short or damaged: loading them is an error that says what is wrong, and nothing worse.

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <catch.hpp>
#include <machine/amdgcn/message_pack.hpp>
#include <machine/core/load.hpp>
#include <machine/ptx/parser.hpp>

namespace {

/// Loads a file. Returns the text of its fault, or nothing. Any other exception is an error of the test.
std::string loading(const std::string& bytes) {
  const int fd = ::memfd_create("code", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  std::string text;
  try {
    const auto gpu = machine::load("/proc/self/fd/" + std::to_string(fd));
    for (const machine::KernelInfo& kernel : gpu->kernels()) CHECK(kernel.private_bytes <= 64 << 20);
  } catch (const machine::Fault& fault) {
    text = fault.what();
  }
  ::close(fd);
  return text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// A text of less than 32 characters, in MessagePack.
std::string packed(const std::string& text) { return static_cast<char>(0xa0 | text.size()) + text; }

/// Metadata of the kernel `k`, which has one pointer for its argument.
std::string metadata() {
  const std::string argument =
      "\x83" + packed(".offset") + '\0' + packed(".size") + '\x08' + packed(".value_kind") + packed("global_buffer");
  const std::string kernel = "\x86" + packed(".name") + packed("k") + packed(".symbol") + packed("k.kd") +
                             packed(".kernarg_segment_size") + '\x08' + packed(".vgpr_count") + '\x04' +
                             packed(".wavefront_size") + '\x40' + packed(".args") + "\x91" + argument;
  const std::string target = "amdgcn-amd-amdhsa--gfx942";
  return "\x82" + packed("amdhsa.target") + packed(target) + packed("amdhsa.kernels") + "\x91" + kernel;
}

/// What a code object consists of; a test changes it before it is written.
struct CodeObject {
  Elf64_Phdr segment{};
  Elf64_Sym symbol{};
  Elf64_Rela relocation{};
  Elf64_Shdr sections[5] = {};  // none, symbols, names, relocations, note
  std::string metadata = ::metadata();
  uint32_t descriptor[16] = {};  // LDS, private memory, ...

  std::string write(const std::function<void(CodeObject&)>& change = {}) {
    const std::string names("\0k.kd\0", 6);
    std::string note;
    append(note, Elf64_Nhdr{7, static_cast<uint32_t>(metadata.size()), 32});
    note += std::string("AMDGPU\0\0", 8) + metadata + std::string((4 - metadata.size() % 4) % 4, '\0');
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_machine = 224;
    head.e_phoff = sizeof head;
    head.e_phnum = 1;
    uint64_t at = sizeof head + sizeof segment;
    segment = {PT_LOAD, PF_R | PF_X, at, 0, 0, sizeof descriptor, 4096, 4096};
    at += sizeof descriptor;
    symbol = {1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0, 64};
    relocation = {64, ELF64_R_INFO(0, 13), 0};
    const auto section = [&](uint32_t number, uint32_t type, uint64_t bytes, uint32_t link) {
      sections[number].sh_type = type;
      sections[number].sh_offset = at;
      sections[number].sh_size = bytes;
      sections[number].sh_link = link;
      at += bytes;
    };
    section(1, SHT_SYMTAB, sizeof symbol, 2);
    section(2, SHT_STRTAB, names.size(), 0);
    section(3, SHT_RELA, sizeof relocation, 1);
    section(4, SHT_NOTE, note.size(), 0);
    head.e_shoff = at;
    head.e_shnum = 5;
    if (change) change(*this);
    std::string out;
    append(out, head);
    append(out, segment);
    append(out, descriptor);
    append(out, symbol);
    out += names;
    append(out, relocation);
    out += note;
    append(out, sections);
    return out;
  }
};

constexpr const char* ptx =
    ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n"
    ".global .align 8 .u64 table[2] = {1, generic(other)};\n.const .b8 other[3] = {1, 2, 3};\n"
    ".extern .shared .align 16 .b8 lds[];\n"
    ".func (.param .b32 out) add(.param .b32 one, .param .align 8 .b8 two[16]);\n"
    ".visible .entry k(.param .u64 memory)\n.maxntid 32, 1, 1\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<8>;\n.local .align 8 .b8 depot[16];\n.loc 1 2 3\n"
    "ld.param.u64 %d1, [memory];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1|%p2, %r1, 0;\n@%p1 bra done;\n"
    "mov.b64 {%r2, %r3}, %d1;\nst.global.v2.u32 [%d1+8], {%r2, %r3};\natom.global.add.u32 %r4, [%d1], 1;\n"
    "shfl.sync.down.b32 %r5|%p3, %r4, 1, 31, -1;\n"
    "{\n.param .b32 a; .param .align 8 .b8 b[16]; .param .b32 c;\nst.param.b32 [a], %r5;\n"
    "call.uni (c), add, (a, b);\nld.param.b32 %r6, [c];\n}\n/* a comment */ fence.acq_rel.sys;\ndone: ret;\n}\n"
    ".func (.param .b32 out) add(.param .b32 one, .param .align 8 .b8 two[16])\n{\nret;\n}\n";

/// Cuts a file short everywhere, and puts bytes into it that it does not have.
void damage(const std::string& file) {
  for (size_t length = 0; length < file.size(); ++length) loading(file.substr(0, length));
  for (size_t at = 0; at < file.size(); ++at) {
    for (const char byte : {'\0', '\x01', '\x7f', '\x80', '\xff', ';', '<', '{', ')', '9'}) {
      std::string damaged = file;
      damaged[at] = byte;
      loading(damaged);
    }
  }
}

}  // namespace

TEST_CASE("Damaged PTX is an error, and no crash") {
  CHECK(loading(ptx) == "");
  damage(ptx);
}

TEST_CASE("A damaged code object is an error, and no crash") {
  CHECK(loading(CodeObject().write()) == "");
  damage(CodeObject().write());
}

TEST_CASE("A target is known by each of its names") {
  const auto named = [](const std::string& target) {
    CodeObject object;
    const std::string old = "amdgcn-amd-amdhsa--gfx942";
    object.metadata.replace(object.metadata.find(old) - 1, old.size() + 1,
                            "\xd9" + std::string(1, static_cast<char>(target.size())) + target);
    return loading(object.write());
  };
  CHECK(named("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-") == "");
  CHECK(named("amdgpu9.42-amd-amdhsa-unknown-gfx942") == "");
  CHECK(named("amdgpu9.42-amd-amdhsa-unknown-gfx942:xnack+") == "");
  CHECK(contains(named("amdgpu9.42-amd-amdhsa-unknown-gfx943"), "code for gfx943: there are models of"));
}

TEST_CASE("What is wrong with a code object is said") {
  struct Row {
    const char* text;
    std::function<void(CodeObject&)> change;
  };
  constexpr uint64_t far = ~uint64_t{0} - 7;
  const Row rows[] = {
      {"does not fit", [](CodeObject& o) { o.segment.p_vaddr = far; }},
      {"does not fit", [](CodeObject& o) { o.segment.p_memsz = uint64_t{1} << 40; }},
      {"does not fit", [](CodeObject& o) { o.segment.p_memsz = 8; }},
      {"cut short", [](CodeObject& o) { o.segment.p_filesz = far; }},
      {"cut short", [](CodeObject& o) { o.sections[1].sh_size = far; }},
      {"cut short", [](CodeObject& o) { o.sections[4].sh_offset = far; }},
      {"no section 9", [](CodeObject& o) { o.sections[1].sh_link = 9; }},
      {"relocation outside", [](CodeObject& o) { o.relocation.r_offset = far; }},
      {"descriptor of k", [](CodeObject& o) { o.symbol.st_value = far; }},
      {"of private memory", [](CodeObject& o) { o.descriptor[1] = 0xfffffff0; }},
      {"of LDS", [](CodeObject& o) { o.descriptor[0] = 0xfffffff0; }},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(contains(loading(CodeObject().write(row.change)), row.text));
  }
  const auto with_metadata = [](const char* from, const std::string& to) {
    CodeObject object;
    const size_t at = object.metadata.find(from) + std::strlen(from);
    object.metadata.replace(at, 1, to);
    return loading(object.write());
  };
  CHECK(contains(with_metadata(".offset", "\xce\xff\xff\xff\xfc"), "outside of its arguments"));
  CHECK(contains(with_metadata(".kernarg_segment_size", "\xce\xff\xff\xff\xff"), "bytes of arguments"));
}

TEST_CASE("Metadata that is nested too deeply, or longer than its file") {
  const auto reading = [](const std::string& bytes) {
    try {
      machine::amdgcn::read_message({bytes.begin(), bytes.end()});
    } catch (const machine::Fault& fault) {
      return std::string(fault.what());
    }
    return std::string();
  };
  CHECK(reading(std::string(20, '\x91') + '\x01') == "");
  CHECK(reading(std::string(1'000'000, '\x91')) == "metadata is nested too deeply");
  CHECK(reading(std::string(1'000'000, '\x81')) == "metadata is nested too deeply");
  CHECK(reading("\xdd\xff\xff\xff\xff\x01") == "metadata is cut short");
  CHECK(reading("\xdb\xff\xff\xff\xff"
                "a") == "metadata is cut short");
}

TEST_CASE("What is wrong with PTX is said with its line") {
  struct Row {
    const char* line;
    const char* text;
  };
  const Row rows[] = {
      {".reg .b32 ;", "registers without a name"},
      {".reg ;", "registers without a name"},
      {".reg .b32 <5>;", "registers without a name"},
      {".reg b32 %q;", "unknown type of registers"},
      {".reg .b32 %q<4294967295>;", "more registers than are modelled"},
      {".local .b8 ;", "a declaration without a name"},
      {".local .b8 q .align;", "something is missing"},
      {".local .align 3 .b8 q[4];", "unknown alignment"},
      {".local .align 0 .pred q;", "unknown alignment"},
      {".local .b8 q[99999999999];", "more memory than is modelled"},
      {".local .b64 q[9999999][9999999];", "more memory than is modelled"},
      {".param .b8 q[99999999999];", "more memory than is modelled"},
      {".shared .b8 q[60000000]; .shared .b8 z[60000000];", "more memory than is modelled"},
      {"setp.eq.u32 %p|%p|%p|%p|%p|%p, %r, 0;", "one or two results"},
      {"vote.sync.any.pred %p|%p|%p|%p|%p|%p, %p, -1;", "one or two results"},
      {"ld.global.pred %p, [0];", "a type and two operands"},
      {"mov.b32 %r, {};", "elements are missing"},
      {"mov.b32 {}, %r;", "elements are missing"},
      {"bra ;", "something is missing"},
      {".func g() { ret; }", "a function inside of a function"},
  };
  for (const Row& row : rows) {
    INFO(row.line);
    const std::string text = loading(std::string(".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n") +
                                     ".reg .pred %p; .reg .b32 %r;\n" + row.line + "\nret;\n}\n");
    CHECK(contains(text, row.text));
    CHECK((contains(text, "PTX line 7: ") || contains(text, "PTX line 10: ")));
  }
  CHECK(contains(loading(".version 8.0\n.target s\n"), "PTX line 2: a target before sm_70"));
  CHECK(contains(loading(".version 8.0\n.target sm_90\n.func (.param .b32 a f;\n"), "PTX line 3: a bracket"));
  CHECK(
      contains(loading(".version 8.0\n.target sm_90\n.entry () { ret; }\n"), "PTX line 3: a function without a name"));
  CHECK(contains(loading(".version 8.0\n.target sm_90\n.func f(.param .b64 a) { ret; }\n.entry k() { .param .b8 b;\n"
                         "call f, (b); ret; }\n"),
                 "call of f with an argument of another size"));
}
