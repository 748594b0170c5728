// SPDX-License-Identifier: MIT

#include "rdma_request.hpp"

#include <algorithm>
#include <iterator>

namespace golden::rdma {

namespace {

struct OperationName {
  const char* name;
  lib::Operation operation;
};
constexpr OperationName operation_names[] = {
    {"RDMA_WRITE", lib::Operation::put},
    {"RDMA_WRITE_WITH_IMM", lib::Operation::put_immediate},
    {"SEND", lib::Operation::send},
    {"SEND_WITH_IMM", lib::Operation::send_immediate},
    {"SEND_WITH_INV", lib::Operation::send_invalidate},
    {"RDMA_READ", lib::Operation::get},
    {"ATOMIC_CMP_AND_SWP", lib::Operation::compare_swap},
    {"ATOMIC_FETCH_AND_ADD", lib::Operation::fetch_add},
    {"LOCAL_INV", lib::Operation::local_invalidate},
};

lib::Operation operation_of(const std::string& name) {
  for (const OperationName& entry : operation_names) {
    if (name == entry.name) return entry.operation;
  }
  throw Skipped{"operation_not_offered"};
}

uint32_t flags_of(const Json& recorded, bool& inline_flag) {
  uint32_t flags = 0;
  for (const Json& flag : recorded) {
    const auto name = flag.get<std::string>();
    if (name == "SIGNALED") {
      flags |= lib::work_flag::signaled;
    } else if (name == "FENCE") {
      flags |= lib::work_flag::fence;
    } else if (name == "SOLICITED") {
      flags |= lib::work_flag::solicited;
    } else if (name == "INLINE") {
      inline_flag = true;
    } else {
      throw Mismatch("a request with an unknown flag " + name);
    }
  }
  return flags;
}

void expect_known_members(const Json& recorded) {
  static const char* const known[] = {"wr_id",           "opcode", "flags", "remote_addr", "rkey", "sges",
                                      "inline_segments", "imm",    "swap",  "compare",     "add",  "invalidate_rkey"};
  for (const auto& entry : recorded.items()) {
    if (std::none_of(std::begin(known), std::end(known), [&](const char* name) { return entry.key() == name; })) {
      throw Mismatch("a request with an unknown member \"" + entry.key() + "\"");
    }
  }
}

}  // namespace

uint64_t Request::bytes() const {
  uint64_t sum = inline_data.size();
  for (const lib::Sge& sge : sges) sum += sge.length;
  return sum;
}

Request request_of(const Json& recorded, bool signal_all) {
  expect_known_members(recorded);
  Request request;
  request.wr_id = number_at(recorded, "wr_id");
  if (recorded.contains("opcode")) {
    lib::Work& work = request.work;
    work.operation = operation_of(recorded["opcode"].get<std::string>());
    work.flags = flags_of(member(recorded, "flags"), request.inline_flag);
    if (signal_all) work.flags |= lib::work_flag::signaled;
    work.rkey = number_in<uint32_t>(number_or(recorded, "rkey", 0));
    work.remote = number_or(recorded, "remote_addr", 0);
    work.immediate = number_in<uint32_t>(number_or(recorded, "imm", number_or(recorded, "invalidate_rkey", 0)));
    work.swap_add = number_or(recorded, "swap", number_or(recorded, "add", 0));
    work.compare = number_or(recorded, "compare", 0);
  }
  for (const Json& sge : list_or_empty(recorded, "sges")) {
    request.sges.push_back({number_at(sge, "addr"), number_in<uint32_t>(number_at(sge, "length")),
                            number_in<uint32_t>(number_at(sge, "lkey"))});
  }
  request.is_inline = recorded.contains("inline_segments");
  for (const Json& segment : list_or_empty(recorded, "inline_segments")) {
    const Bytes bytes = from_hex(segment.get<std::string>());
    request.inline_data.insert(request.inline_data.end(), bytes.begin(), bytes.end());
  }
  return request;
}

std::vector<Request> requests_of(const Json& recorded, bool signal_all) {
  std::vector<Request> requests;
  for (const Json& one : recorded) requests.push_back(request_of(one, signal_all));
  return requests;
}

void Memory::store(const std::string& region, uint64_t offset, const Bytes& bytes) {
  Bytes& memory = regions_.at(region);
  if (offset + bytes.size() > memory.size()) throw Mismatch("a store beyond the end of " + region);
  std::copy(bytes.begin(), bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
  stores_.push_back({false, region, offset, bytes, {}, 0});
}

void Memory::store_register(const std::string& region, uint64_t offset, const Bytes& bytes) {
  stores_.push_back({true, region, offset, bytes, {}, 0});
}

void Memory::copy(const std::string& from, uint64_t offset, uint64_t bytes, const std::string& to, uint64_t to_offset,
                  uint64_t piece) {
  const Bytes& memory = regions_.at(from);
  for (uint64_t done = 0; done < bytes; done += piece) {
    const uint64_t at = (offset + done) % memory.size();
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(at);
    stores_.push_back(
        {true, to, to_offset + done, Bytes(begin, begin + static_cast<std::ptrdiff_t>(piece)), Source{from, at}, 0});
  }
}

std::vector<Store> Memory::take() { return std::exchange(stores_, {}); }

void RingSink::put(uint32_t i, const lib::Segment& segment) {
  Bytes bytes;
  for (const uint32_t word : segment.word) {
    const Bytes part = bytes_of(word);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  memory_.store(region_, (start_ + uint64_t{i} * bytes.size()) % memory_.region(region_).size(), bytes);
}

}  // namespace golden::rdma
