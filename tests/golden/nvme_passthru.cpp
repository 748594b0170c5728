// SPDX-License-Identifier: MIT
// "passthru": the words that a driver library hands to the kernel. The data pointer is the kernel's affair.

#include <xio/vendors/nvme/layout.hpp>

#include "nvme.hpp"

namespace golden::nvme {

namespace {

uint32_t word_of(const Json& recorded, const char* key) { return number_in<uint32_t>(number_or(recorded, key, 0)); }

/// A buffer of ranges has as many of the library's structs as the case has ranges.
void expect_whole_ranges(const Json& params, const char* key, const char* count, size_t bytes) {
  if (!params.contains(key) || !params.contains(count)) return;
  expect_number(std::string("bytes of ") + key, number(params[count]) * bytes,
                from_hex(params[key].get<std::string>()).size());
}

RecordedWords words_of_passthrough(const Json& recorded) {
  RecordedWords words;
  words.opcode = number_in<uint8_t>(number_at(recorded, "opcode"));
  words.flags = number_in<uint8_t>(number_or(recorded, "flags", 0));
  words.nsid = word_of(recorded, "nsid");
  words.cdw2 = word_of(recorded, "cdw2");
  words.cdw3 = word_of(recorded, "cdw3");
  words.cdw10 = word_of(recorded, "cdw10");
  words.cdw11 = word_of(recorded, "cdw11");
  words.cdw12 = word_of(recorded, "cdw12");
  words.cdw13 = word_of(recorded, "cdw13");
  words.cdw14 = word_of(recorded, "cdw14");
  words.cdw15 = word_of(recorded, "cdw15");
  return words;
}

}  // namespace

void replay_passthrough(const Json& recorded) {
  const auto ioctl = member(recorded, "ioctl").get<std::string>();
  if (ioctl != "io" && ioctl != "admin") throw Mismatch("an unknown ioctl: " + ioctl);
  const RecordedWords words = words_of_passthrough(recorded);
  Request request;
  request.admin = ioctl == "admin";
  request.opcode = words.opcode;
  request.params = recorded.contains("params") ? recorded["params"] : Json::object();
  request.recorded = words;
  request.forget_stated();
  const xio::nvme::Sqe entry = xio::nvme::encode(build(request), 0);
  expect_number("opcode", words.opcode, entry.cdw0 & 0xff);
  expect_number("flags", words.flags, entry.cdw0 >> 8 & 0xff);
  expect_number("nsid", words.nsid, entry.nsid);
  expect_number("cdw2", words.cdw2, entry.cdw2);
  expect_number("cdw3", words.cdw3, entry.cdw3);
  expect_number("cdw10", words.cdw10, entry.cdw10);
  expect_number("cdw11", words.cdw11, entry.cdw11);
  expect_number("cdw12", words.cdw12, entry.cdw12);
  expect_number("cdw13", words.cdw13, entry.cdw13);
  expect_number("cdw14", words.cdw14, entry.cdw14);
  expect_number("cdw15", words.cdw15, entry.cdw15);
  expect_whole_ranges(request.params, "range_hex", "nr_ranges", sizeof(xio::nvme::DsmRange));
  expect_whole_ranges(request.params, "ranges_hex", "nr", sizeof(xio::nvme::CopyRange));
}

}  // namespace golden::nvme
