// SPDX-License-Identifier: MIT
/// @file
/// @brief LDS instructions, and permutations, which use the same path.

#include <map>

#include <machine/amdgcn/handlers.hpp>
#include <machine/amdgcn/parsers.hpp>
#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/vector_source.hpp>

namespace machine::amdgcn {
namespace {

SharedAccess begin(const Wave& wave, const Instruction& i, SharedAccess::Kind kind, uint32_t address) {
  SharedAccess access{};
  access.kind = kind;
  access.bytes = i.bytes;
  access.parts = 1;
  access.instruction = &i;
  access.mask = wave.active();
  const Operand& index = i.operand[address];
  each_lane(access.mask, [&](uint32_t lane) {
    access.address[0][lane] = wave.v[index.index][lane] + static_cast<uint32_t>(i.offset);
  });
  return access;
}

void take(const Wave& wave, const Instruction& i, const Operand& operand, uint32_t words, uint32_t at,
          SharedAccess& access) {
  for (uint32_t k = 0; k < words; ++k)
    each_lane(access.mask, [&](uint32_t lane) {
      const uint32_t value = wave.v[operand.index + k][lane];
      access.data[at + k][lane] = i.high_half ? value >> 16 : value;
    });
}

uint32_t words_of(const Instruction& i) { return (i.bytes + 3u) / 4; }

void load(Wave& wave, const Instruction& i) {
  SharedAccess access = begin(wave, i, SharedAccess::Kind::load, 1);
  access.destination = i.operand[0].index;
  access.registers = static_cast<uint8_t>(words_of(i));
  wave.processor->issue(wave, access);
}
void store(Wave& wave, const Instruction& i) {
  SharedAccess access = begin(wave, i, SharedAccess::Kind::store, 0);
  take(wave, i, i.operand[1], words_of(i), 0, access);
  wave.processor->issue(wave, access);
}

/// The two offsets count elements.
void set_two_addresses(const Wave& wave, const Instruction& i, uint32_t address, SharedAccess& access) {
  access.parts = 2;
  each_lane(access.mask, [&](uint32_t lane) {
    const uint32_t base = wave.v[i.operand[address].index][lane];
    access.address[0][lane] = base + static_cast<uint32_t>(i.offset) * i.bytes;
    access.address[1][lane] = base + static_cast<uint32_t>(i.second_offset) * i.bytes;
  });
}
void load_two(Wave& wave, const Instruction& i) {
  SharedAccess access = begin(wave, i, SharedAccess::Kind::load, 1);
  set_two_addresses(wave, i, 1, access);
  access.destination = i.operand[0].index;
  access.registers = static_cast<uint8_t>(2 * words_of(i));
  wave.processor->issue(wave, access);
}
void store_two(Wave& wave, const Instruction& i) {
  SharedAccess access = begin(wave, i, SharedAccess::Kind::store, 0);
  set_two_addresses(wave, i, 0, access);
  take(wave, i, i.operand[1], words_of(i), 0, access);
  take(wave, i, i.operand[2], words_of(i), words_of(i), access);
  wave.processor->issue(wave, access);
}

/// Unlike in global memory, compare and exchange are two operands; on gfx9 the comparand is the first.
void atomic(Wave& wave, const Instruction& i) {
  const uint32_t first = i.returns ? 1 : 0;
  SharedAccess access = begin(wave, i, SharedAccess::Kind::atomic, first);
  const uint32_t words = words_of(i);
  if (i.atomic == AtomicOperation::compare_exchange) {
    const bool compare_first = wave.processor->model().generation == 9;
    take(wave, i, i.operand[first + 1], words, compare_first ? words : 0, access);
    take(wave, i, i.operand[first + 2], words, compare_first ? 0 : words, access);
  } else {
    take(wave, i, i.operand[first + 1], words, 0, access);
  }
  if (i.returns) {
    access.destination = i.operand[0].index;
    access.registers = static_cast<uint8_t>(words);
  }
  wave.processor->issue(wave, access);
}

/// Each lane reads the register of the lane that its address selects, or 0 if that lane is inactive.
void backward_permute(Wave& wave, const Instruction& i) {
  SharedAccess access = begin(wave, i, SharedAccess::Kind::permutation, 1);
  const Lanes& from = wave.v[i.operand[2].index];
  each_lane(access.mask, [&](uint32_t lane) {
    const uint32_t source = access.address[0][lane] / 4 & (wave.lanes - 1);
    access.data[0][lane] = access.mask >> source & 1 ? from[source] : 0;
  });
  access.destination = i.operand[0].index;
  access.registers = 1;
  wave.processor->issue(wave, access);
}
/// Each lane writes the register of the lane that its address selects; of several writers, the highest lane wins.
void forward_permute(Wave& wave, const Instruction& i) {
  SharedAccess access = begin(wave, i, SharedAccess::Kind::permutation, 1);
  const Lanes& from = wave.v[i.operand[2].index];
  each_lane(access.mask,
            [&](uint32_t lane) { access.data[0][access.address[0][lane] / 4 & (wave.lanes - 1)] = from[lane]; });
  access.destination = i.operand[0].index;
  access.registers = 1;
  wave.processor->issue(wave, access);
}

uint8_t size_of(const std::string& name) {
  static const std::map<std::string, uint8_t> sizes = {{"u8", 1},  {"i8", 1},  {"b8", 1},  {"u16", 2},  {"i16", 2},
                                                       {"b16", 2}, {"b32", 4}, {"b64", 8}, {"b96", 12}, {"b128", 16}};
  const auto found = sizes.find(name);
  return found == sizes.end() ? 0 : found->second;
}

Handler find_atomic(std::string name, Instruction& instruction) {
  const size_t returning = name.find("_rtn_");
  if (returning != std::string::npos) {
    instruction.returns = true;
    name.erase(returning, 4);
  }
  const auto rename = [&](const char* from, const char* to) {
    if (starts_with(name, from)) name = to + name.substr(std::string(from).size());
  };
  rename("wrxchg_", "swap_");
  rename("storexchg_", "swap_");
  rename("cmpst_", "cmpswap_");
  rename("cmpstore_", "cmpswap_");
  return parse_atomic(name, instruction) ? atomic : nullptr;
}

}  // namespace

Handler find_shared_access(Instruction& instruction) {
  const std::string& name = instruction.mnemonic;
  if (!starts_with(name, "ds_")) return nullptr;
  if (name == "ds_bpermute_b32") return backward_permute;
  if (name == "ds_permute_b32") return forward_permute;
  static const struct {
    const char* prefix;
    Handler run;
  } kinds[] = {
      {"ds_read_", load},      {"ds_load_", load},           {"ds_write_", store},      {"ds_store_", store},
      {"ds_read2_", load_two}, {"ds_load_2addr_", load_two}, {"ds_write2_", store_two}, {"ds_store_2addr_", store_two},
  };
  for (const auto& kind : kinds) {
    if (!starts_with(name, kind.prefix)) continue;
    const std::string type = name.substr(std::string(kind.prefix).size());
    const uint8_t bytes = size_of(type);
    if (bytes == 0) continue;
    if ((kind.run == load_two || kind.run == store_two) && bytes > 8) return nullptr;
    instruction.bytes = bytes;
    instruction.sign_extend = type[0] == 'i';
    return kind.run;
  }
  return find_atomic(name.substr(3), instruction);
}

}  // namespace machine::amdgcn
