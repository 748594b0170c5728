// SPDX-License-Identifier: MIT

#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

using xio::Status;

struct StatusName {
  const char* name;
  Status::Code code;
};
/// What the statuses of the verbs mean to our caller.
constexpr StatusName status_names[] = {
    {"SUCCESS", Status::ok},
    {"LOC_LEN_ERR", Status::length_error},
    {"LOC_QP_OP_ERR", Status::invalid_command},
    {"LOC_EEC_OP_ERR", Status::device_error},
    {"LOC_PROT_ERR", Status::bad_address},
    {"WR_FLUSH_ERR", Status::flushed},
    {"MW_BIND_ERR", Status::invalid_command},
    {"BAD_RESP_ERR", Status::path_error},
    {"LOC_ACCESS_ERR", Status::access_denied},
    {"REM_INV_REQ_ERR", Status::remote_error},
    {"REM_ACCESS_ERR", Status::access_denied},
    {"REM_OP_ERR", Status::remote_error},
    {"RETRY_EXC_ERR", Status::retry_exceeded},
    {"RNR_RETRY_EXC_ERR", Status::receiver_not_ready},
    {"LOC_RDD_VIOL_ERR", Status::device_error},
    {"REM_INV_RD_REQ_ERR", Status::device_error},
    {"REM_ABORT_ERR", Status::aborted},
    {"INV_EECN_ERR", Status::device_error},
    {"INV_EEC_STATE_ERR", Status::device_error},
    {"FATAL_ERR", Status::internal_error},
    {"RESP_TIMEOUT_ERR", Status::retry_exceeded},
    {"GENERAL_ERR", Status::device_error},
    {"TM_ERR", Status::device_error},
    {"TM_RNDV_INCOMPLETE", Status::device_error},
};

Status::Code code_of(const std::string& name) {
  for (const StatusName& entry : status_names) {
    if (name == entry.name) return entry.code;
  }
  throw Mismatch("an unknown status of the verbs: " + name);
}

// Bits of "wc_flags".
constexpr uint64_t with_immediate = 2;
constexpr uint64_t with_invalidate = 8;

/// What came with a message that arrived.
void expect_message(const Json& expected, const lib::WorkCompletion& completion) {
  expect_number("bytes received", number_at(expected, "byte_len"), completion.bytes);
  expect_number("source queue pair", number_at(expected, "src_qp"), completion.source_qpn);
  const uint64_t flags = number_at(expected, "wc_flags");
  const bool immediate = (completion.flags & lib::receive_flag::immediate) != 0;
  const bool invalidated = (completion.flags & lib::receive_flag::invalidated) != 0;
  expect_number("immediate data", (flags & with_immediate) != 0, immediate);
  expect_number("key invalidated", (flags & with_invalidate) != 0, invalidated);
  if ((flags & (with_immediate | with_invalidate)) != 0) {
    const auto field = number_in<uint32_t>(number_at(expected, "imm_or_inv_field"));
    // The recording turns the bytes of both round; a key was an integer before.
    expect_number("immediate data or key", invalidated ? xio::byte_swap(field) : field, completion.immediate);
  }
  const bool write = member(expected, "opcode").get<std::string>() == "RECV_RDMA_WITH_IMM";
  expect_number("arrived by a write", write, (completion.flags & lib::receive_flag::write) != 0);
}

void expect_one(const Json& expected, const Reported& actual) {
  expect_number("wr_id", number_at(expected, "wr_id"), actual.wr_id);
  const auto status = member(expected, "status").get<std::string>();
  if (code_of(status) != actual.status.code) {
    throw Mismatch("status\n      expected " + status + "\n      actual   " + name(actual.status.code));
  }
  // Without success, neither the opcode nor the rest means anything.
  if (!actual.status.is_ok()) return;
  const auto opcode = member(expected, "opcode").get<std::string>();
  expect_number("a completion of the receive queue", opcode.rfind("RECV", 0) == 0, actual.is_receive);
  if (actual.is_receive) expect_message(expected, actual.completion);
}

}  // namespace

void CompletionRing::put(uint32_t slot, uint32_t offset, const Bytes& bytes) {
  if (slot >= entries_ || offset + bytes.size() > entry_bytes_) throw Mismatch("an entry beyond the completion queue");
  std::memcpy(&memory_[size_t{slot} * entry_bytes_ + offset], bytes.data(), bytes.size());
}

void CompletionRing::put_all(const Json& cqes) {
  for (const Json& cqe : cqes) {
    const auto slot = number_in<uint32_t>(number_at(cqe, "slot"));
    const uint64_t offset = number_or(cqe, "off", uint64_t{slot} * entry_bytes_) - uint64_t{slot} * entry_bytes_;
    put(slot, static_cast<uint32_t>(offset), from_hex(member(cqe, "hex").get<std::string>()));
  }
}

uint64_t CompletionRing::load(uint64_t index, uint32_t offset) const {
  uint64_t word = 0;
  if (offset % 8 != 0 || offset >= entry_bytes_) throw Mismatch("a load beyond the entry");
  std::memcpy(&word, &memory_[size_t{index % entries_} * entry_bytes_ + offset], sizeof word);
  return word;
}

uint64_t little_endian(const Bytes& entry, size_t offset, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | entry.at(offset + i);
  return value;
}

uint64_t big_endian(const Bytes& entry, size_t offset, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | entry.at(offset + i);
  return value;
}

std::vector<Bytes> recorded_entries(const Json& recorded) {
  std::vector<Bytes> entries;
  for (const Json& cqe : member(recorded, "cqes")) entries.push_back(from_hex(member(cqe, "hex").get<std::string>()));
  return entries;
}

std::vector<Request> posted_requests(const Json& recorded, bool signal_all) {
  std::vector<Request> requests;
  for (const Json& call : member(recorded, "posted")) {
    for (Request& request : requests_of(call, signal_all)) requests.push_back(std::move(request));
  }
  return requests;
}

void expect_reports(const Json& recorded, const std::vector<Reported>& reports, bool failed) {
  if (failed != poll_fails(recorded)) {
    throw Mismatch(failed ? "an entry that makes no sense, where the driver reports as usual"
                          : "nothing wrong, where the driver fails the poll");
  }
  if (failed) return;
  const Json& expected = member(recorded, "wc");
  expect_number("completions", expected.size(), reports.size());
  for (size_t i = 0; i < reports.size(); ++i) expect_one(expected[i], reports[i]);
  expect_number("completions", number_at(recorded, "ret"), reports.size());
}

}  // namespace golden::rdma
