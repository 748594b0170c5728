// SPDX-License-Identifier: MIT
// "spec_derived": PRP lists and their chains, doorbell offsets, registers.

#include <cctype>

#include <xio/vendors/nvme/prp.hpp>
#include <xio/vendors/nvme/registers.hpp>

#include "nvme.hpp"

namespace golden::nvme {

namespace lib = xio::nvme;

namespace {

void replay_prp(const Json& recorded) {
  const uint64_t page = number_within("bytes of a page", number_or(recorded, "page_size", 4096), 4096, 1u << 27);
  const Json& pages = list_or_empty(recorded, "list_pages");
  uint64_t list_bus = 0;
  uint64_t words = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    const uint64_t address = number_at(pages[i], "addr");
    if (i == 0) list_bus = address;
    if (address != list_bus + words * 8) throw Skipped{"list_pages_apart"};
    words += member(pages[i], "entries").size();
  }

  constexpr uint64_t untouched = 0xa5a5a5a5a5a5a5a5u;
  std::vector<uint64_t> memory(words + 1, untouched);
  lib::DataPointer data;
  const lib::ListMemory list{memory.data(), list_bus, static_cast<uint32_t>(words * 8)};
  const auto bytes = number_in<uint32_t>(number_at(recorded, "length"));
  const lib::ContiguousPages buffer{number_at(recorded, "buffer")};
  const xio::Status status = lib::build_prps(buffer, 0, bytes, log2_of(page), list, data);
  if (!status.is_ok()) throw Mismatch(std::string("refused: ") + xio::name(status.code));
  expect_number("PRP 1", number_at(recorded, "prp1"), data.prp1);
  expect_number("PRP 2", number_at(recorded, "prp2"), data.prp2);
  size_t at = 0;
  for (const Json& list_page : pages) {
    for (const Json& entry : list_page["entries"]) {
      expect_number("list word " + std::to_string(at), number(entry), memory[at]);
      ++at;
    }
  }
  expect_number("the word behind the list", untouched, memory[words]);
}

void replay_doorbell_offset(const Json& recorded) {
  const auto qid = number_in<uint32_t>(number_at(recorded, "qid"));
  const auto dstrd = number_in<uint32_t>(number_at(recorded, "dstrd"));
  expect_number("SQ tail offset", number_at(recorded, "sq_tail_offset"), lib::sq_tail_doorbell(qid, dstrd));
  expect_number("CQ head offset", number_at(recorded, "cq_head_offset"), lib::cq_head_doorbell(qid, dstrd));
}

struct Field {
  std::string name;
  std::function<uint64_t(uint64_t raw)> get;
  /// The register with this field set; empty where software does not compose the register.
  std::function<uint64_t(uint64_t raw, uint32_t value)> set;
};

struct Register {
  std::string name;
  uint64_t offset;
  std::vector<Field> fields;
};

template <class Type>
Type holding(uint64_t raw) {
  Type value;
  value.raw = static_cast<decltype(value.raw)>(raw);
  return value;
}

template <class Type, class Value>
Field read(const char* name, Value (Type::*get)() const) {
  return Field{name, [get](uint64_t raw) -> uint64_t { return (holding<Type>(raw).*get)(); }, nullptr};
}

template <class Type, class Value, class Argument>
Field compose(const char* name, Value (Type::*get)() const, Type (Type::*set)(Argument) const) {
  Field field = read(name, get);
  field.set = [set](uint64_t raw, uint32_t value) -> uint64_t {
    return (holding<Type>(raw).*set)(static_cast<Argument>(value)).raw;
  };
  return field;
}

Field queue_size(const char* name, bool submission) {
  Field field = submission ? read(name, &lib::Aqa::asqs) : read(name, &lib::Aqa::acqs);
  field.set = [submission](uint64_t raw, uint32_t value) -> uint64_t {
    const auto sizes = holding<lib::Aqa>(raw);
    return lib::Aqa::of(submission ? value + 1 : sizes.asqs() + 1, submission ? sizes.acqs() + 1 : value + 1).raw;
  };
  return field;
}

std::vector<Register> make_registers() {
  using lib::Cap;
  using lib::Cc;
  using lib::Cmbloc;
  using lib::Cmbmsc;
  using lib::Cmbsz;
  using lib::Crto;
  using lib::Csts;
  using lib::Vs;
  return {
      {"cap",
       lib::reg::cap,
       {read("mqes", &Cap::mqes), read("cqr", &Cap::cqr), read("ams", &Cap::ams), read("to", &Cap::to),
        read("dstrd", &Cap::dstrd), read("nssrs", &Cap::nssrs), read("css", &Cap::css), read("bps", &Cap::bps),
        read("cps", &Cap::cps), read("mpsmin", &Cap::mpsmin), read("mpsmax", &Cap::mpsmax), read("pmrs", &Cap::pmrs),
        read("cmbs", &Cap::cmbs), read("nsss", &Cap::nsss), read("crwms", &Cap::crwms), read("crims", &Cap::crims)}},
      {"vs", lib::reg::vs, {read("mjr", &Vs::mjr), read("mnr", &Vs::mnr), read("ter", &Vs::ter)}},
      {"cc",
       lib::reg::cc,
       {compose("en", &Cc::en, &Cc::en), compose("css", &Cc::css, &Cc::css), compose("mps", &Cc::mps, &Cc::mps),
        compose("ams", &Cc::ams, &Cc::ams), compose("shn", &Cc::shn, &Cc::shn),
        compose("iosqes", &Cc::iosqes, &Cc::iosqes), compose("iocqes", &Cc::iocqes, &Cc::iocqes),
        compose("crime", &Cc::crime, &Cc::crime)}},
      {"csts",
       lib::reg::csts,
       {read("rdy", &Csts::rdy), read("cfs", &Csts::cfs), read("shst", &Csts::shst), read("nssro", &Csts::nssro),
        read("pp", &Csts::pp), read("st", &Csts::st)}},
      {"aqa", lib::reg::aqa, {queue_size("asqs", true), queue_size("acqs", false)}},
      {"cmbloc",
       lib::reg::cmbloc,
       {read("bir", &Cmbloc::bir), read("cqmms", &Cmbloc::cqmms), read("cqpds", &Cmbloc::cqpds),
        read("cdplms", &Cmbloc::cdplms), read("cdpcils", &Cmbloc::cdpcils), read("cdmmms", &Cmbloc::cdmmms),
        read("cqda", &Cmbloc::cqda), read("ofst", &Cmbloc::ofst)}},
      {"cmbsz",
       lib::reg::cmbsz,
       {read("sqs", &Cmbsz::sqs), read("cqs", &Cmbsz::cqs), read("lists", &Cmbsz::lists), read("rds", &Cmbsz::rds),
        read("wds", &Cmbsz::wds), read("szu", &Cmbsz::szu), read("sz", &Cmbsz::sz)}},
      {"cmbmsc", lib::reg::cmbmsc, {read("cre", &Cmbmsc::cre), read("cmse", &Cmbmsc::cmse), read("cba", &Cmbmsc::cba)}},
      {"crto", lib::reg::crto, {read("crwmt", &Crto::crwmt), read("crimt", &Crto::crimt)}},
      {"intms", lib::reg::intms, {}},
      {"intmc", lib::reg::intmc, {}},
      {"nssr", lib::reg::nssr, {}},
      {"asq", lib::reg::asq, {}},
      {"acq", lib::reg::acq, {}},
      {"cmbsts", lib::reg::cmbsts, {}},
      {"nssd", lib::reg::nssd, {}},
  };
}

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

void replay_register(const Json& recorded) {
  const auto name = lower(member(recorded, "register").get<std::string>());
  static const std::vector<Register> registers = make_registers();
  const Register* found = nullptr;
  for (const Register& candidate : registers) {
    if (name == candidate.name) found = &candidate;
  }
  if (!found) throw Mismatch("unknown register " + name);
  expect_number("offset of " + name, number_or(recorded, "offset", found->offset), found->offset);
  if (!recorded.contains("value")) return;

  const uint64_t value = number(recorded["value"]);
  const Json fields = recorded.contains("fields") ? recorded["fields"] : Json::object();
  uint64_t composed = 0;
  bool composable = !fields.empty();
  for (const auto& [key, expected] : fields.items()) {
    const Field* field = nullptr;
    for (const Field& candidate : found->fields) {
      if (lower(key) == candidate.name) field = &candidate;
    }
    if (!field) throw Mismatch("register " + name + " has no field " + key);
    expect_number(name + "." + lower(key), number(expected), field->get(value));
    composable = composable && field->set;
    if (composable) composed = field->set(composed, number_in<uint32_t>(number(expected)));
  }
  if (composable) expect_number(name + " composed from its fields", value, composed);
}

}  // namespace

void replay_derived(const Json& recorded) {
  const auto kind = member(recorded, "kind").get<std::string>();
  if (kind == "prp") return replay_prp(recorded);
  if (kind == "doorbell_offset") return replay_doorbell_offset(recorded);
  if (kind == "register") return replay_register(recorded);
  throw Mismatch("a vector of unknown kind \"" + kind + "\"");
}

}  // namespace golden::nvme
